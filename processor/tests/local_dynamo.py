"""A real Dynamo on this machine, without engine or container: the Frontend with the processor, and scripted workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORKER = Path(__file__).with_name("scripted_worker.py")
TIMEOUT_S = 60.0
# One for all, as each takes a while to make; without a worker the front answers 404, and closes the connection unsaid.
CLIENT = httpx.Client(timeout=TIMEOUT_S, limits=httpx.Limits(max_keepalive_connections=0))
NAMED = ("--dyn-chat-processor", "sglang-parity")


@dataclass(frozen=True, slots=True)
class Frontend:
    """A Frontend that runs.

    Attributes:
        url: where it answers.
        log: file with all that it has printed.
        process_id: of the process.
    """

    url: str
    log: Path
    process_id: int

    def models(self) -> list[str]:
        return [model["id"] for model in CLIENT.get(f"{self.url}/v1/models").raise_for_status().json()["data"]]

    def chat(self, order: dict[str, Any], *, model: str = "m", **fields: Any) -> httpx.Response:
        """Sends an order to the worker of a model (see ``scripted_worker``)."""
        messages = [{"role": "user", "content": json.dumps(order)}]
        return self.post({"model": model, "messages": messages, **fields})

    def post(self, body: dict[str, Any], headers: dict[str, str] | None = None) -> httpx.Response:
        return CLIENT.post(f"{self.url}/v1/chat/completions", json=body, headers=headers)

    def says(self, text: str, model: str = "m") -> bool:
        """Whether the model's worker answers, and with what it is told."""
        answer = self.chat({"say": text}, model=model)
        return answer.status_code == 200 and answer.json()["choices"][0]["message"]["content"] == text


@dataclass(frozen=True, slots=True)
class LocalDynamo:
    """Processes that find each other through one folder.

    Attributes:
        folder: what holds that folder, and the logs.
        checkpoint: what the workers say they serve.
    """

    folder: Path
    checkpoint: Path

    @contextmanager
    def frontend(self, *arguments: str, **environment: str) -> Iterator[Frontend]:
        """A Frontend that listens."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = ["-m", "sglang_parity.frontend", "--http-host", "127.0.0.1", "--http-port", str(port)]
        with self._process([*command, *arguments], f"frontend-{port}", environment) as (process, log):
            frontend = Frontend(f"http://127.0.0.1:{port}", log, process.pid)
            wait_until(lambda: _answers(frontend) or process.poll() is not None)
            yield frontend

    @contextmanager
    def worker(self, model: str = "m", *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A worker that registers a model; it leaves by SIGTERM."""
        command = [str(WORKER), str(self.checkpoint), model, *arguments]
        with self._process(command, f"worker-{model}", {}) as (process, _log):
            yield process

    @contextmanager
    def _process(
        self, command: list[str], name: str, environment: dict[str, str]
    ) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        log = self.folder / f"{name}.log"
        whole = {**os.environ, **self.variables, **environment}
        with (
            log.open("ab") as output,
            subprocess.Popen([sys.executable, *command], env=whole, stdout=output, stderr=subprocess.STDOUT) as process,
        ):
            try:
                yield process, log
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(TIMEOUT_S)
                finally:
                    process.kill()

    @property
    def variables(self) -> dict[str, str]:
        """The environment of every process: that of ``compose.yaml``, with a folder and a short peek of its own."""
        return {
            "DYN_DISCOVERY_BACKEND": "file",
            "DYN_FILE_KV": str(self.folder / "discovery"),
            "DYN_REQUEST_PLANE": "tcp",
            "DYN_EVENT_PLANE": "zmq",
            "DYN_LOGGING_JSONL": "1",
            "DYN_HTTP_PRE_COMMIT_ERROR_PEEK_MS": "1000",
            "PYTHONPATH": str(WORKER.parent),  # for processors that are named by their path
            "HOME": str(self.folder),
        }


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits for what comes by itself.

    Raises:
        TimeoutError: it does not.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {TIMEOUT_S:.0f} s")
        time.sleep(0.05)


def _answers(frontend: Frontend) -> bool:
    try:
        frontend.models()
    except httpx.TransportError:
        return False
    return True
