"""What the engine holds an output to: a tool call that the request forces, or the shape that it asks for.

``selection`` finds the grammar of a model's tool calls, ``models`` holds one file per model.
"""

from sglang_parity.constrain.grammar import Constraint, ToolCallGrammar
from sglang_parity.constrain.output import output_constraints
from sglang_parity.constrain.selection import select_tool_call_grammar
from sglang_parity.constrain.tool_calls import tool_call_constraint

__all__ = [
    "Constraint",
    "ToolCallGrammar",
    "output_constraints",
    "select_tool_call_grammar",
    "tool_call_constraint",
]
