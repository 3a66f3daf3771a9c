from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import answer
import pytest
from answer import Answer, RequestError, error_cause, read_stream, read_whole

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


def usage(output_tokens: int) -> str:
    return json.dumps({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": output_tokens}})


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
        (5.0, chunk({"content": "z"})),
        (6.0, chunk({}, "stop")),
        (6.5, usage(9)),
        (7.0, "[DONE]"),
    )
    assert read_stream(stream, sent=0.5) == Answer(
        ttft=1.5, ttst=1.0, tpot=0.5, e2e=6.5, itl=(1.0, 2.0), prompt_tokens=5, output_tokens=9
    )


def test_one_token_has_no_time_between_tokens(clock: Clock) -> None:
    stream = arriving(
        clock, (1.0, chunk({"content": "x"})), (1.0, chunk({}, "length")), (1.0, usage(1)), (1.0, "[DONE]")
    )
    read = read_stream(stream, sent=0.0)
    assert (read.ttst, read.tpot, read.itl) == (None, None, ())


def test_a_failing_stream_keeps_what_it_carried(clock: Clock) -> None:
    stream = arriving(clock, (1.0, chunk({"content": "x" * 5000})), (2.0, '{"error": {"message": "engine died"}}'))
    with pytest.raises(RequestError) as failed:
        read_stream(stream, sent=0.0)
    assert (failed.value.status, failed.value.cause) == (200, "error event: engine died")
    assert failed.value.body is not None
    assert failed.value.body.endswith('data: {"error": {"message": "engine died"}}\n\n')
    assert len(failed.value.body) == answer.BODY_KEPT


def whole(message: dict[str, Any], finish_reason: str = "stop", **rest: Any) -> str:
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 3}, **rest})


@pytest.mark.parametrize("message", [{"content": "x"}, {"content": None, "tool_calls": [{"id": "a"}]}])
def test_a_unary_answer_has_its_end_and_its_counts(message: dict[str, Any]) -> None:
    assert read_whole(whole(message), e2e=2.0) == Answer(
        ttft=None, ttst=None, tpot=None, e2e=2.0, itl=(), prompt_tokens=5, output_tokens=3
    )


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("oops", "body is not a JSON object"),
        ('{"error": {"message": "too late"}}', "error body: too late"),
        (whole({"content": ""}), "no token"),
        (whole({"content": "x"}, "abort"), "finish_reason abort"),
        (whole({"content": "x"}, usage=None), "no usage"),
        (whole({"content": "x"}, choices=[]), "no choice"),
    ],
)
def test_a_unary_200_that_is_no_answer_fails(body: str, cause: str) -> None:
    with pytest.raises(RequestError) as failed:
        read_whole(body, e2e=2.0)
    assert (failed.value.cause, failed.value.body) == (cause, body)


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
