"""Response headers, against a strict stand-in of the documented ``context.set_response_header``."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from sglang_parity.engine import ChatEngine
from sglang_parity.host.headers import request_id
from sglang_parity.steps import Pace
from test_engine import HI, Router, output, served_model
from test_engine import Context as Dynamo16Context

if TYPE_CHECKING:
    from sglang_parity.checkpoint import Checkpoint

PROCESSOR = {"x-chat-processor": "sglang-parity/0.1.0"}
PROMPT = {
    "x-prompt-tokens": "5",
    "x-prompt-sha256": "95aeed952d0173ec8849b13faec66eb61ec4412cd9c41dae0c405257559365a6",
}
OWNED = {"content-type", "content-length", "content-encoding", "x-request-id", "connection", "transfer-encoding"}


@dataclass
class Context:
    """A request's context that holds to the letter of the contract.

    Attributes:
        carries: whether this response can carry headers: not a stream without the pre-commit peek, and not an answer of
            ``/v1/responses`` or ``/v1/messages``.
        headers: what has been set.
        started: whether the answer has begun.
        late: calls that came when it had.
    """

    carries: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    started: bool = False
    late: list[str] = field(default_factory=list)

    def id(self) -> str:
        return "request-1"

    def is_stopped(self) -> bool:
        return False

    def set_response_header(self, name: str, value: str) -> bool:
        if self.started:
            self.late.append(name)
        if self.started or not self.carries:
            return False
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9a-z-]+", name) or not re.fullmatch(r"[\x20-\x7e]*", value):
            raise ValueError(f"{name}: {value} is no header")
        if name in OWNED:
            raise ValueError(f"{name} is the HTTP layer's")
        self.headers[name] = value
        return True


def answer(checkpoint: Checkpoint, request: dict[str, Any], context: Any) -> list[dict[str, Any]]:
    """All chunks of one request; the context knows when the first has been sent."""

    async def collect() -> list[dict[str, Any]]:
        chunks = []
        with ThreadPoolExecutor(1) as pool:
            engine = ChatEngine(served_model(checkpoint.path), Router(output(checkpoint, "Hello")), pool, Pace(0))
            async for chunk in engine.generate(request, context):
                context.started = True
                chunks.append(chunk)
        return chunks

    return asyncio.run(collect())


@pytest.mark.parametrize("stream", [False, True])
def test_prompt_and_processor_are_set_before_the_answer_begins(checkpoint: Checkpoint, stream: bool) -> None:
    context = Context()
    assert answer(checkpoint, HI | {"stream": stream}, context)
    assert context.headers == PROCESSOR | PROMPT
    assert context.late == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({"messages": []}, PROCESSOR),
        ({"messages": [{"role": "developer", "content": ""}]}, PROCESSOR),
        ({"top_k": 0}, PROCESSOR | PROMPT),
        ({"max_tokens": 996}, PROCESSOR | PROMPT),
    ],
    ids=["before there is a prompt", "while it is rendered", "for its sampling", "for its length"],
)
def test_what_is_known_is_set_before_a_request_is_refused(
    checkpoint: Checkpoint, fields: dict[str, Any], headers: dict[str, str], stream: bool
) -> None:
    context = Context()
    with pytest.raises(Exception, match=r"\w"):
        answer(checkpoint, HI | fields | {"stream": stream}, context)
    assert context.headers == headers


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_that_carries_no_headers_is_the_same_answer(checkpoint: Checkpoint, stream: bool) -> None:
    def text_of(context: Any) -> list[Any]:
        return [chunk["choices"] for chunk in answer(checkpoint, HI | {"stream": stream}, context)]

    cannot = Context(carries=False)
    assert text_of(cannot) == text_of(Context()) == text_of(Dynamo16Context())
    assert cannot.headers == {}


def test_the_same_is_told_under_nvext_on_request(checkpoint: Checkpoint) -> None:
    names = ["prompt_tokens", "prompt_sha256", "chat_processor"]
    first = answer(checkpoint, HI | {"nvext": {"extra_fields": names}}, Dynamo16Context())[0]
    assert {f"x-{name.replace('_', '-')}": str(value) for name, value in first["nvext"].items()} == PROCESSOR | PROMPT


@pytest.mark.parametrize(
    ("carried", "name"),
    [
        (None, "request-1"),
        ({}, "request-1"),
        ({"traceparent": "00-1"}, "request-1"),
        ({"x-request-id": "given"}, "request-1 (x-request-id given)"),
    ],
)
def test_the_log_names_a_request_by_what_dynamo_hands_on(carried: dict[str, str] | None, name: str) -> None:
    class Traced(Context):
        def trace_headers(self) -> dict[str, str] | None:
            return carried

    assert request_id(Traced()) == name
