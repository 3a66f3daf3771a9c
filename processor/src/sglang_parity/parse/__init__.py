"""From engine output to reasoning, content and tool calls.

``OutputText`` turns token ids into text, ``StreamParser`` takes streamed text apart and ``parse_whole`` a finished
one. The two differ on purpose, as SGLang's do: a stream cannot see what has not come yet.
"""

from __future__ import annotations

from sglang_parity.parse.detokenize import Vocabulary
from sglang_parity.parse.format import Delta, Extraction, Message, OutputFormat, ParseOptions, Split, ToolCall
from sglang_parity.parse.reasoning_tokens import ReasoningTokens
from sglang_parity.parse.stop import OutputText, StopStrings

__all__ = [
    "Delta",
    "Message",
    "OutputFormat",
    "OutputText",
    "ParseOptions",
    "ReasoningTokens",
    "StopStrings",
    "StreamParser",
    "ToolCall",
    "Vocabulary",
    "parse_whole",
]


class StreamParser:
    """Takes the text of one streamed choice apart, step by step.

    Mirrors ``entrypoints/openai/serving_chat.py`` (``_generate_stream_content``): reasoning first, then tool calls
    in what is left.
    """

    def __init__(self, output_format: OutputFormat, options: ParseOptions) -> None:
        reasoning, tools = output_format.reasoning, output_format.tools
        self._reasoning = reasoning.stream(options) if reasoning and options.separate_reasoning else None
        self._tools = tools.stream() if tools and options.tool_names else None

    def feed(self, text: str) -> Delta:
        """What one step's text adds; empty parts where it is held back."""
        split = self._split(text)
        extraction = self._extract(split.content)
        return Delta(split.reasoning, extraction.content, extraction.tool_calls)

    def finish(self, text: str) -> Delta:
        """What the last step's text adds, together with all that was held back.

        An aborted choice ends with ``feed`` instead: SGLang drops what it then holds.
        """
        split = self._split(text)
        if self._reasoning:
            split = split.followed_by(self._reasoning.finish())
        extraction = self._extract(split.content)
        if self._tools:
            extraction = extraction.followed_by(self._tools.finish())
        return Delta(split.reasoning, extraction.content, extraction.tool_calls)

    def _split(self, text: str) -> Split:
        return self._reasoning.feed(text) if self._reasoning else Split(content=text)

    def _extract(self, content: str) -> Extraction:
        return self._tools.feed(content) if self._tools else Extraction(content)


def parse_whole(text: str, output_format: OutputFormat, options: ParseOptions) -> Message:
    """Takes a finished, unary output apart.

    Mirrors ``entrypoints/openai/serving_chat.py`` (``_build_chat_response``). Reasoning is None where there is none.
    """
    split = Split(content=text)
    if output_format.reasoning and options.separate_reasoning:
        split = output_format.reasoning.split(text, options)
    extraction = Extraction(split.content)
    if output_format.tools and options.tool_names:
        extraction = output_format.tools.extract(split.content, options.tool_names)
    return Message(split.reasoning or None, extraction.content, extraction.tool_calls)
