"""The steps of a run: which server gets how much load, when.

Both servers stand on the same cores, so one at a time is loaded. They take turns with the same requests, so that what
drifts while a test runs, a clock frequency or a neighbour, hits both.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Loop = Literal["closed", "constant", "poisson"]

SERVERS = ("frontend", "reference")
TURNS = 2  # of each server, where there is one level of load
WARM_UP_S, WARM_UP_SHARE = 3.0, 0.25
REQUESTS_OF_A_TURN = 1_000_000  # numbers set aside, so that no request is asked twice


class LoadError(ValueError):
    """A load that no step can have; the text names it, and why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One server under one load.

    Attributes:
        load: users, or arrivals a second.
        seconds: how long requests are sent, the warm-up included. What is in flight then is waited for.
        warm_up: seconds at its start that count nowhere.
        first_request: the number of its first request, the same for both servers of a turn.
    """

    number: int
    server: str
    load: float
    loop: Loop
    seconds: float
    warm_up: float
    first_request: int

    @property
    def unit(self) -> str:
        return "users" if self.loop == "closed" else "requests/s"


def plan(servers: Sequence[str], levels: Sequence[float], loop: Loop, seconds: float) -> list[Step]:
    """Share ``seconds`` out among the steps: each level of load, from the lowest, on each server in turn."""
    turns = [level for level in sorted(levels) for _ in range(TURNS if len(levels) == 1 else 1)]
    length = seconds / (len(turns) * len(servers))
    warm_up = min(WARM_UP_S, WARM_UP_SHARE * length)
    return [
        Step(turn * len(servers) + place, server, level, loop, length, warm_up, turn * REQUESTS_OF_A_TURN)
        for turn, level in enumerate(turns)
        for place, server in enumerate(servers)
    ]


def user_counts(text: str) -> list[float]:
    """Levels of a closed loop, comma-separated.

    Raises:
        LoadError: one is no number of users.
    """
    levels = rates(text)
    if broken := [level for level in levels if not level.is_integer()]:
        raise LoadError(f"there are no {broken[0]:g} users: a level is a whole number from 1 up, not {text!r}")
    return levels


def rates(text: str) -> list[float]:
    """Levels of an open loop, comma-separated, in arrivals a second.

    Raises:
        LoadError: one is no rate.
    """
    levels = []
    for part in filter(str.strip, text.split(",")):
        try:
            level = float(part)
        except ValueError:
            raise LoadError(f"{part.strip()!r} is no number, in {text!r}") from None
        if not 0 < level < math.inf:
            raise LoadError(f"a level is a number above 0, not {part.strip()!r}, in {text!r}")
        levels.append(level)
    return levels


def arrivals(step: Step) -> Iterator[float]:
    """When the requests of an open loop are due, in seconds since the step began; the same for both servers."""
    rng = random.Random(step.first_request)
    due = 0.0
    while due < step.seconds:
        yield due
        due += rng.expovariate(step.load) if step.loop == "poisson" else 1 / step.load
