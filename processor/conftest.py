"""What the tests share: the stand-in checkpoint, whose tokenizer and configuration are the pinned ones."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from local_dynamo import NAMED, Frontend, LocalDynamo, wait_until
from sglang_parity.checkpoint import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILD = Path(__file__).parents[1] / "fixtures" / "checkpoint" / "build.py"


@pytest.fixture(scope="session")
def checkpoint_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("checkpoint")
    runpy.run_path(str(BUILD))["build"](directory)
    return directory


@pytest.fixture(scope="session")
def checkpoint(checkpoint_directory: Path) -> Checkpoint:
    return Checkpoint.load(checkpoint_directory)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, checkpoint_directory: Path) -> Iterator[LocalDynamo]:
    """A real Dynamo with a scripted worker for the model ``m``, for tests that leave it as it is."""
    dynamo = LocalDynamo(tmp_path_factory.mktemp("dynamo"), checkpoint_directory)
    with dynamo.worker():
        yield dynamo


@pytest.fixture(scope="session")
def frontend(served: LocalDynamo) -> Iterator[Frontend]:
    """Its Frontend, with the processor."""
    with served.frontend(*NAMED) as running:
        wait_until(lambda: running.models() == ["m"])
        yield running
