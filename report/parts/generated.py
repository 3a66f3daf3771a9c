"""The differential runs: generated requests and outputs, through the processor and through SGLang's own code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stand.evidence import Check, Figure, Part, State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WANTED = 20_000  # requests, and outputs


def requests(path: Path) -> Iterator[Part]:
    found = json.loads(path.read_text(encoding="utf-8"))
    yield Part(
        "Generated requests",
        (f"fuzz/{path.name}",),
        (
            _none("differences", found["mismatches"]),
            _enough("requests", found["requests"]),
        ),
        (
            Figure("requests compared", str(found["requests"])),
            Figure("of them accepted", str(found["accepted"])),
            Figure("checkpoints compared", str(found["checkpoints"])),
            Figure("differences", str(found["mismatches"])),
            Figure("of the renderer's lines and branches reached", f"{found['coverage']['percent']} %"),
            Figure("seed", str(found["seed"])),
        ),
    )


def outputs(path: Path) -> Iterator[Part]:
    found = json.loads(path.read_text(encoding="utf-8"))  # it is written where no difference was found
    yield Part(
        "Generated outputs",
        (f"fuzz/{path.name}",),
        (_enough("outputs", found["outputs"]),),
        (
            Figure("outputs compared", str(found["outputs"])),
            Figure("readings of them, unary and streamed", str(found["readings"])),
            Figure("texts compared", str(found["texts"])),
            Figure("texts in which SGLang repeats itself", str(found["repeated_by_sglang"])),
            Figure("seed", str(found["seed"])),
        ),
    )


def _none(what: str, count: int) -> Check:
    return Check(f"no {what}", State.FAILED if count else State.PASSED, f"{count} {what}" if count else "")


def _enough(what: str, count: int) -> Check:
    why = "" if count >= WANTED else f"only {count}"
    return Check(f"{WANTED} {what}", State.NOT_RUN if why else State.PASSED, why)
