"""Which of a worker's items are read together, when they go on, and what is left behind where nobody takes them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from sglang_parity.host.errors import WorkerError
from sglang_parity.steps import STREAMED_TOKENS, Pace, streamed_steps, whole_steps
from test_engine import Item

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

LONG_S = 60.0  # for what no test waits


def token(token_id: int, index: int = 0, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"token_ids": [token_id], "finish_reason": finish, "index": index, **fields}


async def stream(items: Sequence[dict[str, Any] | None], failure: Exception | None = None) -> AsyncIterator[Item]:
    """A worker that has all its items ready."""
    for item in items:
        yield Item(item)
    if failure is not None:
        raise failure


async def collect(steps: AsyncGenerator[list[dict[str, Any]], None]) -> list[list[dict[str, Any]]]:
    return [step async for step in steps]


def streamed(items: Sequence[dict[str, Any] | None], chunk_seconds: float) -> list[list[dict[str, Any]]]:
    async def run() -> list[list[dict[str, Any]]]:
        return await collect(streamed_steps(stream(items), Pace(chunk_seconds)))

    return asyncio.run(run())


def ids(steps: Sequence[Sequence[dict[str, Any]]]) -> list[list[int]]:
    return [[token_id for item in step for token_id in item["token_ids"]] for step in steps]


def test_each_item_is_a_step_while_the_loop_keeps_up() -> None:
    assert ids(streamed([token(i) for i in range(6)], chunk_seconds=0)) == [[0], [1], [2], [3], [4], [5]]


def test_the_first_goes_on_at_once_and_later_ones_wait_for_so_many_tokens() -> None:
    assert STREAMED_TOKENS == 4
    assert ids(streamed([token(i) for i in range(10)], LONG_S)) == [[0], [1, 2, 3, 4], [5, 6, 7, 8], [9]]


def test_no_token_waits_longer_than_the_pace_for_another() -> None:
    async def run() -> list[list[int]]:
        silence = asyncio.Event()

        async def worker() -> AsyncIterator[Item]:
            yield Item(token(0))
            yield Item(token(1))
            await silence.wait()

        steps = streamed_steps(worker(), Pace(0.05))
        async with asyncio.timeout(LONG_S):
            return ids([await anext(steps), await anext(steps)])

    assert asyncio.run(run()) == [[0], [1]]


def test_the_pace_is_that_of_all_streams() -> None:
    async def run() -> tuple[float, float]:
        pace = Pace(0.5)
        streams = [streamed_steps(stream([token(0), token(1)]), pace) for _ in range(3)]
        for each in streams:
            await anext(each)
        together = pace.interval
        for each in streams:
            await each.aclose()
        await asyncio.sleep(0)
        return together, pace.interval

    assert asyncio.run(run()) == (1.5, 0.0)


@pytest.mark.parametrize(
    ("items", "second_step"),
    [
        pytest.param(
            [token(1, log_probs=[-1.0], top_logprobs=[[{"rank": 1}]]), token(2, log_probs=[-2.0], top_logprobs=[[]])],
            [token(1) | {"token_ids": [1, 2], "log_probs": [-1.0, -2.0], "top_logprobs": [[{"rank": 1}], []]}],
            id="all that is per token",
        ),
        pytest.param(
            [token(1, log_probs=[-1.0]), token(2, log_probs=None)],
            [token(1) | {"token_ids": [1, 2], "log_probs": [-1.0]}],
            id="what not every item has",
        ),
        pytest.param([token(1), None, token(2)], [token(1) | {"token_ids": [1, 2]}], id="items without data are none"),
        pytest.param(
            [token(1, 0), token(2, 1), token(3, 0)],
            [token(1, 0) | {"token_ids": [1, 3]}, token(2, 1)],
            id="each choice for itself",
        ),
        pytest.param(
            [token(1, 0), token(2, 1, "length"), token(3, 0, "stop")],
            [token(1, 0), token(2, 1, "length"), token(3, 0, "stop")],
            id="what ends a choice stands alone, in the order of the ends",
        ),
        pytest.param(
            [token(1), token(2) | {"completion_usage": 5}],
            [token(1) | {"token_ids": [1, 2], "completion_usage": 5}],
            id="the rest is the latest",
        ),
    ],
)
def test_what_is_joined(items: list[dict[str, Any] | None], second_step: list[dict[str, Any]]) -> None:
    assert streamed([token(0), *items], LONG_S) == [[token(0)], second_step]


@pytest.mark.parametrize("failure", [ValueError("InvalidRequest: no"), WorkerError("InvalidRequest", "no")])
def test_what_came_before_a_failure_goes_on_before_it(failure: Exception) -> None:
    async def run() -> list[list[int]]:
        steps = streamed_steps(stream([token(0), token(1), token(2)], failure), Pace(LONG_S))
        came = [await anext(steps), await anext(steps)]
        with pytest.raises(WorkerError, match="no"):
            await anext(steps)
        return ids(came)

    assert asyncio.run(run()) == [[0], [1, 2]]


@pytest.mark.parametrize(("tokens", "steps"), [(1, [[0], [1], [2]]), (2, [[0, 1], [2]]), (50, [[0, 1, 2]])])
def test_a_whole_answer_is_read_so_many_tokens_at_a_time(tokens: int, steps: list[list[int]]) -> None:
    assert ids(asyncio.run(collect(whole_steps(stream([token(0), token(1), token(2)]), tokens)))) == steps


@dataclass
class SilentWorker:
    """Says one token, and notes how the wait for the next one ends."""

    cancelled: bool = False

    async def stream(self) -> AsyncIterator[Item]:
        yield Item(token(0))
        try:
            await asyncio.sleep(LONG_S)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def close(holder: list[AsyncGenerator[Any, None]]) -> None:
    await holder.pop().aclose()


async def drop_in_another_thread(holder: list[AsyncGenerator[Any, None]]) -> None:
    await asyncio.to_thread(holder.clear)


@pytest.mark.parametrize("leave", [close, drop_in_another_thread])
def test_nothing_is_left_where_the_client_has_gone(leave: Callable[[list[Any]], Any]) -> None:
    async def run() -> tuple[int, bool, list[asyncio.Task[Any]]]:
        pace, worker = Pace(0), SilentWorker()
        holder = [streamed_steps(worker.stream(), pace)]
        # As Dynamo does it: the loop knows nothing of a generator that is first asked in another thread.
        await await_in_loop(await asyncio.to_thread(holder[0].__anext__))
        await leave(holder)
        await asyncio.sleep(0.05)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        return pace.streams, worker.cancelled, others

    assert asyncio.run(run()) == (0, True, [])


async def await_in_loop(awaitable: Any) -> Any:
    return await awaitable
