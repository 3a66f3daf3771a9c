"""What the engine holds an output to: a tool call that the request forces, or the shape that it asks for."""

from sglang_parity.constrain.grammar import Constraint, ToolCallGrammar
from sglang_parity.constrain.output import output_constraints
from sglang_parity.constrain.tool_calls import tool_call_constraint

__all__ = ["Constraint", "ToolCallGrammar", "output_constraints", "tool_call_constraint"]
