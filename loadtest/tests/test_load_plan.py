from __future__ import annotations

from itertools import islice
from statistics import mean
from typing import TYPE_CHECKING

import pytest
from plan import REQUESTS_OF_A_TURN, SERVERS, LoadError, Step, arrivals, plan, rates, user_counts

if TYPE_CHECKING:
    from collections.abc import Callable


def test_one_level_is_two_turns_of_each_server() -> None:
    steps = plan(SERVERS, [32], "closed", seconds=60)
    assert steps == [
        Step(0, "frontend", 32, "closed", 15, 3, 0),
        Step(1, "reference", 32, "closed", 15, 3, 0),
        Step(2, "frontend", 32, "closed", 15, 3, REQUESTS_OF_A_TURN),
        Step(3, "reference", 32, "closed", 15, 3, REQUESTS_OF_A_TURN),
    ]


def test_a_ladder_is_one_step_of_each_server_for_each_level_from_the_lowest() -> None:
    steps = plan(SERVERS, [8, 1, 4], "closed", seconds=60)
    assert [(step.server, step.load) for step in steps] == [
        (server, load) for load in (1, 4, 8) for server in ("frontend", "reference")
    ]
    assert {step.seconds for step in steps} == {10}


def test_a_request_is_asked_once_of_each_server() -> None:
    steps = plan(SERVERS, [1, 4, 8], "closed", seconds=60)
    for server in SERVERS:
        numbers = [step.first_request for step in steps if step.server == server]
        assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(("seconds", "warm_up"), [(4, 0.5), (48, 3), (4800, 3)])
def test_the_warm_up_is_a_quarter_of_a_short_step(seconds: float, warm_up: float) -> None:
    assert {step.warm_up for step in plan(["frontend"], [1], "closed", seconds)} == {warm_up}


@pytest.mark.parametrize(("loop", "unit"), [("closed", "users"), ("constant", "requests/s"), ("poisson", "requests/s")])
def test_a_load_has_a_unit(loop: str, unit: str) -> None:
    assert plan(["frontend"], [1], loop, 10)[0].unit == unit  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (user_counts, "1,x", "'x' is no number"),
        (user_counts, "0,4", "above 0, not '0'"),
        (user_counts, "4,-1", "above 0, not '-1'"),
        (user_counts, "1.5", "no 1.5 users"),
        (rates, "2,x", "'x' is no number"),
        (rates, "0", "above 0, not '0'"),
        (rates, "nan", "above 0, not 'nan'"),
        (rates, "inf", "above 0, not 'inf'"),
    ],
)
def test_a_load_that_no_step_can_have_is_refused(read: Callable[[str], list[float]], text: str, said: str) -> None:
    with pytest.raises(LoadError, match=said):
        read(text)


def test_levels_are_read_as_they_stand() -> None:
    assert (user_counts(" 8, 1,"), user_counts(""), rates("0.5,2")) == ([8, 1], [], [0.5, 2])


def test_constant_arrivals_are_a_period_apart() -> None:
    due = list(arrivals(Step(0, "frontend", 8, "constant", 2, 0, 0)))
    assert due == [index / 8 for index in range(16)]


def test_poisson_arrivals_are_the_same_for_both_servers_and_have_the_rate() -> None:
    frontend, reference, later = (
        list(arrivals(Step(number, server, 10, "poisson", 1000, 0, first)))
        for number, server, first in ((0, "frontend", 0), (1, "reference", 0), (2, "frontend", REQUESTS_OF_A_TURN))
    )
    assert frontend == reference != later
    gaps = [after - before for before, after in zip(frontend, islice(frontend, 1, None), strict=False)]
    assert mean(gaps) == pytest.approx(0.1, rel=0.05)
    assert mean(gap > 0.1 for gap in gaps) == pytest.approx(0.368, abs=0.03), "exponential, not constant"
