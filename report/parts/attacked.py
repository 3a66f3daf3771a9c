"""The hostile requests: what was sent, what became of it, and what is to be said against it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from stand.evidence import Check, Figure, Part, State, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WANTED = 10_000  # requests
SHOWN = 20  # violations


def hostile(path: Path) -> Iterator[Part]:
    found = json.loads(path.read_text(encoding="utf-8"))
    against = [each["violation"] for each in found["against it"]]
    more = [f"… and {len(against) - SHOWN} more"] if len(against) > SHOWN else []
    few = "" if found["requests"] >= WANTED else f"only {found['requests']}: a run of part of them is not the full one"
    outcomes = tuple(dict.fromkeys(row["outcome"] for row in found["rows"]))
    counts = Counter((row["kind"], row["outcome"]) for row in found["rows"])
    objections = Counter(row["kind"] for row in found["rows"] if row["objection"])
    kinds = tuple(
        (kind, *(str(counts[kind, outcome]) for outcome in outcomes), str(objections[kind]))
        for kind in sorted({row["kind"] for row in found["rows"]})
    )
    yield Part(
        "Hostile requests",
        (f"hostile/{path.name}",),
        (
            Check(f"{WANTED} requests", State.NOT_RUN if few else State.PASSED, few),
            Check(
                "no violations",
                State.FAILED if found["violations"] else State.PASSED,
                "\n".join([*against[:SHOWN], *more]),
            ),
        ),
        tuple(Figure(name, str(value)) for name, value in found.items() if not isinstance(value, list)),
        (Table("What was sent", ("kind", *outcomes, "against it"), kinds),),
        listed=True,
    )
