"""What differs between two reports, each as it was written to ``report.json``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from stand.evidence import Part, State, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = ("", "before", "now")
ABSENT = "–"
# A figure or column that is a time by its name, and a value that is one by its unit: these differ from run to run.
_TIME_NAME = re.compile(r"\bseconds\b|\[m?s\]")
_TIME = re.compile(r"[\d.,]+ (s|ms|µs)")


def changes(before: dict[str, Any], now: dict[str, Any]) -> Part:
    """The checks, figures and tables that came, went or changed; not how long anything took."""
    checks = _rows(_states(before), _states(now))
    worse = tuple(row for row in checks if _worse(*row[1:]))
    better = tuple(row for row in checks if row not in worse)
    figures = _rows(dict(_figures(before)), dict(_figures(now)))
    return Part(
        f"What changed since {before['commit'][:12]}, {before['assembled']}",
        tables=(
            Table("Verdict", HEAD, _rows({"verdict": before["verdict"]}, {"verdict": now["verdict"]})),
            Table("Worse, or gone", HEAD, worse),
            Table("Better, or new", HEAD, better),
            Table("Figures", HEAD, tuple(row for row in figures if not _is_time(*row))),
        ),
    )


def _rows(before: dict[str, str], now: dict[str, str]) -> tuple[tuple[str, str, str], ...]:
    names = dict.fromkeys((*before, *now))
    return tuple(
        (name, before.get(name, ABSENT), now.get(name, ABSENT)) for name in names if before.get(name) != now.get(name)
    )


def _worse(before: str, now: str) -> bool:
    """A pass that is none any more, or what came and is none."""
    return now != State.PASSED and (now != ABSENT or before == State.PASSED)


def _states(report: dict[str, Any]) -> dict[str, str]:
    return {f"{part['title']}: {check['name']}": check["state"] for part in report["parts"] for check in part["checks"]}


def _is_time(name: str, before: str, now: str) -> bool:
    """Whether nothing but a time differs; a time that comes in the place of words is a change."""
    times = {value for value in (before, now) if value != ABSENT}
    return _TIME_NAME.search(name) is not None or all(_TIME.fullmatch(value) for value in times)


def _figures(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Figures by name, and the cells of tables by table, row and column."""
    for part in report["parts"]:
        for figure in part["figures"]:
            yield f"{part['title']}: {figure['name']}", figure["value"]
        for table in part["tables"]:
            where = ": ".join(title for title in (part["title"], table["title"]) if title)
            for name, *cells in table["rows"]:
                for column, cell in zip(table["head"][1:], cells, strict=True):
                    yield f"{where}: {name}: {column}", cell
