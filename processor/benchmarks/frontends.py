"""Frontends and a mock worker as processes of this machine, and what the kernel says that they have used."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MODEL = "deepseek-ai/DeepSeek-V4-Flash-0731"  # Dynamo's own processors know the prompts of a model by its name
PROCESSORS = {
    "ours": "sglang_parity.provider:provider",
    "watched": "heartbeat:provider",
    "floor": "floor:provider",
    "speaking": "floor:speaking",
    "dynamo": "dynamo",
    "sglang": "sglang",
}
START_S = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Frontend:
    """A frontend that runs."""

    name: str
    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """What it has used of the processor, all threads, user and system."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def lists_the_model(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/models", timeout=5) as answer:
                return MODEL.encode() in answer.read()
        except OSError:
            return False


def resident_mib(process_id: int) -> float:
    """Memory of a process that is in RAM and its own, in MiB."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")) / 1024


@contextmanager
def frontends(
    names: Sequence[str], checkpoint: Path, folder: Path, *, speedup: str = "1000", **environment: str
) -> Iterator[list[Frontend]]:
    """Frontends that serve a mock worker's model, one for each processor; logs and discovery in ``folder``.

    Args:
        names: of the processors, keys of ``PROCESSORS``.
        checkpoint: what the worker says it serves.
        folder: for logs and discovery.
        speedup: of the worker, over what a GPU takes.
        environment: of the frontends.

    Raises:
        RuntimeError: one does not come up.
    """
    with worker(checkpoint, folder, speedup):
        started = [start(name, folder, environment) for name in names]
        try:
            for frontend in started:
                wait_for(frontend, folder)
            yield started
        finally:
            for frontend in started:
                stop(frontend.process)


@contextmanager
def worker(checkpoint: Path, folder: Path, speedup: str) -> Iterator[None]:
    command = [*("-m", "dynamo.mocker", "--model-path", str(checkpoint), "--model-name", MODEL)]
    process = run([*command, "--speedup-ratio", speedup], "worker", folder, {})
    try:
        yield
    finally:
        stop(process)


def start(name: str, folder: Path, environment: dict[str, str]) -> Frontend:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = ["-m", "sglang_parity.frontend", "--http-host", "127.0.0.1", "--http-port", str(port)]
    return Frontend(name, port, run([*command, "--dyn-chat-processor", PROCESSORS[name]], name, folder, environment))


def wait_for(frontend: Frontend, folder: Path) -> None:
    deadline = time.monotonic() + START_S
    while not frontend.lists_the_model():
        if frontend.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{frontend.name} does not come up:\n{(folder / frontend.name).read_text()[-2000:]}")
        time.sleep(0.2)


def run(command: list[str], name: str, folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    whole = environment_of(folder) | environment
    with (folder / name).open("wb") as log:
        return subprocess.Popen([sys.executable, *command], env=whole, stdout=log, stderr=subprocess.STDOUT)


def environment_of(folder: Path) -> dict[str, str]:
    """What lets processes find each other through one folder."""
    return {
        **os.environ,
        "DYN_DISCOVERY_BACKEND": "file",
        "DYN_FILE_KV": str(folder / "discovery"),
        "DYN_REQUEST_PLANE": "tcp",
        "DYN_EVENT_PLANE": "zmq",
        "DYN_HTTP_PRE_COMMIT_ERROR_PEEK_MS": "120000",
    }


def stop(process: subprocess.Popen[Any]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
