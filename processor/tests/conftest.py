"""What the tests share: the stand-in checkpoint, whose tokenizer and configuration are the pinned ones."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from sglang_parity.checkpoint import Checkpoint

BUILD = Path(__file__).parents[2] / "fixtures" / "checkpoint" / "build.py"


@pytest.fixture(scope="session")
def checkpoint_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("checkpoint")
    runpy.run_path(str(BUILD))["build"](directory)
    return directory


@pytest.fixture(scope="session")
def checkpoint(checkpoint_directory: Path) -> Checkpoint:
    return Checkpoint.load(checkpoint_directory)
