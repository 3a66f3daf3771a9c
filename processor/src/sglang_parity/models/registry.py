"""The families, and which of them a checkpoint and a worker's parsers belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sglang_parity.models import deepseek_v4
from sglang_parity.parse.format import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sglang_parity.checkpoint import Checkpoint
    from sglang_parity.constrain import ToolCallGrammar
    from sglang_parity.models.family import Family
    from sglang_parity.render.encoder import Encoder

FAMILIES: tuple[Family, ...] = (deepseek_v4.FAMILY,)

# Encoders that SGLang picks by the tool-call parser and that no family here has, so that they are refused by name.
_ENCODINGS_ELSEWHERE = {"deepseekv41": "dsv41", "deepseekv32": "dsv32", "kimi_k3": "kimi_k3"}


class UnsupportedModelError(ValueError):
    """A checkpoint whose prompts are rendered by an encoder that is not here."""


@dataclass(frozen=True, slots=True)
class ChatModel:
    """All that preparing a request takes of the model and its server.

    Attributes:
        encoder: renders a request as text.
        output_format: how outputs are written.
        tool_call_grammar: what tool calls are held to; None where the worker runs without a tool-call parser.
        context_length: the server's, in tokens; None where it is not known.
        default_chat_template_kwargs: SGLang's ``--default-chat-template-kwargs``.
    """

    checkpoint: Checkpoint
    encoder: Encoder
    output_format: OutputFormat
    tool_call_grammar: ToolCallGrammar | None
    context_length: int | None
    default_chat_template_kwargs: Mapping[str, Any] | None


def load_model(
    checkpoint: Checkpoint,
    *,
    tool_call_parser: str | None = None,
    reasoning_parser: str | None = None,
    effort_profile: str | None = None,
    context_length: int | None = None,
    default_chat_template_kwargs: Mapping[str, Any] | None = None,
) -> ChatModel:
    """Puts together what serves a checkpoint, once, at start-up.

    Args:
        checkpoint: the checkpoint that is served.
        tool_call_parser: the worker's ``--tool-call-parser``; SGLang lets it decide the encoder before the
            architecture does.
        reasoning_parser: the worker's ``--reasoning-parser``.
        effort_profile: which reasoning-effort texts the checkpoint was trained with, where that is known.
        context_length: the server's ``--context-length``, where one is set.
        default_chat_template_kwargs: the server's ``--default-chat-template-kwargs``.

    Raises:
        UnsupportedModelError: no family renders this checkpoint.
        ValueError: no family has a parser of this name, or the effort profile does not exist.
    """
    output_format = select_output_format(reasoning_parser, tool_call_parser)
    return ChatModel(
        checkpoint,
        load_encoder(checkpoint, tool_call_parser=tool_call_parser, effort_profile=effort_profile),
        output_format,
        _tool_call_grammar(tool_call_parser, reasoning_parser),
        context_length,
        default_chat_template_kwargs,
    )


def select_output_format(reasoning_parser: str | None, tool_call_parser: str | None) -> OutputFormat:
    """The formats behind the parser names that a worker published; SGLang reads the first in any letter case.

    Raises:
        ValueError: no family has a parser of this name.
    """
    reasoning = {family.reasoning_parser: family.reasoning for family in FAMILIES}
    if reasoning_parser is not None and reasoning_parser.lower() not in reasoning:
        raise ValueError(f"unknown reasoning parser {reasoning_parser!r}, known: {', '.join(reasoning)}")
    tool_calls = {family.tool_call_parser: family.tool_calls for family in FAMILIES}
    if tool_call_parser is not None and tool_call_parser not in tool_calls:
        raise ValueError(f"unknown tool call parser {tool_call_parser!r}, known: {', '.join(tool_calls)}")
    return OutputFormat(
        None if reasoning_parser is None else reasoning[reasoning_parser.lower()],
        None if tool_call_parser is None else tool_calls[tool_call_parser],
    )


def _tool_call_grammar(tool_call_parser: str | None, reasoning_parser: str | None) -> ToolCallGrammar | None:
    grammars = {family.tool_call_parser: family.tool_call_grammar for family in FAMILIES}
    return None if tool_call_parser is None else grammars[tool_call_parser](reasoning_parser is not None)


def load_encoder(
    checkpoint: Checkpoint, *, tool_call_parser: str | None = None, effort_profile: str | None = None
) -> Encoder:
    """The encoder of a checkpoint's prompts.

    Raises:
        UnsupportedModelError: no family renders this checkpoint.
        ValueError: the effort profile does not exist.
    """
    encoding = encoding_spec(checkpoint, tool_call_parser)
    for family in FAMILIES:
        if family.encoding == encoding:
            return family.load_encoder(checkpoint, effort_profile)
    raise UnsupportedModelError(
        f"no encoder for architectures {checkpoint.config.get('architectures')}, "
        f"model_type {checkpoint.config.get('model_type')!r}, tool-call parser {tool_call_parser!r}: "
        f"SGLang renders it with {'its chat template' if encoding is None else repr(encoding)}, "
        f"and only {', '.join(repr(family.encoding) for family in FAMILIES)} is supported"
    )


def encoding_spec(checkpoint: Checkpoint, tool_call_parser: str | None) -> str | None:
    """SGLang's name of the encoder, None for the chat template (``chat_encoding.py::resolve_chat_encoding_spec``).

    The last rule is ours: a configuration that names an encoder's effort profile, and that nothing before it claims, is
    meant for that encoder. SGLang needs its tool-call parser named for such a checkpoint.
    """
    by_parser = _ENCODINGS_ELSEWHERE | {family.tool_call_parser: family.encoding for family in FAMILIES}
    if tool_call_parser in by_parser:
        return by_parser[tool_call_parser]
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
