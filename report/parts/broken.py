"""The faults: what clients got while the stack broke."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stand.evidence import Check, Part, State, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def faults(path: Path) -> Iterator[Part]:
    found = json.loads(path.read_text(encoding="utf-8"))
    checks = [Check(name, State.NOT_RUN, "not run") for name in found["not_run"]]
    for row in found["rows"]:
        state = State.FAILED if row["objections"] else State.PASSED
        checks.append(Check(row["fault"], state, "; ".join(row["objections"])))
    head = ("fault", "right", "error", "hung", "wrong", "recovery", "errors")
    rows = tuple(
        (
            row["fault"],
            *(str(row["counts"][outcome]) for outcome in head[1:5]),
            "none" if row["recovery"] is None else f"{row['recovery']:.0f} s",
            row["errors"],
        )
        for row in found["rows"]
    )
    yield Part("Faults", (f"faults/{path.name}",), tuple(checks), tables=(Table("", head, rows),))
