"""What a model family supplies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sglang_parity.checkpoint import Checkpoint
    from sglang_parity.constrain import ToolCallGrammar
    from sglang_parity.parse.format import ReasoningFormat, ToolCallFormat
    from sglang_parity.render.encoder import Encoder


@dataclass(frozen=True, slots=True)
class Family:
    """A model family, under the names that SGLang has for its parts.

    Attributes:
        encoding: SGLang's name of the encoder (``chat_encoding.py``).
        load_encoder: makes the encoder of a checkpoint, once, at start-up. Takes the checkpoint and the effort profile
            that was asked for, if any; raises ValueError where that profile does not exist.
        reasoning_parser: SGLang's ``--reasoning-parser``, in lower case.
        reasoning: how the family marks its reasoning.
        tool_call_parser: SGLang's ``--tool-call-parser``.
        tool_calls: how the family writes tool calls.
        tool_call_grammar: makes the grammar of its tool calls. Takes whether reasoning is parsed.
    """

    encoding: str
    load_encoder: Callable[[Checkpoint, str | None], Encoder]
    reasoning_parser: str
    reasoning: ReasoningFormat
    tool_call_parser: str
    tool_calls: ToolCallFormat
    tool_call_grammar: Callable[[bool], ToolCallGrammar]
