#!/usr/bin/env python3
"""Says what this machine can run, and why not the rest.

Usage: stack/doctor.py            a table; exit status 1 where not even the CPU stack can run
       stack/doctor.py --profile  the profile that fits, `cpu` or `gpu`, and on stderr why

Settings come from the environment and from `.env`. Needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GIB = 1 << 30

REVISION = "7872f01b1d1fe23eabc4c98b48bffcef5a386062"
# The CPU stack: two engines of 2.2 GiB, the frontend, and room for builds. Images and build caches fill 15 GiB.
CPU_MEMORY_GIB, CPU_DISK_GIB = 8, 15
# SGLang 0.5.21 is built for CUDA 13, which needs this driver.
GPU_DRIVER = 580
# Of one engine's GPUs together: the weights take about 160 GiB, the KV cache wants room beside them.
GPU_MEMORY_GIB = 240


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; ``needed_by`` names the profile that cannot run without it."""

    name: str
    ok: bool
    detail: str
    needed_by: str


def main() -> int:
    findings = examine()
    cpu_lacks = [each for each in findings if not each.ok and each.needed_by == "cpu"]
    gpu_lacks = [each for each in findings if not each.ok]
    profile = "cpu" if gpu_lacks else "gpu"
    if sys.argv[1:] == ["--profile"]:
        why = f"{gpu_lacks[0].name}: {gpu_lacks[0].detail}" if gpu_lacks else "the node has all that it needs"
        print(f"profile {profile} ({why})", file=sys.stderr)
        print(profile)
        return 0
    for finding in findings:
        print(f"  {'ok' if finding.ok else 'NO':3} {finding.name:<18} {finding.detail}")
    for name, lacks in (("cpu", cpu_lacks), ("gpu", gpu_lacks)):
        verdict = "no, see: " + ", ".join(each.name for each in lacks) if lacks else "yes"
        print(f"profile {name}: {verdict}")
    return 1 if cpu_lacks else 0


def examine() -> list[Finding]:
    """Everything that a profile needs, the CPU profile's needs first."""
    return [
        _docker_engine(),
        _compose(),
        _memory(),
        _disk(),
        *_gpus(),
        _container_toolkit(),
        _snapshot(Path(setting("SNAPSHOT"))),
    ]


def setting(name: str) -> str:
    """A variable of the environment, else of ``.env``."""
    if name in os.environ:
        return os.environ[name]
    for line in (ROOT / ".env").read_text(encoding="utf-8").splitlines():
        key, separator, value = line.partition("=")
        if separator and key == name:
            return value
    raise KeyError(name)


def _run(*command: str) -> str | None:
    """The output of a command, None where it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _docker_engine() -> Finding:
    version = _run("docker", "version", "--format", "{{.Server.Version}}")
    detail = f"engine {version}" if version else "does not answer; `make up` installs and starts it as root"
    return Finding("Docker", version is not None, detail, "cpu")


def _compose() -> Finding:
    version = _run("docker", "compose", "version", "--short")
    new_enough = version is not None and _numbers(version)[:2] >= (2, 20)
    return Finding("Docker Compose", new_enough, f"{version or 'missing'}, 2.20 or newer is needed", "cpu")


def _memory() -> Finding:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return Finding("memory", total >= CPU_MEMORY_GIB, f"{total:.0f} GiB, the CPU stack needs {CPU_MEMORY_GIB}", "cpu")


def _disk() -> Finding:
    folder = _run("docker", "info", "--format", "{{.DockerRootDir}}") or "/"
    free = shutil.disk_usage(folder if Path(folder).exists() else "/").free / GIB
    built = _run("docker", "image", "inspect", "sglang-parity-engine:cpu") is not None
    needs = "images are built" if built else f"building the CPU images needs {CPU_DISK_GIB}"
    return Finding("disk", built or free >= CPU_DISK_GIB, f"{free:.0f} GiB free in {folder}, {needs}", "cpu")


def _gpus() -> list[Finding]:
    query = _run("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits")
    if not query:
        return [Finding("GPUs", False, "none: nvidia-smi is missing or finds none", "gpu")]
    rows = [[field.strip() for field in line.split(",")] for line in query.splitlines()]
    sets = [{int(gpu) for gpu in setting(name).split(",")} for name in ("WORKER_GPUS", "REFERENCE_GPUS")]
    if shared := sets[0] & sets[1]:
        return [Finding("GPUs", False, f"WORKER_GPUS and REFERENCE_GPUS share {sorted(shared)}", "gpu")]
    if absent := {gpu for gpus in sets for gpu in gpus if gpu >= len(rows)}:
        return [Finding("GPUs", False, f"{len(rows)} x {rows[0][0]}; the settings also name {sorted(absent)}", "gpu")]
    smallest = min(sum(float(rows[gpu][1]) for gpu in gpus) / 1024 for gpus in sets)
    driver = rows[0][2]
    return [
        Finding("GPUs", True, f"{len(rows)} x {rows[0][0]}", "gpu"),
        Finding(
            "GPU memory", smallest >= GPU_MEMORY_GIB, f"{smallest:.0f} GiB an engine, needs {GPU_MEMORY_GIB}", "gpu"
        ),
        Finding("GPU driver", _numbers(driver)[0] >= GPU_DRIVER, f"{driver}, needs {GPU_DRIVER} or newer", "gpu"),
    ]


def _container_toolkit() -> Finding:
    runtimes = _run("docker", "info", "--format", "{{json .Runtimes}}") or "{}"
    found = "nvidia" in json.loads(runtimes)
    detail = (
        "Docker has the nvidia runtime" if found else "Docker has no nvidia runtime: install nvidia-container-toolkit"
    )
    return Finding("container toolkit", found, detail, "gpu")


def _snapshot(folder: Path) -> Finding:
    return Finding("snapshot", *_examine_snapshot(folder), "gpu")


def _examine_snapshot(folder: Path) -> tuple[bool, str]:
    """Whether the pinned checkpoint is whole in ``folder``: every file there, every weight shard, the revision."""
    if not folder.is_dir():
        return False, f"SNAPSHOT={folder} is no directory"
    index_file = folder / "model.safetensors.index.json"
    names = ["config.json", "tokenizer.json", "tokenizer_config.json", "encoding/encoding_dsv4.py", index_file.name]
    if index_file.exists():
        names += sorted(set(json.loads(index_file.read_text(encoding="utf-8"))["weight_map"].values()))
    lacking = [name for name in names if not (folder / name).is_file() or (folder / name).stat().st_size == 0]
    if lacking:
        return False, f"{folder} lacks {', '.join(lacking[:3])}{f' and {len(lacking) - 3} more' if lacking[3:] else ''}"
    revisions = _revisions(folder)
    if revisions - {REVISION}:
        return False, f"{folder} holds revision {', '.join(sorted(revisions))}, not {REVISION}"
    return True, f"{folder} is whole, {'the pinned revision' if revisions else 'of a revision that it does not tell'}"


def _revisions(folder: Path) -> set[str]:
    """The revisions that a download left word of: the name of a hub cache's folder, or the notes beside the files."""
    if folder.resolve().parent.name == "snapshots":
        return {folder.resolve().name}
    notes = (folder / ".cache" / "huggingface" / "download").rglob("*.metadata")
    return {note.read_text(encoding="utf-8").split("\n", 1)[0] for note in notes}


def _numbers(version: str) -> tuple[int, ...]:
    digits = version.lstrip("v").replace("-", ".").replace("+", ".").split(".")
    return tuple(int(part) for part in digits if part.isdigit())


if __name__ == "__main__":
    sys.exit(main())
