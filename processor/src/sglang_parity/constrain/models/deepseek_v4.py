"""DeepSeek-V4's tool calls as a grammar: a DSML block with one ``invoke`` for every call.

Mirrors xgrammar 0.2.7's ``builtin_structural_tag.py::get_deepseek_v4_structural_tag``, by which SGLang's
``deepseekv4_detector.py`` goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sglang_parity.request.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    JSONSchemaFormat,
    SequenceFormat,
    TagFormat,
    TagsWithSeparatorFormat,
    TriggeredTagsFormat,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sglang_parity.request.body import Function
    from sglang_parity.request.structural_tag import Format

_BLOCK_START = "<｜DSML｜tool_calls>"
_BLOCK_END = "</｜DSML｜tool_calls>"
_REASONING_MARKERS = ("<think>", "</think>")


@dataclass(frozen=True, slots=True)
class DsmlToolCalls:
    """The grammar of a worker's tool calls.

    Attributes:
        reasoning_is_parsed: whether the worker runs with a reasoning parser. If not, text may not hold the markers of
            reasoning (``serving_chat.py`` lifts that with ``strip_structural_tag_excludes``).
    """

    reasoning_is_parsed: bool

    def auto(self, functions: Sequence[Function], *, parallel: bool) -> Format:
        excludes = [] if self.reasoning_is_parsed else list(_REASONING_MARKERS)
        if not functions:
            return AnyTextFormat(excludes=excludes)
        block = TagFormat(begin=f"{_BLOCK_START}\n", content=_calls(functions, parallel=parallel), end=_BLOCK_END)
        return TriggeredTagsFormat(
            triggers=[_BLOCK_START], tags=[block], excludes=excludes, stop_after_first=not parallel
        )

    def required(self, functions: Sequence[Function], *, parallel: bool) -> Format:
        return _block_alone(_calls(functions, parallel=parallel))

    def named(self, function: Function) -> Format:
        return _block_alone(_call(function))


def _block_alone(content: Format) -> Format:
    start, end = ConstStringFormat(value=f"\n\n{_BLOCK_START}\n"), ConstStringFormat(value=_BLOCK_END)
    return SequenceFormat(elements=[start, content, end])


def _calls(functions: Sequence[Function], *, parallel: bool) -> TagsWithSeparatorFormat:
    calls = [_call(function) for function in functions]
    return TagsWithSeparatorFormat(tags=calls, separator="", at_least_one=True, stop_after_first=not parallel)


def _call(function: Function) -> TagFormat:
    schema = function.parameters if function.strict and isinstance(function.parameters, dict) else True
    return TagFormat(
        begin=f'<｜DSML｜invoke name="{function.name}">\n',
        content=JSONSchemaFormat(json_schema=schema, style="deepseek_xml"),
        end="</｜DSML｜invoke>\n",
    )
