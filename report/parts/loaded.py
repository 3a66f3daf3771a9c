"""The load run: whether it counts, whether each of its limits held, and each server at each load."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from stand.evidence import Check, Figure, Part, State, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "load/run.json"
FILES = ("load/report.html", FILE, "load/requests.jsonl", "load/requests.csv")
# What `loadtest/budgets.py` says of a limit that there is nothing to hold against: it is shown, and no check.
NOT_APPLICABLE = ("no run was accepted yet", "not the stand-in")
_STATES = {True: State.PASSED, False: State.FAILED, None: State.NOT_RUN}
_HELD = {True: "yes", False: "no", None: "not checked"}
_COLUMNS = {
    "TTFT p50 [ms]": "ttft_p50",
    "TTFT p95 [ms]": "ttft_p95",
    "ITL p50 [ms]": "itl_p50",
    "output tokens/s": "output_tokens_per_s",
}


def load(path: Path) -> Iterator[Part]:
    """A run that does not count proves no limit, whatever was measured in it."""
    run = json.loads(path.read_text(encoding="utf-8"))
    checks = [Check("the run counts", _STATES[run["valid"] or None], "; ".join(run["invalid_because"]))]
    limits = []
    for each in run["budgets"]:
        applicable = not each["measured"].startswith(NOT_APPLICABLE)
        limits.append((each["limit"], each["allowed"], each["measured"], _held(run, each) if applicable else "–"))
        if applicable and run["valid"]:
            why = f"{each['measured']}; {each['allowed']}"
            checks.append(Check(each["limit"], _STATES[each["ok"]], why))
    yield Part(
        "Load and budgets",
        FILES,
        tuple(checks),
        tuple(Figure(name, str(run[name])) for name in ("model", "workload", "loop", "seconds", "seed")),
        (
            Table("Limits", ("limit", "allowed", "measured", "held"), tuple(limits)),
            Table(
                "Each server at each load",
                ("server and load", "requests", "failures", *_COLUMNS),
                tuple(_rows(run["steps"])),
                "Beside each other on one machine; the run's own page has all figures and plots.",
            ),
        ),
        listed=True,
    )


def _held(run: dict[str, Any], budget: dict[str, Any]) -> str:
    return _HELD[budget["ok"]] if run["valid"] else "the run does not count"


def _rows(steps: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A row for each step; one that repeats an earlier one says so: no two rows have one name."""
    turns: dict[str, int] = {}
    for step in steps:
        unit = "user" if (step["load"], step["unit"]) == (1, "users") else step["unit"]
        name = f"{step['server']}, {step['load']:g} {unit}"
        turns[name] = turns.get(name, 0) + 1
        yield (
            name if turns[name] == 1 else f"{name}, turn {turns[name]}",
            str(step["requests"]),
            str(step["failures"]),
            *("–" if step[key] is None else f"{step[key]:.4g}" for key in _COLUMNS.values()),
        )
