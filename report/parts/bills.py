"""The software bills of materials: one for each image, and how much it lists."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from stand.evidence import Check, Figure, Part, State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMAGES = ("frontend", "engine")
FILE = f"sbom/{IMAGES[-1]}.cdx.json"  # the last that `stack/sbom.py` writes: where it is new, so are the others


def bills(last: Path) -> Iterator[Part]:
    """What each bill lists; ``last`` is that of the last image."""
    there = {}
    for name in IMAGES:
        file = last.with_name(f"{name}.cdx.json")
        if file == last or file.exists():
            there[name] = json.loads(file.read_text(encoding="utf-8"))
    images = {name: bill["metadata"]["component"] for name, bill in there.items()}
    yield Part(
        "Software bill of materials",
        tuple(f"sbom/{name}.cdx.json" for name in there),
        tuple(_listed(name, there.get(name)) for name in IMAGES),
        tuple(Figure(f"image of {name}", f"{image['name']} {image['version']}") for name, image in images.items()),
        listed=True,
    )


def _listed(name: str, bill: dict[str, Any] | None) -> Check:
    check = f"software bill of materials: {name}"
    if bill is None:
        return Check(check, State.NOT_RUN, f"missing: sbom/{name}.cdx.json")
    count = len(bill["components"])
    return Check(check, State.PASSED if count else State.NOT_RUN, f"{count} packages")
