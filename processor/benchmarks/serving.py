"""What the frontend costs while it serves: CPU per token, added latency, stalls of the event loop, memory."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conversations import conversation
from direct import worker
from frontends import MODEL, Frontend, resident_mib
from heartbeat import LINE_S, longest_delay
from streams import ask, ask_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TOKENS = 256  # of each answer
RENDERED_S = 1.0  # a long prompt is with the worker by then
ROUND_TOKENS = 16_384  # of all answers of a round: few streams take turns more often


class WrongCountError(Exception):
    """An answer has not as many tokens as it was to have."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one frontend cost, round by round.

    Attributes:
        microseconds: of CPU per token.
        tokens_per_chunk: mean.
    """

    microseconds: list[float]
    tokens_per_chunk: list[float]


def request(content: str, *, stream: bool, **fields: Any) -> dict[str, Any]:
    """A short prompt, and an answer of ``TOKENS`` tokens."""
    messages = [{"role": "user", "content": content}]
    usage = {"stream_options": {"include_usage": True}} if stream else {}
    body = {"model": MODEL, "messages": messages, "max_tokens": TOKENS, "ignore_eos": True, "stream": stream}
    return {**body, **usage, **fields}


def cost_per_token(frontends: Sequence[Frontend], *, streams: int, rounds: int, stream: bool = True) -> dict[str, Cost]:
    """CPU per token of frontends that take turns, by their names. The first round is for warming up.

    Raises:
        WrongCountError: tokens are missing.
    """
    costs = {frontend.name: Cost([], []) for frontend in frontends}
    for number in range(rounds + 1):
        for frontend in frontends:
            microseconds, tokens_per_chunk = _round(frontend, streams, number, stream=stream)
            if number:
                costs[frontend.name].microseconds.append(microseconds)
                costs[frontend.name].tokens_per_chunk.append(tokens_per_chunk)
    return costs


def _round(frontend: Frontend, streams: int, number: int, *, stream: bool) -> tuple[float, float]:
    chunks = tokens = 0
    before = frontend.cpu_seconds()
    answers = []
    for turn in range(max(1, ROUND_TOKENS // TOKENS // streams)):
        bodies = [request(f"{number}.{turn}.{index}", stream=stream) for index in range(streams)]
        answers += asyncio.run(ask_all(frontend.port, bodies))
    used = frontend.cpu_seconds() - before
    for answer in answers:
        parts = answer.chunks() if stream else [json.loads(answer.body)]
        found = parts[-1]["usage"]["completion_tokens"]
        if found != TOKENS:
            raise WrongCountError(f"{frontend.name} gave {found} of {TOKENS} tokens")
        tokens += TOKENS
        chunks += sum(1 for part in parts if part["choices"])
    return used / tokens * 1e6, tokens / chunks


def median_tokens_per_chunk(frontend: Frontend, *, streams: int) -> float:
    """How many tokens a chunk carries, told by the usage that the processor puts on every chunk on demand."""
    options = {"include_usage": True, "continuous_usage_stats": True}
    bodies = [request(str(index), stream=True, stream_options=options) for index in range(streams)]
    sizes: list[int] = []
    for answer in asyncio.run(ask_all(frontend.port, bodies)):
        counts = [chunk["usage"]["completion_tokens"] for chunk in answer.chunks() if chunk.get("usage")]
        sizes += [after - before for before, after in zip([0, *counts], counts, strict=False) if after > before]
    return statistics.median(sizes)


def seconds_to_first_token(
    frontend: Frontend, folder: Path, source: random.Random, *, prompt_tokens: int, count: int
) -> tuple[list[float], list[float]]:
    """Through the frontend and straight to the worker, whose discovery is in ``folder``; one at a time, by turns."""
    through, straight = [], []
    with worker(folder) as ask_worker:
        for _ in range(count):
            body = {**conversation(source, prompt_tokens), "model": MODEL, "max_tokens": 2, "ignore_eos": True}
            answer = asyncio.run(ask(frontend.port, {**body, "stream": True}))
            through.append(answer.seconds_to_first_token)
            straight.append(ask_worker(prompt_tokens))
    return through, straight


def stalls(
    frontend: Frontend, beats: Path, source: random.Random, *, prompt_tokens: int, count: int
) -> tuple[list[float], list[float]]:
    """The longest delay of the event loop beside 32 streams, in seconds: while nothing else comes, and during each of
    some long prompts."""

    bodies = [{**conversation(source, prompt_tokens), "model": MODEL, "max_tokens": 1} for _ in range(count)]

    async def measure() -> tuple[list[float], list[float]]:
        stream = request("Hi", stream=True, max_tokens=100_000)
        streams = [asyncio.create_task(ask(frontend.port, stream)) for _ in range(32)]
        await asyncio.sleep(2)
        alone, beside = [], []
        for body in bodies:
            before = time.monotonic()
            await asyncio.sleep(RENDERED_S)
            began = time.monotonic()
            await ask_all(frontend.port, [body])
            alone.append(longest_delay(beats, before, began - LINE_S))
            beside.append(longest_delay(beats, began, began + RENDERED_S))
        running = sum(not stream.done() for stream in streams)
        for task in streams:
            task.cancel()
        await asyncio.gather(*streams, return_exceptions=True)
        if running < len(streams):
            raise RuntimeError(f"only {running} of {len(streams)} streams were still there")
        return alone, beside

    return asyncio.run(measure())


def memory(frontend: Frontend, seed: int, *, requests: int, conversations: int) -> tuple[float, float]:
    """Resident memory in MiB after a first thousand requests, and after all, eight at a time."""

    def body(number: int) -> dict[str, Any]:
        source = random.Random(f"{seed}:{number % conversations}")
        return {**conversation(source, 300), "model": MODEL, "max_tokens": 4, "stream": number % 2 == 0}

    async def send(first: int, last: int) -> None:
        for start in range(first, last, 8):
            await ask_all(frontend.port, [body(number) for number in range(start, min(start + 8, last))])

    asyncio.run(send(0, 1000))
    early = resident_mib(frontend.process.pid)
    asyncio.run(send(1000, requests))
    return early, resident_mib(frontend.process.pid)
