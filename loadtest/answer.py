"""One chat completion: its timings, or why it failed."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson

from stand.sse import EventParser

if TYPE_CHECKING:
    from collections.abc import Iterable

BODY_KEPT = 2000  # characters of a failing body

_TOKEN_CHANNELS = ("content", "reasoning_content", "tool_calls")
_FAILED_FINISHES = frozenset({"abort", "error"})
_REQUEST_ID = re.compile(r"[0-9a-f-]{16,}")


class RequestError(Exception):
    """Why a request counts as failed.

    Attributes:
        status: of the response; None where there was none.
        cause: the same for the same kind of failure, so that failures can be counted by it.
        body: what was received, cut short.
    """

    def __init__(self, status: int | None, cause: str, body: str | None = None) -> None:
        super().__init__(f"{status or 'no response'}: {cause}")
        self.status = status
        self.cause = cause
        self.body = body


@dataclass(frozen=True, slots=True)
class Answer:
    """What a complete answer measured; times in seconds. A unary one has only ``e2e`` and the counts.

    Attributes:
        ttft: from sending the request to the first token of any channel. The opening chunk, a role alone, has none.
        ttst: from the first chunk with tokens to the second.
        tpot: time per output token after the first: from the first token to the chunk with the finish reason, which
            comes with the last token, over the tokens in between. Counted in tokens, not in chunks: a parsed tool call
            is many tokens in one chunk. None where there is one token only.
        e2e: from sending the request to ``[DONE]``, or to the end of a unary body.
        itl: the times between chunks with tokens, one after another.
        prompt_tokens, output_tokens: as the server's usage counts them.
    """

    ttft: float | None
    ttst: float | None
    tpot: float | None
    e2e: float
    itl: tuple[float, ...]
    prompt_tokens: int
    output_tokens: int


def read_stream(chunks: Iterable[bytes], sent: float) -> Answer:
    """Read the body of a 200 answer that streams to its end.

    Args:
        chunks: pieces of the body, each given out as it arrives.
        sent: when the request was sent, on ``time.perf_counter``'s clock.

    Raises:
        RequestError: the body carries an error, or is not a complete answer.
    """
    parser = EventParser()
    tail = b""
    tokens_at: list[float] = []
    finish = done = usage = None

    def failed(cause: str) -> RequestError:
        return RequestError(200, cause, tail.decode("utf-8", "replace")[-BODY_KEPT:])

    for chunk in chunks:
        now = time.perf_counter()
        tail = tail[-BODY_KEPT:] + chunk
        for event in parser.feed(chunk):
            if event.data == "[DONE]":
                done = now
                continue
            body = _json_object(event.data)
            if event.name == "error" or body.get("error"):
                raise failed(f"error event: {error_cause(event.data)}")
            if event.data and not body:
                raise failed("event is not a JSON object")
            for choice in body.get("choices") or ():
                delta = choice.get("delta") or {}
                if any(delta.get(channel) for channel in _TOKEN_CHANNELS):
                    tokens_at.append(now)
                if reason := choice.get("finish_reason"):
                    if reason in _FAILED_FINISHES:
                        raise failed(f"finish_reason {reason}")
                    finish = now
            usage = body.get("usage") or usage

    if done is None:
        raise failed("stream ended without [DONE]")
    if finish is None:
        raise failed("stream ended without finish_reason")
    if not tokens_at:
        raise failed("no token")
    prompt_tokens, output_tokens = _counts(usage)
    if not output_tokens:
        raise failed("no usage")
    itl = tuple(later - earlier for earlier, later in pairwise(tokens_at))
    return Answer(
        ttft=tokens_at[0] - sent,
        ttst=itl[0] if itl else None,
        tpot=(finish - tokens_at[0]) / (output_tokens - 1) if output_tokens > 1 else None,
        e2e=done - sent,
        itl=itl,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
    )


def read_whole(text: str, e2e: float) -> Answer:
    """Read the body of a unary 200 answer, which took ``e2e`` seconds.

    Raises:
        RequestError: the body carries an error, or is not a complete answer.
    """

    def failed(cause: str) -> RequestError:
        return RequestError(200, cause, text[:BODY_KEPT])

    body = _json_object(text)
    if not body:
        raise failed("body is not a JSON object")
    if body.get("error"):
        raise failed(f"error body: {error_cause(text)}")
    for choice in body.get("choices") or ():
        reason = choice.get("finish_reason")
        if reason in _FAILED_FINISHES or not reason:
            raise failed(f"finish_reason {reason}")
        if not any((choice.get("message") or {}).get(channel) for channel in _TOKEN_CHANNELS):
            raise failed("no token")
    if not body.get("choices"):
        raise failed("no choice")
    prompt_tokens, output_tokens = _counts(body.get("usage"))
    if not output_tokens:
        raise failed("no usage")
    return Answer(None, None, None, e2e, (), prompt_tokens, output_tokens)


def error_cause(body: str) -> str:
    """The message of an error body, short and without request ids."""
    error = _json_object(body)
    nested = error.get("error")
    message = nested.get("message") if isinstance(nested, dict) else nested
    text = str(message or error.get("message") or body or "no message")
    return _REQUEST_ID.sub("…", " ".join(text.split()))[:100]


def _counts(usage: dict[str, Any] | None) -> tuple[int, int]:
    """Prompt and output tokens; 0 where usage lacks them."""
    usage = usage or {}
    return int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
