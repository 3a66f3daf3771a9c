from __future__ import annotations

from typing import Any

import gevent
from plan import Step
from turns import Turn, Turns


def turn(number: int) -> Turn:
    step = Step(number, "frontend", 1, "closed", seconds=0.1, warm_up=0, first_request=0)
    return Turn(step, "http://server", "model", 0, 1, [], {}, seed=0)


def test_a_turn_that_is_over_is_told_and_one_that_was_stopped_is_not() -> None:
    told: list[dict[str, Any]] = []
    turns = Turns(told.append)
    turns.start_anew()
    turns.begin(turn(0))
    gevent.sleep(0.05)
    turns.start_anew()
    turns.begin(turn(1))
    gevent.sleep(1.5)
    assert [measured["step"] for measured in told] == [1]
