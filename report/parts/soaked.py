"""The soak: what grew over half an hour of mixed traffic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stand.evidence import Check, Figure, Part, State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "soak/results.json"
WANTED = 30  # minutes


def soak(path: Path) -> Iterator[Part]:
    found = json.loads(path.read_text(encoding="utf-8"))
    short = "" if found["minutes"] >= WANTED else f"only {found['minutes']:g}"
    checks = (
        Check(f"{WANTED} minutes", State.NOT_RUN if short else State.PASSED, short),
        *(Check(each["name"], State.PASSED if each["ok"] else State.FAILED, each["said"]) for each in found["checks"]),
    )
    figures = (
        Figure("minutes", f"{found['minutes']:g}"),
        Figure("requests", str(sum(row["sent"] for row in found["rows"]))),
    )
    yield Part("Soak", ("soak/report.html", FILE), checks, figures, listed=True)
