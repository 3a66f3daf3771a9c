"""Response headers that say what was rendered, where the installed Dynamo can carry them."""

from __future__ import annotations

import hashlib
import struct
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sglang_parity.render import Prompt

PROCESSOR = f"sglang-parity/{version('dynamo-sglang-parity')}"


def set_prompt_headers(context: Any, prompt: Prompt) -> None:
    """Sets ``x-prompt-tokens``, ``x-prompt-sha256`` and ``x-chat-processor`` on the response.

    Does nothing where the context has no ``set_response_header``; the documented one itself returns False where the
    response can carry no header.
    """
    set_header = getattr(context, "set_response_header", None)
    if set_header is not None:
        set_header("x-prompt-tokens", str(len(prompt.token_ids)))
        set_header("x-prompt-sha256", token_ids_sha256(prompt.token_ids))
        set_header("x-chat-processor", PROCESSOR)


def token_ids_sha256(token_ids: list[int]) -> str:
    """Hex digest over the ids as little-endian uint32: one value that stands for a whole prompt."""
    return hashlib.sha256(struct.pack(f"<{len(token_ids)}I", *token_ids)).hexdigest()
