"""What the benchmark's figures are made of: its conversations, its readings of an answer, its rows and its plots."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from conversations import conversation, next_turn
from heartbeat import longest_delay
from plot import HEIGHT, WIDTH, svg
from rows import at_most, below, beside, faster, table
from sglang_parity.models import load_model
from sglang_parity.prepare import prepare
from streams import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from sglang_parity.checkpoint import Checkpoint


@pytest.mark.parametrize("tokens", [10_000, 50_000])
def test_a_conversation_is_as_long_as_wanted_and_new_with_every_seed(checkpoint: Checkpoint, tokens: int) -> None:
    bodies = [conversation(random.Random(seed), tokens) for seed in (1, 1, 2)]
    assert bodies[0] == bodies[1] != bodies[2]
    model = load_model(checkpoint, tool_call_parser="deepseekv4")
    assert len(prepare(bodies[0], model).prompt.token_ids) == pytest.approx(tokens, rel=0.2)


def test_the_next_turn_goes_on_where_the_conversation_ends() -> None:
    source = random.Random(3)
    body = conversation(source, 1000)
    longer = next_turn(source, body)["messages"]
    assert longer[: len(body["messages"])] == body["messages"]
    assert [message["role"] for message in longer[-3:]] == ["user", "assistant", "user"]


def test_the_first_token_is_the_first_that_says_something() -> None:
    role = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
    token = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
    answer = Answer(200, 10.0, [(10.5, role), (11.0, token[:20]), (11.25, token[20:]), (12.0, b"data: [DONE]\n\n")])
    assert answer.seconds_to_first_token == 1.25
    assert len(answer.chunks()) == 2


def test_the_longest_delay_is_that_of_the_lines_between_two_moments(tmp_path: Path) -> None:
    (tmp_path / "beats").write_text("1.0 0.5\n2.0 0.1\n2.5 0.3\n4.0 0.9\n", encoding="ascii")
    assert longest_delay(tmp_path / "beats", 1.5, 3.0) == 0.3


def test_rows_say_whether_the_target_is_reached() -> None:
    rows = [
        faster("f", ours=[0.001, 0.002, 0.001], theirs=[0.02, 0.02, 0.02], reach=15),
        at_most("a", ours=[12.0, 30.0, 13.0], theirs=[10.0, 10.0, 10.0], reach=1.2),
        below("b", 4, 4, "tokens"),
        beside("c", ours=[30.0], theirs=[10.0]),
    ]
    assert [(row.ratio, row.ok) for row in rows] == [("20.0", True), ("1.30", False), ("", True), ("3.00", None)]
    assert rows[0].spread == "10.00 to 20.00"
    assert "MISSED" in table(rows)


def test_a_plot_keeps_its_lines_inside() -> None:
    drawn = ElementTree.fromstring(svg("a & b", "x", {"ours": [(8, 0.3), (64, 99)], "theirs": [(8, 5), (64, 1000)]}))
    lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    points = [tuple(map(float, point.split(","))) for line in lines for point in line.get("points", "").split()]
    assert len(points) == 4
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
