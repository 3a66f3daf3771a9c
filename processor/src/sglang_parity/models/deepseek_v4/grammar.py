"""DeepSeek-V4's tool calls as a grammar: a DSML block with one ``invoke`` for every call.

Mirrors xgrammar 0.2.7's ``builtin_structural_tag.py::get_deepseek_v4_structural_tag``, by which SGLang's
``deepseekv4_detector.py`` goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sglang_parity.models.deepseek_v4.markers import (
    BLOCK,
    END_BLOCK,
    END_INVOKE,
    END_THINK,
    GAP,
    INVOKE,
    THINK,
)
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


@dataclass(frozen=True, slots=True)
class DsmlGrammar:
    """The grammar of a worker's tool calls.

    Attributes:
        reasoning_is_parsed: whether the worker runs with a reasoning parser. If not, text may not hold the markers of
            reasoning (``serving_chat.py`` lifts that with ``strip_structural_tag_excludes``).
    """

    reasoning_is_parsed: bool

    def auto(self, functions: Sequence[Function], *, parallel: bool) -> Format:
        excludes = [] if self.reasoning_is_parsed else [THINK, END_THINK]
        if not functions:
            return AnyTextFormat(excludes=excludes)
        block = TagFormat(begin=f"{BLOCK}\n", content=_calls(functions, parallel=parallel), end=END_BLOCK)
        return TriggeredTagsFormat(triggers=[BLOCK], tags=[block], excludes=excludes, stop_after_first=not parallel)

    def required(self, functions: Sequence[Function], *, parallel: bool) -> Format:
        return _block_alone(_calls(functions, parallel=parallel))

    def named(self, function: Function) -> Format:
        return _block_alone(_call(function))


def _block_alone(content: Format) -> Format:
    start, end = ConstStringFormat(value=f"{GAP}{BLOCK}\n"), ConstStringFormat(value=END_BLOCK)
    return SequenceFormat(elements=[start, content, end])


def _calls(functions: Sequence[Function], *, parallel: bool) -> TagsWithSeparatorFormat:
    calls = [_call(function) for function in functions]
    return TagsWithSeparatorFormat(tags=calls, separator="", at_least_one=True, stop_after_first=not parallel)


def _call(function: Function) -> TagFormat:
    schema = function.parameters if function.strict and isinstance(function.parameters, dict) else True
    return TagFormat(
        begin=f'{INVOKE} name="{function.name}">\n',
        content=JSONSchemaFormat(json_schema=schema, style="deepseek_xml"),
        end=f"{END_INVOKE}\n",
    )
