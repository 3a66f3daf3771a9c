"""The processor, and beside it a task that notes how late the event loop runs it.

    HEARTBEAT=FILE python -m sglang_parity.frontend --dyn-chat-processor heartbeat:provider

Each line of the file is a moment (seconds of ``time.monotonic``) and the longest delay, in seconds, since the line
before.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sglang_parity.provider import provider as processor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dynamo.llm import PythonAsyncEngine

BEAT_S = 0.001
LINE_S = 0.02


def provider(config: Any, options: dict[str, Any]) -> Callable[..., Awaitable[PythonAsyncEngine]]:
    """What Dynamo calls; the heartbeat begins with the first model."""
    make = processor(config, options)
    beating: list[asyncio.Task[None]] = []

    async def chat_engine_factory(*arguments: Any) -> PythonAsyncEngine:
        if not beating:
            beating.append(asyncio.create_task(beat(Path(os.environ["HEARTBEAT"]))))
        return await make(*arguments)

    return chat_engine_factory


async def beat(file: Path) -> None:
    with file.open("w", encoding="ascii", buffering=1) as lines:
        longest, written = 0.0, time.monotonic()
        while True:
            slept = time.monotonic()
            await asyncio.sleep(BEAT_S)
            now = time.monotonic()
            longest = max(longest, now - slept - BEAT_S)
            if now - written >= LINE_S:
                lines.write(f"{now} {longest}\n")
                longest, written = 0.0, now


def longest_delay(file: Path, since: float, until: float) -> float:
    """The longest delay between two moments, in seconds.

    Raises:
        ValueError: no line is from between them.
    """
    lines = (line.split() for line in file.read_text(encoding="ascii").splitlines())
    return max(float(delay) for at, delay in lines if since <= float(at) <= until + LINE_S)
