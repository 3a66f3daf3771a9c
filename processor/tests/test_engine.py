"""One request through the engine: what goes to the router, what comes back, what each failure becomes.

The router is a stand-in that answers with recorded items; everything else is the processor's own.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from dynamo.llm.exceptions import Cancelled, HttpError, InvalidArgument, WorkerUnavailable
from sglang_parity.engine import ChatEngine, ServedModel
from sglang_parity.provider import Options, load_served_model
from sglang_parity.steps import Pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from sglang_parity.checkpoint import Checkpoint

HI = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
HI_IDS = [0, 128803, 23166, 128804, 128822]
EOS = 1


@dataclass
class Item:
    """An item of a routed stream, as Dynamo's ``Annotated`` shows it."""

    content: dict[str, Any] | None

    def data(self) -> dict[str, Any] | None:
        return self.content


@dataclass
class Router:
    """Answers every request with the same items, then fails where it is told to."""

    items: Iterable[dict[str, Any] | None]
    failure: Exception | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)

    async def generate(self, request: dict[str, Any], context: Any) -> AsyncIterator[Item]:
        assert context.id() == "request-1"
        self.requests.append(request)
        return self._stream()

    async def _stream(self) -> AsyncIterator[Item]:
        for item in self.items:
            yield Item(item)
        if self.failure is not None:
            raise self.failure


class Context:
    """Dynamo's request context; the client leaves once it has been asked about so many times."""

    def __init__(self, *, leaves_after: int | None = None) -> None:
        self._looks_left = leaves_after

    def is_stopped(self) -> bool:
        if self._looks_left is None:
            return False
        self._looks_left -= 1
        return self._looks_left < 0

    def id(self) -> str:
        return "request-1"


@dataclass
class Card:
    """A model's deployment card, as far as the processor looks at it."""

    directory: Path
    published: dict[str, Any]

    def name(self) -> str:
        return "m"

    def local_dir(self) -> str:
        return str(self.directory)

    def runtime_config(self) -> dict[str, Any]:
        return self.published


PUBLISHED = {"tool_call_parser": "deepseekv4", "reasoning_parser": "deepseek-v4", "context_length": 1000}


@functools.cache
def served_model(directory: Path) -> ServedModel:
    return load_served_model(Card(directory, PUBLISHED), Options())


def answer(
    checkpoint: Checkpoint,
    request: dict[str, Any],
    router: Router,
    context: Context | None = None,
    *,
    chunk_seconds: float = 0,
) -> list[dict[str, Any]]:
    """All chunks of one request; the event loop keeps up with the stream unless a chunk takes longer than nothing."""

    async def collect() -> list[dict[str, Any]]:
        with ThreadPoolExecutor(1) as pool:
            engine = ChatEngine(served_model(checkpoint.path), router, pool, Pace(chunk_seconds))
            return [chunk async for chunk in engine.generate(request, context or Context())]

    return asyncio.run(collect())


def output(checkpoint: Checkpoint, text: str, *, finish: str = "stop") -> list[dict[str, Any]]:
    """The items of an engine that generates this text one token a step, and EOS where it stops by itself."""
    ids = checkpoint.tokenizer.encode(text, add_special_tokens=False).ids + ([EOS] if finish == "stop" else [])
    items: list[dict[str, Any]] = [{"token_ids": [token_id], "finish_reason": None, "index": 0} for token_id in ids]
    items[-1]["finish_reason"] = finish
    return items


def deltas(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]


def test_the_router_gets_the_prompt_and_sglangs_sampling_defaults(checkpoint: Checkpoint) -> None:
    router = Router(output(checkpoint, "Hello"))
    answer(checkpoint, HI, router)
    (request,) = router.requests
    assert request == {
        "model": "m",
        "token_ids": HI_IDS,
        "require_reasoning": False,
        "stop_conditions": {"max_tokens": None, "stop_token_ids": None, "min_tokens": 0, "ignore_eos": False},
        "sampling_options": {
            "n": 1,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "seed": None,
            "guided_decoding": None,
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
        },
        "output_options": {"logprobs": None, "skip_special_tokens": True},
        "eos_token_ids": [EOS],
        "annotations": [],
    }


@pytest.mark.parametrize(
    ("fields", "section", "sent"),
    [
        ({"max_tokens": 7}, "stop_conditions", {"max_tokens": 7}),
        ({"max_tokens": 7, "max_completion_tokens": 5}, "stop_conditions", {"max_tokens": 5}),
        ({"ignore_eos": True, "min_tokens": 2}, "stop_conditions", {"ignore_eos": True, "min_tokens": 2}),
        ({"temperature": 0.0, "seed": 3}, "sampling_options", {"temperature": 0.0, "seed": 3}),
        ({"logprobs": True}, "output_options", {"logprobs": 0}),
        ({"logprobs": True, "top_logprobs": 2}, "output_options", {"logprobs": 2}),
        (
            {"response_format": {"type": "json_object"}},
            "sampling_options",
            {"guided_decoding": {"json": {"type": "object"}}},
        ),
        ({"chat_template_args": {"sglang": {"regex": "a+"}}}, "sampling_options", {"guided_decoding": {"regex": "a+"}}),
    ],
)
def test_what_a_request_says_of_sampling_reaches_the_router(
    checkpoint: Checkpoint, fields: dict[str, Any], section: str, sent: dict[str, Any]
) -> None:
    router = Router(output(checkpoint, "Hello"))
    answer(checkpoint, HI | fields, router)
    assert router.requests[0][section].items() >= sent.items()


def test_a_streamed_answer_comes_in_sglangs_order(checkpoint: Checkpoint) -> None:
    request = HI | {"stream": True, "stream_options": {"include_usage": True}, "reasoning_effort": "high"}
    *chunks, usage = answer(checkpoint, request, Router(output(checkpoint, "so</think>Yes 你")))
    assert deltas(chunks) == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "so"},
        {"content": "Yes"},
        {"content": " "},
        {"content": "你"},
        {},
    ]
    assert [chunk["choices"][0].get("finish_reason") for chunk in chunks] == [None, None, None, None, None, "stop"]
    prompt_tokens = usage["usage"]["prompt_tokens"]
    assert usage["choices"] == []
    assert usage["usage"] == {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": 6,
        "total_tokens": prompt_tokens + 6,
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


def test_a_forced_call_reaches_the_router_as_a_structural_tag(checkpoint: Checkpoint) -> None:
    router = Router(output(checkpoint, CALL))
    answer(checkpoint, HI | TOOLS | {"tool_choice": "required"}, router)
    tag = json.loads(router.requests[0]["sampling_options"]["guided_decoding"]["structural_tag"])
    assert [element["type"] for element in tag["format"]["elements"]] == [
        "const_string",
        "tags_with_separator",
        "const_string",
    ]


def interleaved(*choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of several choices, as an engine sends them that takes a step of each in turn."""
    steps = itertools.zip_longest(*choices)
    return [item | {"index": index} for step in steps for index, item in enumerate(step) if item]


def test_streamed_usage_counts_the_tokens_of_its_own_choice(checkpoint: Checkpoint) -> None:
    request = HI | {"stream": True, "n": 2, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
    router = Router(interleaved(output(checkpoint, "One two"), output(checkpoint, "One")))
    *chunks, whole = answer(checkpoint, request, router)
    counted = [
        (chunk["choices"][0]["index"], chunk["choices"][0]["delta"]["content"], chunk["usage"]["completion_tokens"])
        for chunk in chunks
        if "usage" in chunk
    ]
    assert counted == [(0, "One", 1), (1, "One", 1), (0, " two", 2)]
    assert whole["usage"]["completion_tokens"] == 5


def test_choices_end_in_the_order_in_which_the_engine_ended_them(checkpoint: Checkpoint) -> None:
    router = Router(interleaved(output(checkpoint, "One two"), output(checkpoint, "One", finish="length")))
    chunks = answer(checkpoint, HI | {"stream": True, "n": 2}, router)
    ends = [(choice["index"], choice["finish_reason"]) for chunk in chunks[-2:] for choice in chunk["choices"]]
    assert ends == [(1, "length"), (0, "stop")]


CALL = """<｜DSML｜tool_calls>
<｜DSML｜invoke name="f">
<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜tool_calls>"""
TOOLS = {"tools": [{"type": "function", "function": {"name": "f"}}]}


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_call_ends_with_its_own_finish_reason(checkpoint: Checkpoint, stream: bool) -> None:
    chunks = answer(checkpoint, HI | TOOLS | {"stream": stream}, Router(output(checkpoint, f"Let me see.\n\n{CALL}")))
    calls = [call for delta in deltas(chunks) for call in delta.get("tool_calls", ())]
    assert "".join(delta.get("content", "") for delta in deltas(chunks)) == "Let me see."
    assert [(call["index"], call["function"]) for call in calls] == [(0, {"name": "f", "arguments": '{"a": 1}'})]
    assert [
        choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice.get("finish_reason")
    ] == ["tool_calls"]


def carrying(**fields: Any) -> dict[str, Any]:
    """A request as Dynamo hands it on, with SGLang's own fields where the front leaves them alone."""
    return HI | {"chat_template_args": {"sglang": fields}}


@pytest.mark.parametrize(
    ("fields", "prompt"),
    [
        ({"task": "query"}, "<｜begin▁of▁sentence｜><｜User｜>Hi<｜query｜>"),
        ({"reasoning": {"enabled": True}}, "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜><think>"),
        ({"reasoning_effort": 0.5}, "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜><think>"),
    ],
)
def test_sglangs_own_fields_are_carried_in_the_template_kwargs(
    checkpoint: Checkpoint, fields: dict[str, Any], prompt: str
) -> None:
    request = carrying(**fields) | {"nvext": {"extra_fields": ["prompt"]}}
    chunks = answer(checkpoint, request, Router(output(checkpoint, "Hello")))
    assert chunks[0]["nvext"] == {"prompt": prompt}


def test_carried_fields_decide_how_the_output_is_read(checkpoint: Checkpoint) -> None:
    request = carrying(separate_reasoning=False, reasoning_effort="high", stop_token_ids=[7])
    router = Router(output(checkpoint, "so</think>Yes"))
    assert deltas(answer(checkpoint, request, router))[0]["content"] == "so</think>Yes"
    assert router.requests[0]["stop_conditions"]["stop_token_ids"] == [7]


@pytest.mark.parametrize("carried", [{"messages": []}, {"stream": True}, ["task"], 5])
def test_nothing_else_is_carried(checkpoint: Checkpoint, carried: Any) -> None:
    with pytest.raises(InvalidArgument, match="is an object of these fields: "):
        answer(checkpoint, HI | {"chat_template_args": {"sglang": carried}}, Router([]))


def with_logprobs(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    alternatives = [[{"rank": 1, "token_id": EOS, "logprob": -2.0}, {"rank": 2, "token_id": 0, "logprob": -3.0}]]
    return [item | {"log_probs": [-1.0], "top_logprobs": alternatives} for item in items]


def test_logprobs_show_every_token_and_as_many_alternatives_as_asked_for(checkpoint: Checkpoint) -> None:
    router = Router(with_logprobs(output(checkpoint, "Hello")))
    chunks = answer(checkpoint, HI | {"logprobs": True, "top_logprobs": 1}, router)
    hello, eos = chunks[0]["choices"][0]["logprobs"]["content"]
    end = {"token": "<｜end▁of▁sentence｜>", "bytes": list("<｜end▁of▁sentence｜>".encode())}
    assert hello == {
        "token": "Hello",
        "bytes": list(b"Hello"),
        "logprob": -1.0,
        "top_logprobs": [end | {"logprob": -2.0}],
    }
    assert eos == end | {"logprob": -1.0, "top_logprobs": [end | {"logprob": -2.0}]}


@pytest.mark.parametrize(
    ("fields", "text", "carriers"),
    [
        ({}, "Hello world", [{"content": "Hello"}, {"content": " world"}, {}]),
        ({"reasoning_effort": "high"}, "so</think>Yes", [{"reasoning_content": "so"}, {}, {"content": "Yes"}, {}]),
        (TOOLS, "Hello world", [{}, {}, {}]),
    ],
    ids=["on content", "on reasoning, alone where a marker is held back", "alone where tools are looked for"],
)
def test_streamed_logprobs_ride_where_sglang_puts_them(
    checkpoint: Checkpoint, fields: dict[str, Any], text: str, carriers: list[dict[str, Any]]
) -> None:
    router = Router(with_logprobs(output(checkpoint, text)))
    chunks = answer(checkpoint, HI | fields | {"stream": True, "logprobs": True}, router)
    assert deltas([chunk for chunk in chunks if chunk["choices"][0].get("logprobs")]) == carriers


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_cut_by_the_length_is_no_call(checkpoint: Checkpoint, stream: bool) -> None:
    router = Router(output(checkpoint, CALL[:60], finish="length"))
    chunks = answer(checkpoint, HI | TOOLS | {"stream": stream}, router)
    assert not [delta for delta in deltas(chunks) if delta.get("tool_calls")]
    assert [choice.get("finish_reason") for chunk in chunks for choice in chunk["choices"]][-1] == "length"


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_ends_the_answer_and_the_generation(checkpoint: Checkpoint, stream: bool) -> None:
    endless = ({"token_ids": [30594], "finish_reason": None, "index": 0} for _ in range(10**9))
    chunks = answer(checkpoint, HI | {"stop": ["你好你好"], "stream": stream}, Router(endless))
    assert "".join(delta.get("content", "") for delta in deltas(chunks)) == ""
    assert [choice.get("finish_reason") for chunk in chunks for choice in chunk["choices"]][-1] == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_the_prompt_comes_back_on_request(checkpoint: Checkpoint, stream: bool) -> None:
    request = HI | {"nvext": {"extra_fields": ["prompt_token_ids", "prompt", "other"]}, "stream": stream}
    first, *others = answer(checkpoint, request, Router(output(checkpoint, "Hello")))
    assert first["nvext"] == {
        "prompt_token_ids": HI_IDS,
        "prompt": "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜></think>",
    }
    assert not any("nvext" in chunk for chunk in others)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fields", "raised", "text"),
    [
        ({"messages": [{"role": "user", "content": 5}]}, InvalidArgument, "5 validation errors"),
        ({"tool_choice": "required"}, InvalidArgument, "Tools cannot be empty if tool choice is set to required."),
        ({"messages": [{"role": "developer", "content": ""}]}, HttpError, "HTTP 500: Internal server error: "),
        (
            {"max_tokens": 996},
            InvalidArgument,
            "Requested token count exceeds the model's maximum context length of 1000",
        ),
        ({"messages": [{"role": "user", "content": "a b c " * 999}]}, InvalidArgument, "is longer than the model's"),
        ({"top_k": 0}, InvalidArgument, "top_k must be -1 (disable) or at least 1, got 0."),
    ],
)
def test_a_refused_request_never_reaches_the_router(
    checkpoint: Checkpoint, fields: dict[str, Any], raised: type[Exception], text: str, stream: bool
) -> None:
    router = Router([])
    with pytest.raises(raised) as caught:
        answer(checkpoint, HI | fields | {"stream": stream}, router)
    assert text in str(caught.value)
    assert router.requests == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("router", "raised", "text"),
    [
        (Router([{"token_ids": [30594], "finish_reason": None}]), HttpError, "ended the stream before"),
        (Router([]), HttpError, "ended the stream before"),
        (Router([{"token_ids": [30594], "finish_reason": "cancelled"}]), HttpError, "'cancelled'"),
        (Router([], WorkerUnavailable("gone")), WorkerUnavailable, "gone"),
        (Router([], InvalidArgument("bad grammar")), InvalidArgument, "bad grammar"),
        (Router([], RuntimeError("/some/path")), HttpError, "HTTP 500: Internal"),
    ],
)
def test_a_failed_generation_is_an_error_and_no_short_answer(
    checkpoint: Checkpoint, router: Router, raised: type[Exception], text: str, stream: bool
) -> None:
    with pytest.raises(raised) as caught:
        answer(checkpoint, HI | {"stream": stream}, router)
    assert text in str(caught.value)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("leaves_after", "requests"), [(0, 0), (1, 1)], ids=["before the worker", "at the worker"])
def test_a_client_that_has_gone_is_no_error_of_the_worker(
    checkpoint: Checkpoint, stream: bool, leaves_after: int, requests: int
) -> None:
    router = Router([{"token_ids": [30594], "finish_reason": None}])
    with pytest.raises(Cancelled):
        answer(checkpoint, HI | {"stream": stream}, router, Context(leaves_after=leaves_after))
    assert len(router.requests) == requests


@pytest.mark.parametrize("stream", [False, True])
def test_an_item_that_cannot_be_read_is_a_fault_of_ours(
    checkpoint: Checkpoint, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(HttpError, match="internal error of the chat processor"):
        answer(checkpoint, HI | {"stream": stream}, Router([{"no": "token ids"}]))
    assert "KeyError: 'token_ids'" in caplog.text


def test_items_without_data_are_passed_over(checkpoint: Checkpoint) -> None:
    chunks = answer(checkpoint, HI, Router([None, *output(checkpoint, "Hello"), None]))
    assert deltas(chunks) == [{"role": "assistant", "content": "Hello"}]
