"""From the same engine output, the answer of SGLang's server, unary and streamed, as far as Dynamo carries it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_engine import Router, answer

from e2e.sequence import body_in_dynamo, of_body, of_stream, stream_in_dynamo

if TYPE_CHECKING:
    from sglang_parity.checkpoint import Checkpoint

FIXTURE = Path(__file__).parents[2] / "fixtures" / "openai_parity" / "deepseek-v4-flash-0731.json"
CASES: list[dict[str, Any]] = json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_unary(checkpoint: Checkpoint, case: dict[str, Any]) -> None:
    request = {key: value for key, value in from_dynamo(case["request"]).items() if key != "stream_options"}
    router = Router(case["engine"])
    body = of_body(folded(answer(checkpoint, request, router)))
    assert router.requests[0]["token_ids"] == case["prompt_token_ids"]
    assert body == body_in_dynamo(case["unary"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_stream(checkpoint: Checkpoint, case: dict[str, Any]) -> None:
    chunks = answer(checkpoint, {**from_dynamo(case["request"]), "stream": True}, Router(case["engine"]))
    assert of_stream(chunks) == stream_in_dynamo(case["stream"])


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
