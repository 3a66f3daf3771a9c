"""The files of a run."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class ForeignFolderError(ValueError):
    """A folder that a run would replace and that holds something else; the text names it."""


def results_folder(text: str) -> Path:
    """The folder a run is to be written to, whole.

    Raises:
        ForeignFolderError: it, or the one beside it that the run before moves to, holds files that are not a run's.
    """
    folder = Path(text).resolve()
    for each in (folder, _previous(folder)):
        if each.exists() and not _replaceable(each):
            raise ForeignFolderError(f"{each} holds no run, and would be replaced: name a folder of its own")
    return folder


def write(run: dict[str, Any], records: Sequence[Record], folder: Path) -> None:
    """Writes the figures as JSON, and each request as JSON Lines and CSV, into ``folder``.

    A run that is there already is kept beside it, and ``run.json`` names it as the previous one.
    """
    previous = _set_aside(folder)
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
    _write_json(folder / "run.json", {**run, "previous": previous})


def _set_aside(folder: Path) -> str | None:
    """Moves the run in ``folder`` to ``<folder>-previous``, in place of an older one.

    Returns:
        the ``run.json`` of the previous run, relative to ``folder``; None where there is none.
    """
    kept = _previous(folder)
    if (folder / "run.json").is_file():
        shutil.rmtree(kept, ignore_errors=True)
        folder.rename(kept)
    shutil.rmtree(folder, ignore_errors=True)
    return f"../{kept.name}/run.json" if (kept / "run.json").is_file() else None


def _previous(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-previous")


def _replaceable(folder: Path) -> bool:
    """Whether nothing but a run, or the beginnings of one, is in the folder."""
    return folder.is_dir() and (not any(folder.iterdir()) or (folder / "requests.jsonl").is_file())


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
