"""Fixtures: the stand-in checkpoint, and prompts made with it. Not a conftest: mypy knows one of that name already."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from prompts import Prompts

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in checkpoint's folder."""
    folder = tmp_path_factory.mktemp("checkpoint")
    subprocess.run([sys.executable, ROOT / "fixtures" / "checkpoint" / "build.py", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def prompts(checkpoint: Path) -> Prompts:
    return Prompts.load(checkpoint)
