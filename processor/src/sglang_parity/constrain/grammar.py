"""What a constraint is, and what a model's tool calls must offer to be held to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sglang_parity.request.body import Function
    from sglang_parity.request.structural_tag import Format


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint on the whole output, or on what follows the reasoning.

    Attributes:
        kind: SGLang's sampling parameter for it.
        value: a JSON schema as an object, anything else as text; a structural tag is the JSON text of one.
    """

    kind: Literal["json_schema", "structural_tag", "regex", "ebnf"]
    value: dict[str, Any] | str


class ToolCallGrammar(Protocol):
    """How a model writes tool calls, as xgrammar takes it. Arguments are held to a function's schema if it is strict.

    ``parallel`` is the request's ``parallel_tool_calls``: whether more than one call may be made.
    """

    def auto(self, functions: Sequence[Function], *, parallel: bool) -> Format:
        """Any text; once calls have begun, calls of these functions."""

    def required(self, functions: Sequence[Function], *, parallel: bool) -> Format:
        """Calls of these functions, at least one, and no text."""

    def named(self, function: Function) -> Format:
        """One call of this function, and no text."""
