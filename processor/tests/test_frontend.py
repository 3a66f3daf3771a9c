"""The launcher: Dynamo's own flags, and the documented ones for custom processors, on the Dynamo that is installed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.metadata import entry_points
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from dynamo.frontend import main as dynamo_main
from dynamo.frontend.frontend_args import FrontendArgGroup
from dynamo.llm import PythonAsyncEngine
from sglang_parity import frontend
from sglang_parity.frontend import CONFIG_FLAG, ENTRY_POINT_GROUP
from sglang_parity.provider import provider
from test_engine import PUBLISHED, Card

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


def launch(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the launcher with arguments that it refuses, or that only print."""
    command = [sys.executable, "-m", "sglang_parity.frontend", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--dyn-chat-processor", "nope"], "no chat processor 'nope' (known: dynamo, vllm, sglang, sglang-parity;"),
        (["--dyn-chat-processor", "nowhere:provider"], "No module named 'nowhere'"),
        (["--dyn-chat-processor", "json:nothing"], "has no attribute 'nothing'"),
        (["--dyn-chat-processor", "sys:path"], "is no function"),
        (["--dyn-chat-processor", "sglang-parity", "--dyn-chat-processor-config", "{"], "not JSON"),
        (["--dyn-chat-processor", "sglang-parity", "--dyn-chat-processor-config", "[]"], "not a JSON object"),
        (["--dyn-chat-processor", "sglang-parity", "--interactive"], "cannot go with --interactive"),
        (["--dyn-chat-processor", "sglang-parity", "--kserve-grpc-server"], "cannot go with --kserve-grpc-server"),
        (["--dyn-chat-processor", "sglang-parity", "--no-such-flag"], "--no-such-flag"),
    ],
)
def test_what_cannot_be_served_is_refused_while_arguments_are_parsed(arguments: list[str], text: str) -> None:
    done = launch(*arguments)
    assert done.returncode != 0
    assert text in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_help_shows_dynamos_flags_and_the_documented_ones() -> None:
    done = launch("--help")
    assert done.returncode == 0
    for flag in ("--http-port", "--router-mode", "--dyn-chat-processor", "--dyn-chat-processor-config"):
        assert flag in done.stdout


class ArgumentsOfALaterDynamo(FrontendArgGroup):  # type: ignore[misc]
    """A Dynamo that loads custom processors itself has the documented flag."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(CONFIG_FLAG)


@pytest.mark.parametrize(
    ("arguments", "untouched"), [(ArgumentsOfALaterDynamo, True), (FrontendArgGroup, False)], ids=["later", "1.6"]
)
def test_only_a_dynamo_without_a_loader_is_given_one(
    arguments: type[FrontendArgGroup], untouched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("FrontendArgGroup", "FrontendConfig", "EntrypointArgs")
    before = {name: getattr(dynamo_main, name) for name in names}
    started_with: list[dict[str, Any]] = []
    for name in names:
        monkeypatch.setattr(dynamo_main, name, before[name])  # puts it back after the test
    monkeypatch.setattr(dynamo_main, "main", lambda: started_with.append({n: getattr(dynamo_main, n) for n in names}))
    monkeypatch.setattr(frontend, "FrontendArgGroup", arguments)
    frontend.main()
    (found,) = started_with
    assert (found == before) is untouched


def test_the_documented_loader_gets_an_engine(checkpoint_directory: Path) -> None:
    """As the contract has it: found by name, called once in the running loop, then awaited for each model."""

    async def load() -> Any:
        (entry,) = (entry for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.name == "sglang-parity")
        assert entry.load() is provider
        factory = entry.load()(SimpleNamespace(http_port=0), {})
        return await factory("instance", Card(checkpoint_directory, PUBLISHED), None)

    assert isinstance(asyncio.run(load()), PythonAsyncEngine)
