"""What differs between two reports, each as it was written to ``report.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .evidence import Part, State, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = ("", "before", "now")
ABSENT = "–"


def changes(before: dict[str, Any], now: dict[str, Any]) -> Part:
    """The checks, figures and tables that came, went or changed; not how long anything took."""
    checks = _rows(_states(before), _states(now))
    worse = tuple(row for row in checks if _worse(*row[1:]))
    better = tuple(row for row in checks if row not in worse)
    return Part(
        f"What changed since {before['commit'][:12]}, {before['assembled']}",
        tables=(
            Table("Verdict", HEAD, _rows({"verdict": before["verdict"]}, {"verdict": now["verdict"]})),
            Table("Worse, or gone", HEAD, worse),
            Table("Better, or new", HEAD, better),
            Table("Figures", HEAD, _rows(dict(_figures(before)), dict(_figures(now)))),
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


def _figures(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Figures by name, and the cells of tables by row and column."""
    for part in report["parts"]:
        for figure in part["figures"]:
            yield f"{part['title']}: {figure['name']}", figure["value"]
        for table in part["tables"]:
            for name, *cells in table["rows"]:
                for column, cell in zip(table["head"][1:], cells, strict=True):
                    yield f"{part['title']}: {name}: {column}", cell
