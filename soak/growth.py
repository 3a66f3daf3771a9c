"""What was measured over time, and whether it grew."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

WARM_UP = 0.2  # of the time: caches fill, pools grow
FEWEST = 6  # samples after it, for a trend to be one


@dataclass(frozen=True, slots=True)
class Limit:
    """How much more the last third may be than the first: a share of it, and so much beside."""

    share: float
    beside: float


@dataclass(frozen=True, slots=True)
class Series:
    """One measure over time.

    Attributes:
        what: the measure; ``whose``, of which service, empty for the clients'.
        unit: of the values.
        points: seconds since the start, and the value.
    """

    what: str
    whose: str
    unit: str
    limit: Limit
    points: tuple[tuple[float, float], ...]

    @property
    def name(self) -> str:
        return f"{self.what} of {self.whose}" if self.whose else self.what


@dataclass(frozen=True, slots=True)
class Trend:
    """The medians of the first and of the last third of a series, its warm-up left out; ``allowed`` bounds the last."""

    first: float
    last: float
    allowed: float

    @property
    def flat(self) -> bool:
        return self.last <= self.allowed


def trend(series: Series, seconds: float) -> Trend | None:
    """The trend of a series over ``seconds``; None where it has too few values for one."""
    values = [value for at, value in series.points if at >= WARM_UP * seconds]
    if len(values) < FEWEST:
        return None
    third = len(values) // 3
    first, last = median(values[:third]), median(values[-third:])
    return Trend(first, last, first * (1 + series.limit.share) + series.limit.beside)
