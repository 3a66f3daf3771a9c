"""Which encoder renders a checkpoint's prompts: the only place, beside ``models``, that knows models by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sglang_parity.render.models.deepseek_v4 import DeepseekV4

if TYPE_CHECKING:
    from sglang_parity.checkpoint import Checkpoint
    from sglang_parity.render.encoder import Encoder
    from sglang_parity.tokenize import PromptTokenizer

_SPEC_BY_TOOL_CALL_PARSER = {
    "deepseekv41": "dsv41",
    "deepseekv4": "dsv4",
    "deepseekv32": "dsv32",
    "kimi_k3": "kimi_k3",
}


class UnsupportedModelError(ValueError):
    """A checkpoint whose prompts are rendered by something else than an encoder that is here."""


@dataclass(frozen=True, slots=True)
class ChatModel:
    """What rendering needs of a checkpoint.

    Attributes:
        encoder: renders a request as text.
        tokenize: turns that text into ids.
        bos_token_id: id of the beginning-of-sentence token, or None where the tokenizer has none.
    """

    encoder: Encoder
    tokenize: PromptTokenizer
    bos_token_id: int | None


def load_model(
    checkpoint: Checkpoint, *, tool_call_parser: str | None = None, effort_profile: str | None = None
) -> ChatModel:
    """Picks the encoder of a checkpoint, once, at start-up.

    Args:
        checkpoint: the checkpoint that is served.
        tool_call_parser: the worker's ``--tool-call-parser``; SGLang lets it decide before the architecture does.
        effort_profile: which reasoning-effort texts the checkpoint was trained with, where that is known.

    Raises:
        UnsupportedModelError: no encoder here renders this model.
        ValueError: the effort profile does not exist.
    """
    match encoding_spec(checkpoint, tool_call_parser):
        case "dsv4":
            encoder = DeepseekV4.for_checkpoint(checkpoint, effort_profile=effort_profile)
        case spec:
            raise UnsupportedModelError(
                f"no encoder for architectures {checkpoint.config.get('architectures')}, "
                f"model_type {checkpoint.config.get('model_type')!r}, tool-call parser {tool_call_parser!r}: "
                f"SGLang renders it with {'its chat template' if spec is None else repr(spec)}, "
                "and only 'dsv4' is supported"
            )
    return ChatModel(encoder=encoder, tokenize=checkpoint.tokenize, bos_token_id=checkpoint.bos_token_id)


def encoding_spec(checkpoint: Checkpoint, tool_call_parser: str | None) -> str | None:
    """SGLang's name of the encoder, None for the chat template (``chat_encoding.py::resolve_chat_encoding_spec``).

    The last rule is ours: a configuration that names an encoder's effort profile, and that nothing before it claims, is
    meant for that encoder. SGLang needs its tool-call parser named for such a checkpoint.
    """
    if tool_call_parser in _SPEC_BY_TOOL_CALL_PARSER:
        return _SPEC_BY_TOOL_CALL_PARSER[tool_call_parser]
    architecture = (checkpoint.config.get("architectures") or [""])[0]
    if checkpoint.config.get("model_type") == "deepseek_v41" or "DeepseekV41" in architecture:
        return "dsv41"  # first: these configs can also name the V4 architecture
    if "DeepseekV4" in architecture:
        return "dsv4"
    if "KimiK3" in architecture:
        return "kimi_k3"
    if "InklingForConditionalGeneration" in architecture:
        return "inkling"
    if "DeepseekV3" in architecture and not checkpoint.has_chat_template:
        return "dsv32"
    if "dsv4_reasoning_effort_profile" in checkpoint.config and not checkpoint.has_chat_template:
        return "dsv4"
    return None
