from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from run_folder import write_run
from written import ForeignFolderError, results_folder, write

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


@pytest.mark.parametrize("files", [[], ["load/"], ["load/requests.jsonl"], ["load-previous/requests.jsonl"]])
def test_a_run_may_take_the_place_of_a_run_or_of_nothing(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make(tmp_path, files)
    assert results_folder(str(tmp_path / "load")) == tmp_path / "load"
    (tmp_path / "load").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "load")
    assert results_folder(".") == tmp_path / "load"


@pytest.mark.parametrize(
    ("file", "named"), [("load/thesis.txt", "load"), ("load-previous/a", "load-previous"), ("load", "load")]
)
def test_files_that_are_not_a_runs_are_never_replaced(file: str, named: str, tmp_path: Path) -> None:
    _make(tmp_path, [file])
    with pytest.raises(ForeignFolderError, match=f"{tmp_path / named} holds no run"):
        results_folder(str(tmp_path / "load"))


def _make(folder: Path, names: list[str]) -> None:
    for name in names:
        path = folder / name
        if name.endswith("/"):
            path.mkdir()
        else:
            path.parent.mkdir(exist_ok=True)
            path.touch()
