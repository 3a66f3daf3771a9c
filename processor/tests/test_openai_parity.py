"""From the same engine output, the answer of SGLang's server, unary and streamed, as far as Dynamo carries it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_engine import Router, answer

from stand.sequence import body_in_dynamo, of_body, of_stream, stream_in_dynamo

if TYPE_CHECKING:
    from sglang_parity.checkpoint import Checkpoint

FIXTURE = Path(__file__).parents[2] / "fixtures" / "openai_parity" / "deepseek-v4-flash-0731.json"
CASES: list[dict[str, Any]] = json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_unary(checkpoint: Checkpoint, case: dict[str, Any], size: int) -> None:
    request = {key: value for key, value in from_dynamo(case["request"]).items() if key != "stream_options"}
    router = Router(in_steps(case["engine"], size))
    body = of_body(folded(answer(checkpoint, request, router)))
    assert router.requests[0]["token_ids"] == case["prompt_token_ids"]
    assert body == body_in_dynamo(case["unary"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_stream(checkpoint: Checkpoint, case: dict[str, Any]) -> None:
    chunks = answer(checkpoint, {**from_dynamo(case["request"]), "stream": True}, Router(case["engine"]))
    assert of_stream(chunks) == stream_in_dynamo(case["stream"])


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_stream_in_steps_of_several_tokens(checkpoint: Checkpoint, case: dict[str, Any], size: int) -> None:
    """What is joined does not depend on how many tokens the engine hands on at once."""
    assert streamed_in_steps(checkpoint, case, size) == without_usage_on_the_way(stream_in_dynamo(case["stream"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_stream_that_the_event_loop_does_not_keep_up_with(checkpoint: Checkpoint, case: dict[str, Any]) -> None:
    """What is joined does not depend on which tokens go out together."""
    request = {**from_dynamo(case["request"]), "stream": True}
    chunks = answer(checkpoint, request, Router(case["engine"]), chunk_seconds=60)
    expected = without_usage_on_the_way(stream_in_dynamo(case["stream"]))
    assert without_usage_on_the_way(of_stream(chunks)) == expected


@pytest.mark.parametrize("size", range(1, 9))
def test_t02_the_same_split_in_steps_of_any_size(checkpoint: Checkpoint, size: int) -> None:
    (case,) = (case for case in CASES if case["name"].startswith("T02"))
    assert streamed_in_steps(checkpoint, case, size) == without_usage_on_the_way(stream_in_dynamo(case["stream"]))


def streamed_in_steps(checkpoint: Checkpoint, case: dict[str, Any], size: int) -> dict[str, Any]:
    request = {**from_dynamo(case["request"]), "stream": True}
    return without_usage_on_the_way(of_stream(answer(checkpoint, request, Router(in_steps(case["engine"], size)))))


def in_steps(items: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """The items of an engine that hands on so many tokens of a choice at once."""
    choices: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for item in items:
        choices[item["index"]].append(item)
    return [
        merged(of_choice[start : start + size])
        for start in range(0, len(items), size)
        for of_choice in choices.values()
        if of_choice[start:]
    ]


def merged(items: list[dict[str, Any]]) -> dict[str, Any]:
    lists = {key for key, value in items[0].items() if isinstance(value, list)}
    return {**items[-1], **{key: [entry for item in items for entry in item[key]] for key in lists}}


def without_usage_on_the_way(stream: dict[str, Any]) -> dict[str, Any]:
    """Without the usage of a choice's last chunk: it counts the tokens of that chunk's step, the end among them."""
    return {**stream, "choices": [{k: v for k, v in choice.items() if k != "usage"} for choice in stream["choices"]]}


def from_dynamo(request: dict[str, Any]) -> dict[str, Any]:
    """The request as Dynamo's front hands it over."""
    renamed = {"chat_template_kwargs": "chat_template_args"}
    return {renamed.get(key, key): value for key, value in request.items()}


def folded(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The body that Dynamo's front makes of the chunks of a whole answer."""
    *choices, usage = chunks
    messages = []
    for chunk in choices:
        (choice,) = chunk["choices"]
        messages.append({"message": choice.pop("delta"), **choice})
    return {**usage, "object": "chat.completion", "choices": messages}
