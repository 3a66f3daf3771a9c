"""Reasoning is split off as SGLang's ReasoningParser splits it, whole and streamed."""

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
    ReasoningTokens,
    StreamParser,
    parse_whole,
)

FIXTURE = Path(__file__).parents[2] / "fixtures" / "reasoning_parity" / "deepseek-v4.json"
CASES: list[dict[str, Any]] = json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"]
FORMAT = select_output_format("deepseek-v4", None)
THINKING = ParseOptions(in_reasoning=True)


def options_of(case: dict[str, Any]) -> ParseOptions:
    return ParseOptions(
        in_reasoning=case["in_reasoning"],
        stream_reasoning=case["stream_reasoning"],
        continued_content=case["continued_content"] or "",
        force_nonempty_content=case["force_nonempty_content"],
    )


def stream(pieces: list[str], options: ParseOptions, output_format: OutputFormat = FORMAT) -> list[Delta]:
    parser = StreamParser(output_format, options)
    return [*map(parser.feed, pieces[:-1]), parser.finish(pieces[-1])]


def pieces_of(text: str, offsets: list[int]) -> list[str]:
    return [text[start:end] for start, end in itertools.pairwise([0, *offsets, len(text)])]


def joined(deltas: list[Delta]) -> list[list[str]]:
    """Kind and text of what was sent, neighbours of one kind joined."""
    parts = [part for delta in deltas for part in (("reasoning", delta.reasoning), ("content", delta.content))]
    groups = itertools.groupby((part for part in parts if part[1]), key=lambda part: part[0])
    return [[kind, "".join(text for _, text in group)] for kind, group in groups]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_unary_output_splits_as_recorded(case: dict[str, Any]) -> None:
    message = parse_whole(case["text"], FORMAT, options_of(case))
    assert message == Message(case["unary"]["reasoning"] or None, case["unary"]["content"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_streamed_output_splits_as_recorded_for_every_cut(case: dict[str, Any]) -> None:
    for outcome in case["streams"]:
        for offsets in outcome["cuts"]:
            deltas = stream(pieces_of(case["text"], offsets), options_of(case))
            assert joined(deltas) == outcome["events"], f"cut at {offsets}"


def test_t01_no_marker_reaches_the_client() -> None:
    deltas = stream(list("thinking hard</think>done"), THINKING)
    assert joined(deltas) == [["reasoning", "thinking hard"], ["content", "done"]]


@pytest.mark.parametrize("size", range(1, 9))
def test_t02_step_size_does_not_move_the_split(size: int) -> None:
    text = "abc</think>normal"
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert joined(stream(pieces, THINKING)) == [["reasoning", "abc"], ["content", "normal"]]


def test_t16_end_of_reasoning_and_start_of_content_in_one_step() -> None:
    assert stream(["abc", "def</think>normal", ""], THINKING) == [
        Delta(reasoning="abc"),
        Delta(reasoning="def", content="normal"),
        Delta(),
    ]


def test_text_that_could_become_a_marker_waits() -> None:
    assert stream(["a <", "/think", "ing", ""], THINKING) == [
        Delta(reasoning="a "),
        Delta(),
        Delta(reasoning="</thinking"),
        Delta(),
    ]


def test_reasoning_that_is_not_separated_stays_in_the_content() -> None:
    options = ParseOptions(in_reasoning=True, separate_reasoning=False)
    assert joined(stream(["a</thi", "nk>b"], options)) == [["content", "a</think>b"]]
    assert parse_whole("a</think>b", FORMAT, options) == Message(None, "a</think>b")


def test_a_worker_without_a_reasoning_parser_gives_plain_content() -> None:
    plain = select_output_format(None, None)
    assert joined(stream(["a</think>", "b"], THINKING, plain)) == [["content", "a</think>b"]]
    assert parse_whole("a</think>b", plain, THINKING) == Message(None, "a</think>b")


def test_a_long_reasoning_in_one_piece_takes_linear_time() -> None:
    options = ParseOptions(in_reasoning=True, stream_reasoning=False)
    deltas = stream(["word "] * 50_000 + ["</think>A"], options)
    assert deltas[-1] == Delta(reasoning="word " * 50_000, content="A")


class TestReasoningTokens:
    END = 7

    def test_count_includes_the_token_that_ends_the_reasoning(self) -> None:
        tokens = ReasoningTokens(self.END)
        tokens.feed([1, 2])
        tokens.feed([3, self.END, 4])
        tokens.feed([5, self.END])
        assert tokens.count == 4

    def test_every_token_counts_where_reasoning_never_ends(self) -> None:
        tokens = ReasoningTokens(self.END)
        tokens.feed([1, 2, 3])
        assert tokens.count == 3

    def test_nothing_counts_where_no_reasoning_was_asked_for(self) -> None:
        tokens = ReasoningTokens(None)
        tokens.feed([1, self.END, 3])
        assert tokens.count == 0


def test_unknown_parser_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown reasoning parser 'qwen3', known: deepseek-v4"):
        select_output_format("qwen3", None)
    with pytest.raises(ValueError, match=r"unknown tool call parser 'DeepSeekV4', known: deepseekv4"):
        select_output_format(None, "DeepSeekV4")


def test_reasoning_parser_name_is_read_in_any_letter_case() -> None:
    assert select_output_format("DeepSeek-V4", None) == FORMAT
