"""The launcher: Dynamo's own flags, and the documented ones for custom processors, on the Dynamo that is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest


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
