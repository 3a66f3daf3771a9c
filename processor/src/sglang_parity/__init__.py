"""Serves SGLang's chat API from a Dynamo frontend: the same prompt, the same ids, the same answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sglang_parity.checkpoint import Checkpoint
from sglang_parity.models import load_model
from sglang_parity.prepare import prepare
from sglang_parity.render import Prompt

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Prompt", "render_request"]


def render_request(
    body: object,
    checkpoint: str | Path | Checkpoint,
    default_chat_template_kwargs: Mapping[str, Any] | None = None,
    *,
    tool_call_parser: str | None = None,
    reasoning_parser: str | None = None,
) -> Prompt:
    """Renders a chat request body as SGLang's Python server would.

    Args:
        body: the request body, parsed from JSON.
        checkpoint: a checkpoint directory; or, because loading takes a second, one that is loaded already.
        default_chat_template_kwargs: the server's ``--default-chat-template-kwargs``.
        tool_call_parser: the server's ``--tool-call-parser``. It decides how forced tool calls are written, and SGLang
            lets it decide the encoder.
        reasoning_parser: the server's ``--reasoning-parser``.

    Returns:
        The prompt's text and token ids.

    Raises:
        RequestError: SGLang refuses the request; status, kind and message are SGLang's.
        UnsupportedModelError: no encoder here renders this checkpoint's prompts.
        ValueError: there is no parser of this name.
        FileNotFoundError: the directory lacks ``config.json`` or ``tokenizer.json``.
    """
    loaded = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint.load(Path(checkpoint))
    model = load_model(
        loaded,
        tool_call_parser=tool_call_parser,
        reasoning_parser=reasoning_parser,
        default_chat_template_kwargs=default_chat_template_kwargs,
    )
    return prepare(body, model).prompt
