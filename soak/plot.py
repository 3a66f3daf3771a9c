"""Lines over time, in the coordinates of an inline SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .growth import Series

WIDTH, HEIGHT = 640.0, 200.0
TICKS = 4


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where it is, and its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of ``WIDTH`` by ``HEIGHT``, its origin above and left; ``warm_up`` is where that ends, on the x-axis."""

    title: str
    lines: tuple[Line, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    warm_up: float
    width: float = WIDTH
    height: float = HEIGHT


def plot_of(title: str, series: Sequence[Series], warm_up: float) -> Plot:
    """A plot of series in one unit, from zero up: what is flat looks flat. ``warm_up`` in minutes."""
    minutes = nice(max((at for each in series for at, _ in each.points), default=0.0) / 60)
    top = nice(max((value for each in series for _, value in each.points), default=0.0))

    def x(at: float) -> float:
        return round(WIDTH * at / (60 * minutes), 1)

    def y(value: float) -> float:
        return round(HEIGHT - HEIGHT * value / top, 1)

    unit = series[0].unit
    return Plot(
        f"{title} [{unit}]" if unit else title,
        tuple(
            Line(each.whose or each.what, " ".join(f"{x(at)},{y(value)}" for at, value in each.points))
            for each in series
        ),
        tuple(Tick(WIDTH * step / TICKS, f"{minutes * step / TICKS:g}") for step in range(TICKS + 1)),
        tuple(Tick(HEIGHT - HEIGHT * step / TICKS, f"{top * step / TICKS:g}") for step in range(TICKS + 1)),
        x(60 * warm_up),
    )


def nice(highest: float) -> float:
    """The end of an axis: 1, 2, 4, 6 or 8 of the size of ``highest``, and no less than it."""
    if highest <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(highest))
    return next(step * size for step in (1, 2, 4, 6, 8, 10) if step * size >= highest)
