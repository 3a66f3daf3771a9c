"""Tool calls are taken out of the text as SGLang takes them, whole and streamed, alone and after reasoning."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from sglang_parity.models.registry import select_output_format
from sglang_parity.parse import (
    Delta,
    Message,
    OutputFormat,
    ParseOptions,
    StreamParser,
    ToolCall,
    parse_whole,
)

FIXTURE = Path(__file__).parents[2] / "fixtures" / "tool_parity" / "deepseekv4.json"
RECORDED: dict[str, Any] = json.loads(FIXTURE.read_text(encoding="utf-8"))
TOOLS_ONLY = select_output_format(None, "deepseekv4")
BOTH = select_output_format("deepseek-v4", "deepseekv4")
TOOL_NAMES = frozenset({"get_weather", "search_db", "now"})
CALLING = ParseOptions(in_reasoning=False, tool_names=TOOL_NAMES)

NOW = '<｜DSML｜invoke name="now">\n</｜DSML｜invoke>'


def block(*invokes: str) -> str:
    return "<｜DSML｜tool_calls>\n" + "\n".join(invokes) + "\n</｜DSML｜tool_calls>"


def search(value: str, *, string: str) -> str:
    return (
        '<｜DSML｜invoke name="search_db">\n'
        f'<｜DSML｜parameter name="q" string="{string}">{value}</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>"
    )


def options_of(request: dict[str, Any]) -> ParseOptions:
    """What the layers above make of a recorded request."""
    kwargs = request.get("chat_template_kwargs", {})
    tools_active = request.get("tools", ()) is not None and request.get("tool_choice") != "none"
    continued = request["messages"][-1]["content"] if request.get("continue_final_message") else ""
    return ParseOptions(
        in_reasoning=kwargs.get("thinking") is True,
        separate_reasoning=request.get("separate_reasoning", True),
        stream_reasoning=request.get("stream_reasoning", True),
        tool_names=TOOL_NAMES if tools_active else None,
        continued_content=continued,
        force_nonempty_content=kwargs.get("force_nonempty_content") is True,
    )


def stream(pieces: list[str], options: ParseOptions, output_format: OutputFormat) -> list[Delta]:
    parser = StreamParser(output_format, options)
    return [*map(parser.feed, pieces[:-1]), parser.finish(pieces[-1])]


def pieces_of(text: str, offsets: list[int]) -> list[str]:
    return [text[start:end] for start, end in itertools.pairwise([0, *offsets, len(text)])]


def joined(deltas: list[Delta]) -> list[list[Any]]:
    """What was sent, in order, neighbouring texts of one kind joined."""
    events: list[list[Any]] = []
    for delta in deltas:
        for kind, text in (("reasoning", delta.reasoning), ("content", delta.content)):
            if text and events and events[-1][0] == kind:
                events[-1][1] += text
            elif text:
                events.append([kind, text])
        events += [["call", call.index, call.name, call.arguments] for call in delta.tool_calls]
    return events


def message_of(unary: dict[str, Any]) -> Message:
    calls = tuple(ToolCall(index, name, arguments) for index, (name, arguments) in enumerate(unary["calls"]))
    return Message(unary.get("reasoning"), unary["content"], calls)


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: str(case["name"]))
def test_unary_calls_as_recorded(case: dict[str, Any]) -> None:
    assert parse_whole(case["text"], TOOLS_ONLY, CALLING) == message_of(case["unary"])


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: str(case["name"]))
def test_streamed_calls_as_recorded_for_every_cut(case: dict[str, Any]) -> None:
    for outcome in case["streams"]:
        for offsets in outcome["cuts"]:
            deltas = stream(pieces_of(case["text"], offsets), CALLING, TOOLS_ONLY)
            assert joined(deltas) == outcome["events"], f"cut at {offsets}"


@pytest.mark.parametrize("case", RECORDED["combined"], ids=lambda case: str(case["name"]))
def test_unary_message_as_the_server_recorded_it(case: dict[str, Any]) -> None:
    assert parse_whole(case["text"], BOTH, options_of(case["request"])) == message_of(case["unary"])


@pytest.mark.parametrize("case", RECORDED["combined"], ids=lambda case: str(case["name"]))
def test_streamed_message_as_the_server_recorded_it_for_every_cut(case: dict[str, Any]) -> None:
    for outcome in case["streams"]:
        for offsets in outcome["cuts"]:
            deltas = stream(pieces_of(case["text"], offsets), options_of(case["request"]), BOTH)
            assert joined(deltas) == outcome["events"], f"cut at {offsets}"


def test_t04_step_edge_inside_the_closing_tag_leaves_the_value_whole() -> None:
    text = block(search("make >log 2>&1", string="true"))
    start = text.index("</｜DSML｜parameter>")
    for edge in range(start, start + len("</｜DSML｜parameter>")):
        deltas = stream([text[:edge], text[edge:]], CALLING, TOOLS_ONLY)
        assert joined(deltas) == [["call", 0, "search_db", '{"q": "make >log 2>&1"}']]


def test_t05_large_array_streams_the_unary_arguments() -> None:
    rows = json.dumps([{"id": i, "cells": [i, -i, None, [i]]} for i in range(500)])
    text = block(search(rows, string="false"))
    (call,) = parse_whole(text, TOOLS_ONLY, CALLING).tool_calls
    deltas = stream([text[i : i + 4] for i in range(0, len(text), 4)], CALLING, TOOLS_ONLY)
    assert joined(deltas) == [["call", 0, "search_db", call.arguments]]
    assert json.loads(call.arguments) == {"q": json.loads(rows)}


def test_t11_two_calls_have_indices_0_and_1() -> None:
    deltas = stream(list(block(NOW, NOW)), CALLING, TOOLS_ONLY)
    assert [call.index for delta in deltas for call in delta.tool_calls] == [0, 1]


def test_t14_half_a_call_is_never_shown() -> None:
    text = f"Let me see.\n\n{block(search('orders', string='true'))}"
    closed = text.index("</｜DSML｜invoke>") + len("</｜DSML｜invoke>")
    for length in range(len("Let me see.\n\n"), closed):
        assert joined(stream(list(text[:length]), CALLING, TOOLS_ONLY))[1:] == []
        assert parse_whole(text[:length], TOOLS_ONLY, CALLING).tool_calls == ()


def test_t19_a_partial_marker_does_not_leak() -> None:
    pieces = ["hello<｜DS", f"ML｜tool_calls>\n{NOW}", ""]
    assert joined(stream(pieces, CALLING, TOOLS_ONLY)) == [["content", "hello"], ["call", 0, "now", "{}"]]


def test_t19_a_partial_marker_at_the_end_is_text() -> None:
    assert joined(stream(["hello<｜DS", ""], CALLING, TOOLS_ONLY)) == [["content", "hello<｜DS"]]


def test_an_aborted_stream_drops_what_it_holds() -> None:
    parser = StreamParser(BOTH, CALLING)
    assert parser.feed("hello \n<｜DS") == Delta()


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000])
def test_arguments_nested_too_deep_end_the_calls(text: str) -> None:
    output = f"A\n\n{block(NOW, search(text, string='false'), NOW)}"
    only_first = [["content", "A"], ["call", 0, "now", "{}"]]
    assert joined(stream([output], CALLING, TOOLS_ONLY)) == only_first
    assert parse_whole(output, TOOLS_ONLY, CALLING) == Message(None, "A", (ToolCall(0, "now", "{}"),))


def test_a_long_call_takes_linear_time() -> None:
    text = block(search("word " * 40_000, string="true"))
    deltas = stream([text[i : i + 5] for i in range(0, len(text), 5)], CALLING, TOOLS_ONLY)
    assert len(joined(deltas)) == 1
