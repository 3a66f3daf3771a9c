"""More clients than the engine takes, and clients that do not read."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stand.servers import MODES
from stand.traffic import Sent, ask, client_of, scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stand.servers import Server
    from stand.stack import Service

LONG_ANSWER: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Go on."}],
    "ignore_eos": True,
    "max_tokens": 2000,
}


def flood(server: Server, clients: int, requests: int) -> list[Sent]:
    """Sends ``requests`` requests, ``clients`` of them at any time."""
    with client_of(clients) as client, ThreadPoolExecutor(clients) as pool:
        crowded = replace(server, client=client)
        first = time.monotonic_ns()
        return list(pool.map(lambda n: ask(crowded, *scripted(first + n, words=60), MODES[n % 2]), range(requests)))


@dataclass(frozen=True, slots=True)
class SlowReading:
    """Memory of the frontend in MiB: before, at its highest while nobody read, and when all had gone."""

    before: float
    highest: float
    after: float


def slow_readers(server: Server, frontend: Service, clients: int, seconds: float) -> SlowReading:
    """Clients that ask for long answers and read one kilobyte a second."""
    before = frontend.memory_mib
    leave = threading.Event()
    with client_of(clients) as client, ThreadPoolExecutor(clients) as pool:
        crowded = replace(server, client=client)
        readers = [pool.submit(_read_slowly, crowded, leave) for _ in range(clients)]
        highest = max(_watched(frontend, seconds))
        leave.set()
        for reader in readers:
            reader.result()
    time.sleep(5)
    return SlowReading(before, highest, frontend.memory_mib)


def _read_slowly(server: Server, leave: threading.Event) -> None:
    with server.open(LONG_ANSWER, "stream") as response:
        for _ in response.iter_raw(chunk_size=1024):
            if leave.wait(1):
                return


def _watched(service: Service, seconds: float) -> Iterator[float]:
    end = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < end, iter(lambda: service.memory_mib, None))
