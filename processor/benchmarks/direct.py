"""Requests straight to the worker of a discovery folder: no HTTP, no frontend.

    direct.py    asks for a prompt of as many tokens as each line of its input says, and prints the seconds to the first

It is a process of its own, as Dynamo's client writes a log that cannot be turned off.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamo.runtime import DistributedRuntime
from floor import to_engine
from frontends import environment_of, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDPOINT = "dynamo.backend.generate"


@contextmanager
def worker(folder: Path) -> Iterator[Callable[[int], float]]:
    """What asks the worker whose discovery is in ``folder``: from the tokens of a prompt to the seconds it took."""
    with (folder / "direct").open("wb") as log:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [sys.executable, Path(__file__)], env=environment_of(folder), stdin=pipe, stdout=pipe, stderr=log
        )
    assert process.stdin
    assert process.stdout
    asked, answers = process.stdin, process.stdout

    def ask(prompt_tokens: int) -> float:
        asked.write(f"{prompt_tokens}\n".encode())
        asked.flush()
        return float(answers.readline())

    try:
        yield ask
    finally:
        stop(process)


async def serve() -> None:
    runtime = DistributedRuntime(asyncio.get_running_loop(), "file", "tcp", event_plane="zmq")
    client = await runtime.endpoint(ENDPOINT).client()
    await client.wait_for_instances()
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(await seconds_to_first_token(client, int(line)), flush=True)
    runtime.shutdown()


async def seconds_to_first_token(client: Any, prompt_tokens: int) -> float:
    ids = random.choices(range(1000, 100_000), k=prompt_tokens)
    request = to_engine({"model": "m", "max_tokens": 2}) | {"token_ids": ids}
    started = time.perf_counter()
    first = 0.0
    async for item in await client.round_robin(request):
        data = item.data()
        if not first and data and data["token_ids"]:
            first = time.perf_counter() - started
    return first


if __name__ == "__main__":
    asyncio.run(serve())
