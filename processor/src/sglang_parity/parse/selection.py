"""Which model's format an output is written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sglang_parity.parse.models import deepseek_v4

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from sglang_parity.parse.format import ReasoningFormat, ToolCallFormat

_REASONING_FORMATS: dict[str, ReasoningFormat] = {"deepseek-v4": deepseek_v4.ReasoningBlock()}
_TOOL_CALL_FORMATS: dict[str, ToolCallFormat] = {"deepseekv4": deepseek_v4.DsmlToolCalls()}


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """The formats of one worker's outputs; None for a parser that the worker runs without."""

    reasoning: ReasoningFormat | None
    tools: ToolCallFormat | None

    @property
    def has_parser(self) -> bool:
        return self.reasoning is not None or self.tools is not None

    def reasoning_end_id(self, tokenizer: Tokenizer) -> int | None:
        """The id of the token that ends reasoning, or None without a reasoning format.

        Raises:
            ValueError: the tokenizer has no such token.
        """
        if self.reasoning is None:
            return None
        token_id: int | None = tokenizer.token_to_id(self.reasoning.end_marker)
        if token_id is None:
            raise ValueError(f"the tokenizer has no token {self.reasoning.end_marker}")
        return token_id


def select_output_format(reasoning_parser: str | None, tool_call_parser: str | None) -> OutputFormat:
    """The formats behind the parser names that a worker published; SGLang reads the first in any letter case.

    Raises:
        ValueError: a name is not known.
    """
    reasoning = None if reasoning_parser is None else _REASONING_FORMATS.get(reasoning_parser.lower())
    if reasoning_parser is not None and reasoning is None:
        raise ValueError(f"unknown reasoning parser {reasoning_parser!r}, known: {', '.join(_REASONING_FORMATS)}")
    tools = None if tool_call_parser is None else _TOOL_CALL_FORMATS.get(tool_call_parser)
    if tool_call_parser is not None and tools is None:
        raise ValueError(f"unknown tool call parser {tool_call_parser!r}, known: {', '.join(_TOOL_CALL_FORMATS)}")
    return OutputFormat(reasoning, tools)
