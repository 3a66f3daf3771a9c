"""The benchmarks, which judge themselves by their exit status: their plain values, and their lists as tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from stand.evidence import Check, Figure, Part, State, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS_SHOWN = 60


def benchmarks(path: Path) -> Iterator[Part]:
    """A target that is missed is shown, and no failure: how the run ended, its command says."""
    found = json.loads(path.read_text(encoding="utf-8"))
    folder = path.parent
    raw = sorted(str(file.relative_to(folder.parent)) for file in folder.rglob("*") if file.is_file())
    figures = tuple(Figure(key, str(value)) for key, value in found.items() if not isinstance(value, list | dict))
    tables = tuple(
        _table(key, value)
        for key, value in found.items()
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    )
    checks = (Check(f"{folder.name}/{path.name}", State.PASSED, "is there"),)
    yield Part("Benchmarks", tuple(raw), checks, figures, tables)


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    head = tuple(dict.fromkeys(key for row in rows for key in row))
    shown = tuple(tuple(_text(row.get(key, "")) for key in head) for row in rows[:ROWS_SHOWN])
    note = f"{ROWS_SHOWN} of {len(rows)} rows" if len(rows) > ROWS_SHOWN else ""
    return Table(title, head, shown, note)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
