"""Messages → prompt text → token ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sglang_parity.errors import RequestError

if TYPE_CHECKING:
    from sglang_parity.checkpoint import Checkpoint
    from sglang_parity.render.encoder import Encoder
    from sglang_parity.request import ChatRequest

__all__ = ["Prompt", "render"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the engine is given.

    Attributes:
        text: the prompt, with the continued turn where there is one. Empty where the client sent ``input_ids``.
        token_ids: its token ids.
    """

    text: str
    token_ids: list[int]


def render(request: ChatRequest, encoder: Encoder, checkpoint: Checkpoint) -> Prompt:
    """Renders and tokenizes a request as ``serving_chat.py::_apply_jinja_template`` does.

    A turn to be continued is tokenized apart from what stands before it, so no token spans the seam, and loses a
    leading BOS (``serving_chat.py::_append_assistant_prefix_to_prompt_ids``).

    Raises:
        RequestError: SGLang fails on these messages. Status 400, kind ``BadRequest``, or status 500, kind
            ``InternalServerError``.
    """
    if request.input_ids is not None:
        return Prompt(text="", token_ids=request.input_ids)

    try:
        segments = encoder.encode(request)
    except RecursionError as error:  # JSON nested hundreds deep; SGLang gives up where it copies the messages
        text = "Internal server error: maximum recursion depth exceeded while calling a Python object"
        raise RequestError(text, status=500, kind="InternalServerError") from error
    token_ids = checkpoint.tokenize(segments.prompt)
    if segments.continuation:
        continued = checkpoint.tokenize(segments.continuation)
        token_ids += continued[1:] if continued[:1] == [checkpoint.bos_token_id] else continued
    return Prompt(text=segments.prompt + segments.continuation, token_ids=token_ids)
