"""Serves SGLang's chat API from a Dynamo frontend: the same prompt, the same ids, the same answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sglang_parity.checkpoint import Checkpoint
from sglang_parity.render import ChatModel, Prompt, load_model, render
from sglang_parity.request import read_request, refuse_conflicting_constraints

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Prompt", "render_request"]


def render_request(
    body: object,
    checkpoint: str | Path | Checkpoint | ChatModel,
    default_chat_template_kwargs: Mapping[str, Any] | None = None,
) -> Prompt:
    """Renders a chat request body as SGLang's Python server would.

    Args:
        body: the request body, parsed from JSON.
        checkpoint: a checkpoint directory; or, because loading takes a second, one that is loaded already, or what
            ``load_model`` made of it.
        default_chat_template_kwargs: the server's ``--default-chat-template-kwargs``.

    Returns:
        The prompt's text and token ids.

    Raises:
        RequestError: SGLang refuses the request; status, kind and message are SGLang's.
        UnsupportedModelError: no encoder here renders this checkpoint's prompts.
        FileNotFoundError: the directory lacks ``config.json`` or ``tokenizer.json``.
    """
    if isinstance(checkpoint, (str, Path)):
        checkpoint = Checkpoint.load(Path(checkpoint))
    model = load_model(checkpoint) if isinstance(checkpoint, Checkpoint) else checkpoint
    request = read_request(body, default_chat_template_kwargs=default_chat_template_kwargs)
    prompt = render(request, model)
    refuse_conflicting_constraints(request)
    return prompt
