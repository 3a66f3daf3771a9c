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


def set_processor_header(context: Any) -> None:
    """Sets ``x-chat-processor`` on the response, where it can carry headers.

    The documented ``context.set_response_header`` returns False where a response cannot; Dynamo 1.6 has no such method.
    """
    if hasattr(context, "set_response_header"):
        context.set_response_header("x-chat-processor", PROCESSOR)


def set_prompt_headers(context: Any, prompt: Prompt) -> None:
    """Sets ``x-prompt-tokens`` and ``x-prompt-sha256`` on the response, where it can carry headers."""
    if hasattr(context, "set_response_header"):
        for name, value_of in PROMPT_HEADERS.items():
            context.set_response_header(f"x-{name.replace('_', '-')}", str(value_of(prompt)))


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
