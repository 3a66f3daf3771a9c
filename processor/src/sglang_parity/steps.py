"""Which items of a worker are read as one step of an answer.

A chunk's way into Dynamo takes several times the CPU that an item's way out of it does. While the event loop keeps up
with its streams each item is a step of its own; when it does not, what comes in the meantime makes one step, and one
chunk. What is read, and so what is said, is the same: ``parse`` does not depend on where the steps end.
"""

from __future__ import annotations

import asyncio
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

from sglang_parity.host.errors import as_worker_error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    Item = dict[str, Any]

# The loop keeps up with one chunk in so many seconds, of all streams together.
CHUNK_SECONDS = 300e-6

# A step of a stream does not wait for more tokens than this, however many come.
STREAMED_TOKENS = 4

# A whole answer shows no step. SGLang, too, hands its text on every 50 tokens (``SGLANG_FORCE_STREAM_INTERVAL``).
WHOLE_TOKENS = 50

_PER_TOKEN = ("token_ids", "log_probs", "top_logprobs")


class Pace:
    """How often a stream sends, for all streams of an event loop.

    Attributes:
        streams: how many there are.
    """

    def __init__(self, chunk_seconds: float = CHUNK_SECONDS) -> None:
        """``chunk_seconds`` is what a chunk may take of the loop."""
        self.streams = 0
        self._chunk_seconds = chunk_seconds

    @property
    def interval(self) -> float:
        """Seconds from one chunk of a stream to its next."""
        return self.streams * self._chunk_seconds


async def streamed_steps(stream: AsyncIterator[Any], pace: Pace) -> AsyncGenerator[list[Item], None]:
    """The steps of a streamed answer. One that is sooner than the pace allows waits for more, but not longer than that.

    Args:
        stream: what Dynamo's routed engine gives.
        pace: shared by all streams of the loop.

    Raises:
        WorkerError, RoutedEngineError, dynamo.llm.exceptions.DynamoException: see ``host.errors.as_worker_error``; what
            came before is a step of its own.
    """
    loop = asyncio.get_running_loop()
    step, due = _Step(), 0.0
    something = asyncio.Event()
    timer: asyncio.TimerHandle | None = None
    failure: Exception | None = None

    def read() -> asyncio.Future[Any]:
        following = asyncio.ensure_future(stream.__anext__())
        following.add_done_callback(lambda _: something.set())
        return following

    def hurry() -> None:
        nonlocal due
        due = 0.0
        something.set()

    def leave() -> None:
        pace.streams -= 1
        coming.cancel()
        if timer:
            timer.cancel()

    coming = read()
    pace.streams += 1
    try:
        while True:
            if step.items:
                wait = due - time.monotonic()
                if wait <= 0 or step.tokens >= STREAMED_TOKENS:
                    yield step.take()
                    due = time.monotonic() + pace.interval
                    if timer:
                        timer.cancel()
                        timer = None
                elif not coming.done():
                    timer = timer or loop.call_later(wait, hurry)
                    something.clear()
                    await something.wait()
                    continue
            try:
                item = await coming
            except StopAsyncIteration:
                break
            except Exception as error:
                failure = error
                break
            coming = read()
            step.add(item.data())
        if step.items:
            yield step.take()
        if failure:
            raise as_worker_error(failure) from failure
    finally:
        # Where the client has gone, Dynamo may drop the generator in a thread of its own.
        loop.call_soon_threadsafe(leave)


async def whole_steps(stream: AsyncIterator[Any], tokens: int) -> AsyncGenerator[list[Item], None]:
    """The steps of a whole answer, of so many tokens or more.

    Raises:
        WorkerError, RoutedEngineError, dynamo.llm.exceptions.DynamoException: see ``host.errors.as_worker_error``.
    """
    step = _Step()
    while True:
        try:
            item = await anext(stream)
        except StopAsyncIteration:
            break
        except Exception as error:
            raise as_worker_error(error) from error
        step.add(item.data())
        if step.tokens >= tokens:
            yield step.take()
    if step.items:
        yield step.take()


class _Step:
    """The items of a step: those of one choice are one, save the one that ends it, which may fail.

    Attributes:
        items: in the order in which they came, those that are one in a list.
        tokens: how many they have together.
    """

    def __init__(self) -> None:
        self.items: list[list[Item]] = []
        self.tokens = 0
        self._open: dict[int, list[Item]] = {}

    def add(self, item: Item | None) -> None:
        """Takes what Dynamo has; an item without data is none."""
        if item is None:
            return
        index = item.get("index") or 0
        self.tokens += len(item["token_ids"])
        ends = item.get("finish_reason") is not None
        if index in self._open and not ends:
            self._open[index].append(item)
            return
        self.items.append([item])
        if not ends:
            self._open[index] = self.items[-1]

    def take(self) -> list[Item]:
        taken = [joined(items) for items in self.items]
        self.items, self.tokens, self._open = [], 0, {}
        return taken


def joined(items: Sequence[Item]) -> Item:
    """Items of one choice as the engine would have given them in one."""
    last = items[-1]
    if len(items) == 1:
        return last
    lists = {key for key in _PER_TOKEN if any(item.get(key) for item in items)}
    return last | {key: list(chain.from_iterable(item.get(key) or () for item in items)) for key in lists}
