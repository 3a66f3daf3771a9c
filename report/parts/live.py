"""The live tests, by what they show."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from stand.evidence import Check, Part, State, Table
from stand.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "e2e/results.json"
TITLES = {
    "test_parity": "Live parity",
    "test_recorded": "Live parity",
    "test_errors": "Errors and headers",
    "test_headers": "Errors and headers",
    "test_constraints": "Constraints",
    "test_doors": "Other doors and real clients",
    "test_clients": "Other doors and real clients",
}
REST = "The rest of the live tests"
GAPS = "Host gaps"
_STATES = {"ok": State.PASSED, "DIFF": State.FAILED, "FAILED": State.FAILED, "not run": State.NOT_RUN}


def live_tests(path: Path) -> Iterator[Part]:
    """The live tests by what they show, host gaps apart; the figures that they found."""
    found = json.loads(path.read_text(encoding="utf-8"))
    parts: defaultdict[str, list[Check]] = defaultdict(list)
    rows: defaultdict[str, Counter[tuple[str, State]]] = defaultdict(Counter)
    for each in found["checks"]:
        title = GAPS if "host gap" in each["group"] else TITLES.get(each["file"], REST)
        name = " · ".join(part for part in (each["group"], each["name"], each["mode"]) if part)
        check = Check(name, _STATES[each["outcome"]], _reason(each))
        parts[title].append(check)
        rows[title][each["group"], check.state] += 1
    ran = {each["file"] for each in found["checks"]}
    for file in sorted((ROOT / "e2e").glob("test_*.py")):
        if file.stem not in ran:
            title = TITLES.get(file.stem, REST)
            parts[title].append(Check(f"e2e/{file.name}", State.NOT_RUN, "none of its tests is in the results"))
    for title in dict.fromkeys((*TITLES.values(), REST, GAPS)):
        groups = dict.fromkeys(group for group, _ in rows[title])
        counts = tuple((group, *(str(rows[title][group, state]) for state in State)) for group in groups)
        table = Table("", ("test", *State), counts)
        yield Part(title, (FILE,), tuple(parts[title]), tables=(table,), listed=title == GAPS)
    for figure in found["figures"]:
        rows_of = tuple(tuple(row) for row in figure["rows"])
        table = Table("", tuple(figure["head"]), rows_of, figure["note"])
        yield Part(figure["title"], (FILE,), tables=(table,))


def _reason(check: dict[str, Any]) -> str:
    lines = [check["reason"]] if check["reason"] else []
    for each in check["differences"]:
        lines += [each["field"], f"  reference: {each['reference']}", f"  frontend:  {each['frontend']}"]
    return "\n".join(lines)
