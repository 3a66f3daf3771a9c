from __future__ import annotations

import json
from typing import TYPE_CHECKING

from run_folder import write_run
from written import write

if TYPE_CHECKING:
    from pathlib import Path


def test_the_run_that_was_there_is_the_previous_one(tmp_path: Path) -> None:
    folder = tmp_path / "load"
    first = json.loads(write_run(tmp_path / "made", servers=("frontend",), loads=(8,)).read_text())
    named = []
    for seed in (1, 2, 3):
        write({**first, "seed": seed}, [], folder)
        named.append(json.loads((folder / "run.json").read_text())["previous"])
    assert named == [None, "../load-previous/run.json", "../load-previous/run.json"]
    assert json.loads((folder / named[-1]).read_text())["seed"] == 2


def test_a_folder_without_a_run_takes_the_place_of_none(tmp_path: Path) -> None:
    folder = tmp_path / "load"
    run = json.loads(write_run(tmp_path / "made", servers=("frontend",), loads=(8,)).read_text())
    for seed in (1, 2):
        write({**run, "seed": seed}, [], folder)
    (folder / "run.json").unlink()
    write({**run, "seed": 3}, [], folder)
    assert json.loads((tmp_path / "load-previous" / "run.json").read_text())["seed"] == 1
