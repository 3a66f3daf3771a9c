#!/usr/bin/env python3
"""Writes a software bill of materials for each image: ``stack/sbom.py [DIRECTORY]``, CycloneDX 1.6 as JSON.

Lists every Debian package and every Python distribution that the image holds, with its version and licence, as the
package managers in it know them. Needs Docker and the images.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

IMAGES = {"frontend": "sglang-parity-frontend:latest", "engine": "sglang-parity-engine:cpu"}
# The licences are those that a package's copyright file names in Debian's machine-readable form; some have free text.
_DEBIAN = r"""
dpkg-query -W -f '${Package}\t${Version}\t${Architecture}\n' | while read -r name version machine; do
    licences=$(sed -n 's/^License: *//p' /usr/share/doc/"$name"/copyright 2>/dev/null | sort -u | tr '\n' ';')
    printf '%s\t%s\t%s\t%s\n' "$name" "$version" "$machine" "$licences"
done
"""
_PYTHON = """
import importlib.metadata, json
print(json.dumps(sorted({
    (each.metadata["Name"], each.version, each.metadata["License-Expression"] or each.metadata["License"] or "")
    for each in importlib.metadata.distributions()
})))
"""


def main(directory: Path) -> None:
    """Writes ``<image>.cdx.json`` for each image.

    Raises:
        SystemExit: an image is not there.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name, image in IMAGES.items():
        bill = bill_of(image)
        (directory / f"{name}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
        kinds = [component["purl"].partition("/")[0] for component in bill["components"]]
        print(f"{name}: {kinds.count('pkg:deb')} Debian packages, {kinds.count('pkg:pypi')} Python distributions")


def bill_of(image: str) -> dict[str, Any]:
    components = []
    for line in run(image, "sh", "-c", _DEBIAN).splitlines():
        name, version, machine, licences = line.split("\t")
        purl = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}?arch={machine}"
        components.append(component(name, version, purl, licences.split(";")))
    for name, version, licence in json.loads(run(image, "python", "-c", _PYTHON)):
        purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{quote(version, safe='')}"
        components.append(component(name, version, purl, [licence]))
    inspected = json.loads(_output("docker", "image", "inspect", image))[0]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "component": {"type": "container", "name": image, "version": inspected["Id"]},
        },
        "components": components,
    }


def component(name: str, version: str, purl: str, licences: list[str]) -> dict[str, Any]:
    """A component; of its licences those that are names, not whole texts."""
    named = [{"license": {"name": licence}} for licence in licences if licence and "\n" not in licence]
    found: dict[str, Any] = {"type": "library", "name": name, "version": version, "purl": purl}
    return {**found, "licenses": named} if named else found


def run(image: str, *command: str) -> str:
    return _output("docker", "run", "--rm", "--network", "none", "--entrypoint", command[0], image, *command[1:])


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {done.stderr.strip()} (`make up` builds the images)")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/sbom"))
