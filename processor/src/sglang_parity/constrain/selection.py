"""Which model's grammar tool calls are held to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sglang_parity.constrain.models.deepseek_v4 import DsmlToolCalls

if TYPE_CHECKING:
    from sglang_parity.constrain.grammar import ToolCallGrammar


def select_tool_call_grammar(tool_call_parser: str | None, reasoning_parser: str | None) -> ToolCallGrammar | None:
    """The grammar behind the parser names that a worker published; None without a tool call parser.

    Raises:
        ValueError: the tool call parser is not known.
    """
    match tool_call_parser:
        case None:
            return None
        case "deepseekv4":
            return DsmlToolCalls(reasoning_is_parsed=reasoning_parser is not None)
        case _:
            raise ValueError(f"no grammar for the tool call parser {tool_call_parser!r}")
