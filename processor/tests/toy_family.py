"""A model family that nobody serves, and the processor with it: ``--dyn-chat-processor toy_family:provider``.

Its prompt is ``[user]Hi[model]``, its output ``Thoughts}Text @f({"a": 1})``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sglang_parity.models import registry
from sglang_parity.models.family import Family
from sglang_parity.parse.format import Extraction, Split, ToolCall
from sglang_parity.provider import provider as sglang_parity
from sglang_parity.render.encoder import Segments
from sglang_parity.request.structural_tag import JSONSchemaFormat, OrFormat, TagFormat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from sglang_parity.checkpoint import Checkpoint
    from sglang_parity.parse import ParseOptions
    from sglang_parity.request import ChatRequest
    from sglang_parity.request.body import Function
    from sglang_parity.request.structural_tag import Format

MARKS = ("[user]", "[model]")


class ToyEncoder:
    def encode(self, request: ChatRequest) -> Segments:
        return Segments("".join(f"[{message.role}]{message.text}" for message in request.messages) + MARKS[1], "")


class ToyReasoning:
    end_marker = "}"

    def is_requested(self, request: ChatRequest) -> bool:
        return bool((request.chat_template_kwargs or {}).get("ponder"))

    def split(self, text: str, options: ParseOptions) -> Split:
        reasoning, _, content = text.partition(self.end_marker) if options.in_reasoning else ("", "", text)
        return Split(reasoning, content)

    def stream(self, options: ParseOptions) -> ToyReasoningStream:
        return ToyReasoningStream(options)


class ToyReasoningStream:
    def __init__(self, options: ParseOptions) -> None:
        self._in_reasoning = options.in_reasoning

    def feed(self, text: str) -> Split:
        if not self._in_reasoning:
            return Split(content=text)
        reasoning, end, content = text.partition(ToyReasoning.end_marker)
        self._in_reasoning = not end
        return Split(reasoning, content)

    def finish(self) -> Split:
        return Split()


class ToyToolCalls:
    def extract(self, text: str, tool_names: frozenset[str]) -> Extraction:
        found = [call for call in re.finditer(r" @(\w+)\((.*?)\)", text) if call[1] in tool_names]
        calls = tuple(ToolCall(index, call[1], call[2]) for index, call in enumerate(found))
        return Extraction(text[: found[0].start()] if found else text, calls)

    def stream(self) -> ToyToolCallStream:
        return ToyToolCallStream()


class ToyToolCallStream:
    """Holds all back until the end."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, text: str) -> Extraction:
        self._text += text
        return Extraction()

    def finish(self) -> Extraction:
        return ToyToolCalls().extract(self._text, frozenset(re.findall(r" @(\w+)", self._text)))


class ToyGrammar:
    def __init__(self, reasoning_is_parsed: bool) -> None:
        self.reasoning_is_parsed = reasoning_is_parsed

    def auto(self, functions: Sequence[Function], *, parallel: bool) -> Format:
        return self.required(functions, parallel=parallel)

    def required(self, functions: Sequence[Function], *, parallel: bool) -> Format:  # noqa: ARG002
        return OrFormat(elements=[self.named(function) for function in functions])

    def named(self, function: Function) -> Format:
        return TagFormat(begin=f" @{function.name}(", content=JSONSchemaFormat(json_schema=True), end=")")


def load_encoder(_checkpoint: Checkpoint, _effort_profile: str | None) -> ToyEncoder:
    return ToyEncoder()


FAMILY = Family(
    encoding="toy",
    load_encoder=load_encoder,
    reasoning_parser="toy",
    reasoning=ToyReasoning(),
    tool_call_parser="toy",
    tool_calls=ToyToolCalls(),
    tool_call_grammar=ToyGrammar,
)


def provider(config: Any, options: dict[str, Any]) -> Callable[..., Awaitable[Any]]:
    """The processor, with one line more in its registry."""
    registry.FAMILIES = (*registry.FAMILIES, FAMILY)
    return sglang_parity(config, options)
