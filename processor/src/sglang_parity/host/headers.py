"""What a response says about its prompt and its processor, and what a request says of itself, in headers."""

from __future__ import annotations

import hashlib
import struct
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from sglang_parity.render import Prompt

PROCESSOR = f"sglang-parity/{version('dynamo-sglang-parity')}"
PROCESSOR_HEADER = {"x-chat-processor": PROCESSOR}

# A client gets them by name under `nvext` too, with what is too long for a header.
PROMPT_HEADERS: dict[str, Callable[[Prompt], int | str]] = {
    "prompt_tokens": lambda prompt: len(prompt.token_ids),
    "prompt_sha256": lambda prompt: token_ids_sha256(prompt.token_ids),
}
EXTRA_FIELDS: dict[str, Callable[[Prompt], int | str | list[int]]] = {
    **PROMPT_HEADERS,
    "chat_processor": lambda _prompt: PROCESSOR,
    "prompt_token_ids": lambda prompt: prompt.token_ids,
    "prompt": lambda prompt: prompt.text,
}


def can_carry_headers(context: Any) -> bool:
    """Whether this Dynamo has the documented ``context.set_response_header``; 1.6 has not."""
    return hasattr(context, "set_response_header")


def prompt_headers(prompt: Prompt) -> dict[str, str]:
    """``x-prompt-tokens`` and ``x-prompt-sha256``; the digest of a long prompt takes milliseconds."""
    return {f"x-{name.replace('_', '-')}": str(value_of(prompt)) for name, value_of in PROMPT_HEADERS.items()}


def set_headers(context: Any, headers: dict[str, str]) -> None:
    """Sets them on the response, where it can carry headers; where it cannot, the documented method returns False."""
    if can_carry_headers(context):
        for name, value in headers.items():
            context.set_response_header(name, value)


def token_ids_sha256(token_ids: list[int]) -> str:
    """Hex digest over the ids as little-endian uint32: one value that stands for a whole prompt."""
    return hashlib.sha256(struct.pack(f"<{len(token_ids)}I", *token_ids)).hexdigest()


def request_id(context: Any) -> str:
    """How the log names a request: Dynamo's id, and the client's ``x-request-id`` where Dynamo hands it on.

    It does with ``DYN_LOGGING_JSONL=1``, which turns tracing on.
    """
    carried = context.trace_headers() if hasattr(context, "trace_headers") else None
    given = (carried or {}).get("x-request-id")
    return f"{context.id()} (x-request-id {given})" if given else str(context.id())
