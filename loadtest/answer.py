"""One streamed chat completion: its timings, or why it failed."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sse import EventParser

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOKEN_CHANNELS = ("content", "reasoning_content", "tool_calls")
_FAILED_FINISHES = frozenset({"abort", "error"})
_REQUEST_ID = re.compile(r"[0-9a-f-]{16,}")


class RequestError(Exception):
    """Why a request counts as failed. The same kind of failure has the same text, so that Locust groups them."""

    def __init__(self, status: int | None, cause: str) -> None:
        super().__init__(f"{status or 'no response'}: {cause}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a complete answer measured; times in seconds.

    Attributes:
        ttft: from sending the request to the first token of any channel. The opening chunk, a role alone, has none.
        itl: the mean time between tokens, from the first token to the chunk with the finish reason, which comes with
            the last token. Counted in tokens, not in chunks: a parsed tool call is many tokens in one chunk. None where
            there is one token only.
        e2e: from sending the request to ``[DONE]``.
        output_tokens: as the server's usage counts them.
    """

    ttft: float
    itl: float | None
    e2e: float
    output_tokens: int


def read_answer(chunks: Iterable[bytes], sent: float) -> Answer:
    """Read the body of a 200 answer to its end.

    Args:
        chunks: pieces of the body, each given out as it arrives.
        sent: when the request was sent, on ``time.perf_counter``'s clock.

    Raises:
        RequestError: the body carries an error, or is not a complete answer.
    """
    parser = EventParser()
    first_token = finish = done = output_tokens = None
    for chunk in chunks:
        now = time.perf_counter()
        for event in parser.feed(chunk):
            if event.data == "[DONE]":
                done = now
                continue
            body = _json_object(event.data)
            if event.name == "error" or body.get("error"):
                raise RequestError(200, f"error event: {error_cause(event.data)}")
            if event.data and not body:
                raise RequestError(200, "event is not a JSON object")
            for choice in body.get("choices") or ():
                delta = choice.get("delta") or {}
                if first_token is None and any(delta.get(channel) for channel in _TOKEN_CHANNELS):
                    first_token = now
                if reason := choice.get("finish_reason"):
                    if reason in _FAILED_FINISHES:
                        raise RequestError(200, f"finish_reason {reason}")
                    finish = now
            if usage := body.get("usage"):
                output_tokens = usage.get("completion_tokens")

    if done is None:
        raise RequestError(200, "stream ended without [DONE]")
    if finish is None:
        raise RequestError(200, "stream ended without finish_reason")
    if first_token is None:
        raise RequestError(200, "no token")
    if not output_tokens:
        raise RequestError(200, "no usage")
    return Answer(
        ttft=first_token - sent,
        itl=(finish - first_token) / (output_tokens - 1) if output_tokens > 1 else None,
        e2e=done - sent,
        output_tokens=output_tokens,
    )


def error_cause(body: str) -> str:
    """The message of an error body, short and without request ids."""
    error = _json_object(body)
    nested = error.get("error")
    message = nested.get("message") if isinstance(nested, dict) else nested
    text = str(message or error.get("message") or body or "no message")
    return _REQUEST_ID.sub("…", " ".join(text.split()))[:100]


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
