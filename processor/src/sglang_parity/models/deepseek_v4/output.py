"""DeepSeek-V4's output: a ``<think>`` block, then prose, then DSML tool calls."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from sglang_parity.models.deepseek_v4.markers import (
    BAR,
    BLOCK,
    DSML,
    END_BLOCK,
    END_INVOKE,
    END_PARAMETER,
    END_THINK,
    GAP,
    INVOKE,
    PARAMETER,
    THINK,
)
from sglang_parity.models.deepseek_v4.thinking import output_reasons
from sglang_parity.parse.format import Extraction, ParseOptions, Split, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sglang_parity.request import ChatRequest

_INVOKE_HEADER = re.compile(rf'{INVOKE}\s+name="(?P<name>[^"]+)"\s*(?P<close>/?>)')
_PARAMETER = re.compile(
    rf'{PARAMETER}\s+name="(?P<name>[^"]+)"\s+string="(?P<string>[^"]+)"\s*>(?P<value>.*?){END_PARAMETER}',
    re.DOTALL,
)

_REASONING_MARKERS = (THINK, END_THINK, BLOCK)
_LONGEST_REASONING_MARKER = max(map(len, _REASONING_MARKERS))
_DSML_PIECES = (DSML, f"<{BAR}", f"</{BAR}")
_DSML_BEGINNINGS = ("<", "</")


class ReasoningBlock:
    """Reasoning up to ``</think>``, or up to a tool call block that begins a line.

    Mirrors ``DeepSeekV4Detector`` of ``parser/reasoning_parser.py``.
    """

    end_marker = END_THINK

    def is_requested(self, request: ChatRequest) -> bool:
        return output_reasons(request)

    def stream(self, options: ParseOptions) -> ReasoningBlockStream:
        return ReasoningBlockStream(options)

    def split(self, text: str, options: ParseOptions) -> Split:
        """Splits a finished output (SGLang: ``detect_and_parse``)."""
        split = self._split(text, options)
        if options.force_nonempty_content and not split.content:
            return Split(reasoning=split.content, content=split.reasoning)
        return split

    def _split(self, text: str, options: ParseOptions) -> Split:
        if not _starts_in_reasoning(options) and THINK not in text:
            return Split(content=text)
        while text.startswith(THINK):
            text = text.removeprefix(THINK)
        reasoning, end, content = text.partition(END_THINK)
        if end:
            return Split(reasoning, content)
        if END_THINK in options.continued_content:
            return Split(content=text)
        block = _find_block_at_line_start(text)
        if block >= 0:
            return Split(text[:block], text[block:])
        return Split(reasoning=_without_partial_block_start(text))


class ReasoningBlockStream:
    """Splits a streamed output (SGLang: ``parse_streaming_increment`` and ``finish``)."""

    def __init__(self, options: ParseOptions) -> None:
        self._stream_reasoning = options.stream_reasoning
        self._force_nonempty_content = options.force_nonempty_content
        self._in_reasoning = _starts_in_reasoning(options)
        self._start_removed = False
        self._buffer = ""
        self._searched = 0  # length of the buffer's beginning that holds no marker
        self._last_sent = ""  # last character of the reasoning sent so far
        self._sent_reasoning: list[str] = []  # kept for force_nonempty_content only

    def feed(self, text: str) -> Split:
        split = self._feed(text)
        if self._force_nonempty_content:
            self._keep_for_content(split.reasoning)
        return split

    def _feed(self, text: str) -> Split:
        self._buffer += text
        if _partial_marker_length(self._buffer, _REASONING_MARKERS) == len(self._buffer):
            return Split()
        if not self._start_removed and self._find(THINK) >= 0:
            self._buffer = self._buffer.replace(THINK, "", 1)
            self._searched = 0
            self._start_removed = True
            self._in_reasoning = True
        if not self._in_reasoning:
            return Split(content=self._take(len(self._buffer)))
        end = self._find(END_THINK)
        if end >= 0:
            self._in_reasoning = False
            reasoning = self._take(end)
            return Split(reasoning, self._take(len(self._buffer)).removeprefix(END_THINK))
        block = _find_block_at_line_start(self._buffer, self._search_start(), self._last_sent)
        if block >= 0:
            self._in_reasoning = False
            reasoning = self._take(block)
            return Split(reasoning, self._take(len(self._buffer)))
        if not self._stream_reasoning:
            self._searched = len(self._buffer)
            return Split()
        awaited = _REASONING_MARKERS[1:] if self._start_removed else _REASONING_MARKERS
        reasoning = self._take(len(self._buffer) - _partial_marker_length(self._buffer, awaited))
        self._last_sent = reasoning[-1:] or self._last_sent
        return Split(reasoning)

    def finish(self) -> Split:
        rest = self._take(len(self._buffer))
        if not self._in_reasoning:
            return Split(content=rest)
        rest = _without_partial_block_start(rest.removeprefix(THINK), self._last_sent)
        if self._force_nonempty_content:
            return Split(content="".join(self._sent_reasoning) + rest)
        return Split(rest)

    def _keep_for_content(self, reasoning: str) -> None:
        if self._in_reasoning:
            self._sent_reasoning.append(reasoning)
        else:
            self._sent_reasoning.clear()

    def _search_start(self) -> int:
        return max(0, self._searched - _LONGEST_REASONING_MARKER + 1)

    def _find(self, marker: str) -> int:
        return self._buffer.find(marker, self._search_start())

    def _take(self, length: int) -> str:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        self._searched = 0
        return taken


class _Invoke(NamedTuple):
    """A closed invoke, and where it starts and ends in the text."""

    name: str
    body: str
    start: int
    end: int


class DsmlToolCalls:
    """Tool calls written as DSML.

    Mirrors ``DeepSeekV4Detector`` of ``function_call/deepseekv4_detector.py`` over ``deepseekv32_detector.py``.
    """

    def stream(self) -> DsmlToolCallStream:
        return DsmlToolCallStream()

    def extract(self, text: str, tool_names: frozenset[str]) -> Extraction:
        """Takes the calls out of a finished output (SGLang: ``detect_and_parse``).

        A call that is unclosed or malformed, or that names no tool, is dropped, and no DSML is left in the content.
        """
        prose, block, _ = text.partition(BLOCK)
        sections: Iterable[str]
        if block:
            content, sections = prose.removesuffix(GAP), _closed_blocks(text)
        elif INVOKE in text:
            content, sections = _before_dsml(text), [text]
        else:
            return Extraction(text)
        calls: list[ToolCall] = []
        try:
            for section in sections:
                for invoke in _closed_invokes(section):
                    arguments = _arguments(invoke.body)
                    if arguments is not None and invoke.name in tool_names:
                        calls.append(ToolCall(len(calls), invoke.name, _dump_json(json.loads(arguments))))
        except RecursionError:  # nested deeper than the JSON module goes: the calls before it stand
            pass
        return Extraction(content, tuple(calls))


class DsmlToolCallStream:
    """Takes calls out of a streamed output (SGLang: ``parse_streaming_increment`` and ``finish``).

    A call goes out once its closing tag has come, whatever it names. Text that may belong to DSML is held back, and
    dropped at the end if a call has been seen.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._holding = False  # the buffer holds a piece of DSML
        self._header: re.Match[str] | None = None  # header of the invoke whose closing tag is awaited
        self._searched = 0  # where the next header or closing tag can begin
        self._seen_invoke = False
        self._calls = 0

    def feed(self, text: str) -> Extraction:
        self._buffer += text
        self._holding = self._holding or _holds_dsml(self._buffer)
        if self._holding:
            return self._take_closed_invokes()
        prose = self._buffer.rstrip()
        if prose.endswith(_DSML_BEGINNINGS):
            return Extraction()
        # The whitespace after it may be the gap before a block, which is not content.
        self._buffer = self._buffer[len(prose) :]
        return Extraction(prose)

    def finish(self) -> Extraction:
        rest, self._buffer = self._buffer, ""
        return Extraction() if self._seen_invoke else Extraction(_before_dsml(rest))

    def _take_closed_invokes(self) -> Extraction:
        prose = ""
        calls: list[ToolCall] = []
        try:
            while (invoke := self._next_closed_invoke()) is not None:
                if not self._seen_invoke:
                    self._seen_invoke = True
                    prose = self._before_invoke(invoke.start)
                self._drop(invoke.end)
                arguments = _arguments(invoke.body)
                if arguments is not None:
                    calls.append(ToolCall(self._calls, invoke.name, arguments))
                    self._calls += 1
        except RecursionError:  # nested deeper than the JSON module goes: what follows is lost with it
            self._drop(len(self._buffer))
        return Extraction(prose, tuple(calls))

    def _next_closed_invoke(self) -> _Invoke | None:
        """The first invoke, once it is closed."""
        if self._header is None:
            self._header = _INVOKE_HEADER.search(self._buffer, self._searched)
            if self._header is None:
                start = self._buffer.find(INVOKE, self._searched)
                self._searched = start if start >= 0 else max(0, len(self._buffer) - len(INVOKE) + 1)
                return None
            self._searched = self._header.end()
        invoke = _closed_invoke(self._buffer, self._header, self._searched)
        if invoke is None:
            self._searched = max(self._searched, len(self._buffer) - len(END_INVOKE) + 1)
        return invoke

    def _before_invoke(self, start: int) -> str:
        block = self._buffer.rfind(BLOCK, 0, start)
        return self._buffer[: block if block >= 0 else start].removesuffix(GAP)

    def _drop(self, length: int) -> None:
        self._buffer = self._buffer[length:]
        self._holding = False
        self._header = None
        self._searched = 0


def _starts_in_reasoning(options: ParseOptions) -> bool:
    if END_THINK in options.continued_content:
        return False
    return options.in_reasoning or THINK in options.continued_content


def _partial_marker_length(text: str, markers: tuple[str, ...]) -> int:
    """Length of the text's end that is a beginning, not the whole, of a marker. Markers hold one ``<``, their first."""
    start = text.rfind("<")
    if start < 0:
        return 0
    end = text[start:]
    return len(end) if any(marker.startswith(end) and marker != end for marker in markers) else 0


def _begins_line(text: str, position: int, preceded_by: str) -> bool:
    return (text[position - 1] if position > 0 else preceded_by) in ("", "\n")


def _find_block_at_line_start(text: str, start: int = 0, preceded_by: str = "") -> int:
    """Position of the first tool call block that begins a line, or -1.

    A mention in mid-line ends no reasoning. ``preceded_by`` is the character before the text, empty where the output
    starts with it.
    """
    position = text.find(BLOCK, start)
    while position >= 0 and not _begins_line(text, position, preceded_by):
        position = text.find(BLOCK, position + 1)
    return position


def _without_partial_block_start(text: str, preceded_by: str = "") -> str:
    """The text without the beginning of a tool call block that an output cut short may end in."""
    length = _partial_marker_length(text, (BLOCK,))
    if length and _begins_line(text, len(text) - length, preceded_by):
        return text[:-length]
    return text


def _holds_dsml(text: str) -> bool:
    return BAR in text and any(piece in text for piece in _DSML_PIECES)


def _before_dsml(text: str) -> str:
    """The prose before the first DSML tag."""
    prose, marker, _ = text.partition(DSML)
    if not marker:
        return text
    prose = prose.removesuffix("</") if prose.endswith("</") else prose.removesuffix("<")
    return prose.removesuffix(GAP)


def _closed_blocks(text: str) -> Iterator[str]:
    """What stands inside each closed tool call block."""
    while (start := text.find(BLOCK)) >= 0:
        inside, end, text = text[start + len(BLOCK) :].partition(END_BLOCK)
        if not end:
            return
        yield inside


def _closed_invokes(text: str) -> Iterator[_Invoke]:
    """The invokes, up to the first that is not closed."""
    position = 0
    while (header := _INVOKE_HEADER.search(text, position)) is not None:
        invoke = _closed_invoke(text, header, header.end())
        if invoke is None:
            return
        yield invoke
        position = invoke.end


def _closed_invoke(text: str, header: re.Match[str], search_from: int) -> _Invoke | None:
    """The invoke of this header, whose closing tag is not before ``search_from``; None where there is none yet."""
    name = header["name"].strip()
    if header["close"] == "/>":
        return _Invoke(name, "", header.start(), header.end())
    end = text.find(END_INVOKE, search_from)
    if end < 0:
        return None
    return _Invoke(name, text[header.end() : end], header.start(), end + len(END_INVOKE))


def _arguments(body: str) -> str | None:
    """JSON text of an invoke's arguments, or None where they are malformed.

    A body that is a JSON object is passed on as written. Otherwise it is made of parameters, where prose between them
    is ignored but a tag that is no whole parameter is not: a call without one of its arguments is worse than none.
    (SGLang: ``_parse_parameters_from_xml``)
    """
    stripped = body.strip()
    if stripped.startswith("{"):
        try:
            _load_json(stripped)
        except ValueError:
            return None
        return stripped
    parameters: dict[str, Any] = {}
    for parameter in _PARAMETER.finditer(body):
        value = parameter["value"].strip()
        parameters[parameter["name"]] = value if parameter["string"] == "true" else _json_or_text(value)
    rest = _PARAMETER.sub("", body)
    if DSML in rest or (not parameters and rest.strip()):
        return None
    return _dump_json(parameters)


def _json_or_text(text: str) -> Any:
    try:
        return _load_json(text)
    except ValueError:
        return text


def _load_json(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
