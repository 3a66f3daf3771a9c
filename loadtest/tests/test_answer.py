from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import answer
import pytest
from answer import Answer, error_cause, read_answer

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock:
    """Time as the chunks below set it; stands in for the ``time`` module."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(answer, "time", clock)
    return clock


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def arriving(clock: Clock, *timed: tuple[float, str]) -> Iterator[bytes]:
    for clock.now, data in timed:
        yield f"data: {data}\n\n".encode()


@pytest.mark.parametrize(
    "first", [{"content": "x"}, {"reasoning_content": "x"}, {"tool_calls": [{"index": 0, "function": {"name": "f"}}]}]
)
def test_ttft_is_the_first_token_of_any_channel(clock: Clock, first: dict[str, Any]) -> None:
    stream = arriving(
        clock,
        (1.0, chunk({"role": "assistant", "content": "", "reasoning_content": None, "tool_calls": None})),
        (2.0, chunk({"content": None, **first})),
        (3.0, chunk({"content": "y"})),
        (6.0, chunk({}, "stop")),
        (6.5, json.dumps({"choices": [], "usage": {"completion_tokens": 9}})),
        (7.0, "[DONE]"),
    )
    assert read_answer(stream, sent=0.5) == Answer(ttft=1.5, itl=0.5, e2e=6.5, output_tokens=9)


def test_one_token_has_no_itl(clock: Clock) -> None:
    usage = json.dumps({"choices": [], "usage": {"completion_tokens": 1}})
    stream = arriving(clock, (1.0, chunk({"content": "x"})), (1.0, chunk({}, "length")), (1.0, usage), (1.0, "[DONE]"))
    assert read_answer(stream, sent=0.0).itl is None


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ('{"error": {"message": "too  long\\nby far"}}', "too long by far"),
        ('{"error": "plain"}', "plain"),
        ('{"object": "error", "message": "request 0f8fad5b-d9cb-469f-a165-70867728950e lost"}', "request … lost"),
        ("Bad Gateway", "Bad Gateway"),
        ("x" * 500, "x" * 100),
        ("", "no message"),
    ],
)
def test_error_causes_are_short_and_alike(body: str, cause: str) -> None:
    assert error_cause(body) == cause
