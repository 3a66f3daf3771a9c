"""The files of a run."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import orjson
from record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# What the release report shows of a run.
_SHOWN = (
    "began",
    "commit",
    "model",
    "workload",
    "loop",
    "seconds",
    "warm_up_s",
    "valid",
    "steps",
    "failures",
    "budgets",
)


def write(run: dict[str, Any], records: Sequence[Record], folder: Path) -> None:
    """Writes the figures as JSON, and each request as JSON Lines and CSV, into ``folder``, which is emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with (folder / "requests.jsonl").open("wb") as file:
        for record in records:
            file.write(orjson.dumps(asdict(record), option=orjson.OPT_APPEND_NEWLINE))
    columns = [field.name for field in fields(Record) if field.name not in ("body", "itl")]
    with (folder / "requests.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows([getattr(record, column) for column in columns] for record in records)
    _write_json(folder / "results.json", {key: run[key] for key in _SHOWN})
    _write_json(folder / "run.json", run)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
