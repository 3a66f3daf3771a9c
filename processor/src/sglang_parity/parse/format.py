"""What an output is made of, and what a model's format must be able to do with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from sglang_parity.request import ChatRequest


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One complete tool call.

    Attributes:
        index: ordinal of the call in its choice, from 0.
        name: the function's name. Empty where the model named it with blanks only: SGLang streams such a call with
            null ``id`` and ``name``.
        arguments: JSON text of an object.
    """

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Delta:
    """What one step adds. SGLang sends its parts in this order: reasoning, content, then one chunk per tool call."""

    reasoning: str = ""
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A whole output, taken apart."""

    reasoning: str | None
    content: str
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What a request says about reading its output.

    Attributes:
        in_reasoning: whether the output starts inside the reasoning block (SGLang's ``force_reasoning``).
        separate_reasoning: whether reasoning is split off at all; if not, the markers stay in the content.
        stream_reasoning: whether streamed reasoning goes out as it comes, or in one piece at its end.
        tool_names: names of the tools that may be called, or None where tool calls are not looked for.
        continued_content: text of the final assistant message that the output continues, else empty. A message
            whose content is a list of parts counts as empty.
        force_nonempty_content: whether an output that is all reasoning is given as content.
    """

    in_reasoning: bool
    separate_reasoning: bool = True
    stream_reasoning: bool = True
    tool_names: frozenset[str] | None = None
    continued_content: str = ""
    force_nonempty_content: bool = False


class Split(NamedTuple):
    """A text split into reasoning and the rest."""

    reasoning: str = ""
    content: str = ""

    def followed_by(self, later: Split) -> Split:
        return Split(self.reasoning + later.reasoning, self.content + later.content)


class Extraction(NamedTuple):
    """A text split into prose and tool calls."""

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()

    def followed_by(self, later: Extraction) -> Extraction:
        return Extraction(self.content + later.content, self.tool_calls + later.tool_calls)


class ReasoningStream(Protocol):
    """Splits reasoning off a text that arrives in pieces."""

    def feed(self, text: str) -> Split: ...

    def finish(self) -> Split: ...


class ReasoningFormat(Protocol):
    """How a model marks its reasoning."""

    @property
    def end_marker(self) -> str: ...

    def is_requested(self, request: ChatRequest) -> bool:
        """Whether the request asks for output that begins with reasoning."""
        ...

    def stream(self, options: ParseOptions) -> ReasoningStream: ...

    def split(self, text: str, options: ParseOptions) -> Split: ...


class ToolCallStream(Protocol):
    """Takes tool calls out of a text that arrives in pieces."""

    def feed(self, text: str) -> Extraction: ...

    def finish(self) -> Extraction: ...


class ToolCallFormat(Protocol):
    """How a model writes tool calls."""

    def stream(self) -> ToolCallStream: ...

    def extract(self, text: str, tool_names: frozenset[str]) -> Extraction: ...


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
