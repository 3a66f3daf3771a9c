"""The machine that figures were measured on."""

from __future__ import annotations

from pathlib import Path


def cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "unknown CPU")
