"""Curves and bars, in the coordinates of an inline SVG. Each chart's origin is above and left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures import figure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH, HEIGHT = 270.0, 140.0
WIDE = 340.0
_INSET = 14.0  # what is at the ends of an axis of loads stands clear of them
_LABEL_GAP = 30.0  # between two labels of the x-axis that can both be read
_FINEST = 0.1  # ms: below it a client's clock says little, and a logarithm would give it half of the plot
_CURVE_POINTS = 200


@dataclass(frozen=True, slots=True)
class Curve:
    """Values to draw, in their own units; ``style`` is a CSS class."""

    name: str
    style: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Measured values whose distribution is drawn, in milliseconds, in any order."""

    name: str
    style: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the x-axis in which one thing went on, from ``began`` to ``ended``."""

    name: str
    style: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where it is, and its label, empty where a neighbour's stands."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    said: str


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    style: str
    path: str
    dots: tuple[Dot, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A box that stands on the x-axis; ``value`` is written above it."""

    style: str
    x: float
    y: float
    width: float
    height: float
    value: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An upright line across the chart."""

    x: float
    style: str
    label: str


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of the x-axis, shaded from top to bottom."""

    x: float
    width: float
    style: str
    said: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot of ``width`` by ``height``; ``unit`` is of the y-axis, ``along`` says what the x-axis is."""

    title: str
    unit: str
    along: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    marks: tuple[Mark, ...] = ()
    bands: tuple[Band, ...] = ()
    width: float = WIDTH
    height: float = HEIGHT


def over_load(
    title: str, unit: str, load_unit: str, curves: Sequence[Curve], knees: Sequence[tuple[float, str]] = ()
) -> Chart:
    """Curves over several loads, from zero up. Loads are spaced by their logarithm: a ladder's rungs stand evenly.

    Args:
        knees: the load of a knee, and the CSS class of whose it is.
    """
    loads = sorted({load for curve in curves for load, _ in curve.points})
    x = _logarithmic(loads[0], loads[-1], _INSET, WIDTH - _INSET)
    y, up = _from_zero([value for curve in curves for _, value in curve.points])
    return Chart(
        title,
        unit,
        load_unit,
        _readable([Tick(x(load), f"{load:g}") for load in loads]),
        up,
        lines=tuple(
            Line(
                curve.name,
                curve.style,
                _path([(x(load), y(value)) for load, value in curve.points]),
                tuple(
                    Dot(x(load), y(value), f"{curve.name}, {load:g} {load_unit}: {figure(value)} {unit}")
                    for load, value in curve.points
                ),
            )
            for curve in curves
        ),
        marks=tuple(Mark(x(load), style, "knee") for load, style in knees),
    )


def at_one_load(title: str, unit: str, load_unit: str, curves: Sequence[Curve]) -> Chart:
    """The same where there is one load only: a bar for each curve."""
    y, up = _from_zero([value for curve in curves for _, value in curve.points])
    share = WIDTH / len(curves)
    width = min(share * 0.6, 48.0)
    bars, across = [], []
    for index, curve in enumerate(curves):
        ((_, value),) = curve.points
        middle = round(share * (index + 0.5), 1)
        bars.append(
            Bar(curve.style, round(middle - width / 2, 1), y(value), width, round(HEIGHT - y(value), 1), figure(value))
        )
        across.append(Tick(middle, curve.name.split()[-1]))  # of "frontend before": before, beside its frontend
    ((load, _),) = curves[0].points
    return Chart(title, unit, f"{load:g} {load_unit}", tuple(across), up, bars=tuple(bars))


def distribution(title: str, of: str, samples: Sequence[Sample], within: tuple[float, float]) -> Chart:
    """The share of values that are no greater than x, for samples in milliseconds, over a logarithmic x-axis.

    Args:
        of: what the values belong to, in the plural.
        within: the lowest and the highest value of all charts that are to be compared with this one.
    """
    lowest, highest = max(within[0], _FINEST), max(within[1], _FINEST)
    ticks = _decimal_ticks(lowest, highest)
    x = _logarithmic(ticks[0], ticks[-1], 0, WIDE)

    def y(percent: float) -> float:
        return round(HEIGHT - HEIGHT * percent / 100, 1)

    return Chart(
        title,
        f"% of {of}",
        "ms",
        _readable([Tick(x(at), _label(at)) for at in ticks]),
        tuple(Tick(y(percent), f"{percent}") for percent in (0, 25, 50, 75, 100)),
        lines=tuple(
            Line(
                f"{sample.name}, {len(sample.values):,} values",
                sample.style,
                _path([(x(max(value, ticks[0])), y(percent)) for value, percent in _cumulative(sample.values)]),
            )
            for sample in samples
        ),
        width=WIDE,
    )


def over_time(title: str, unit: str, curves: Sequence[Curve], spans: Sequence[Span], seconds: float) -> Chart:
    """Curves over ``seconds`` since the start, from zero up, with what went on shaded behind them."""
    y, up = _from_zero([value for curve in curves for _, value in curve.points])
    step = _step(seconds)

    def x(at: float) -> float:
        return round(WIDE * min(max(at, 0.0), seconds) / seconds, 1)

    return Chart(
        title,
        unit,
        "s",
        _readable([Tick(x(step * index), _label(step * index)) for index in range(math.floor(seconds / step) + 1)]),
        up,
        lines=tuple(
            Line(curve.name, curve.style, _path([(x(at), y(value)) for at, value in curve.points])) for curve in curves
        ),
        bands=tuple(
            Band(x(span.began), round(x(span.ended) - x(span.began), 1), span.style, span.name) for span in spans
        ),
        width=WIDE,
    )


def _cumulative(values: Sequence[float]) -> list[tuple[float, float]]:
    """Points of value and percent, not many however many values there are; the last is the highest value."""
    ranked = sorted(values)
    count = len(ranked)
    ranks = sorted({math.ceil(count * part / _CURVE_POINTS) for part in range(1, _CURVE_POINTS + 1)})
    return [(ranked[0], 0.0), *((ranked[rank - 1], 100 * rank / count) for rank in ranks)]


def _from_zero(values: Sequence[float]) -> tuple[Callable[[float], float], tuple[Tick, ...]]:
    """A linear y-axis that holds all values: what turns one into a coordinate, and the ticks."""
    step = _step(max(values, default=0.0))
    count = max(1, math.ceil(round(max(values, default=0.0) / step, 9)))

    def y(value: float) -> float:
        return round(HEIGHT - HEIGHT * value / (step * count), 1)

    return y, tuple(Tick(y(step * index), _label(step * index)) for index in range(count + 1))


def _step(highest: float) -> float:
    """Between two ticks of an axis from zero: 1, 2 or 5 of a decimal size, so that there are three to five."""
    if highest <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(highest / 5))
    return next(size * step for step in (1, 2, 5, 10) if highest <= 5 * size * step * (1 + 1e-9))


def _logarithmic(lowest: float, highest: float, begin: float, end: float) -> Callable[[float], float]:
    """What turns a value into a coordinate from ``begin`` to ``end``; the middle where the two are the same."""
    if lowest == highest:
        return lambda _: round((begin + end) / 2, 1)
    span = math.log(highest / lowest)
    return lambda value: round(begin + (end - begin) * math.log(value / lowest) / span, 1)


def _decimal_ticks(lowest: float, highest: float) -> list[float]:
    """1, 2 and 5 of each decimal size from the last below ``lowest`` to the first above ``highest``; two at least."""
    sizes = range(math.floor(math.log10(lowest)) - 1, math.ceil(math.log10(highest)) + 2)
    ticks = [float(f"{mantissa}e{size}") for size in sizes for mantissa in (1, 2, 5)]
    first = max(index for index, tick in enumerate(ticks) if tick <= lowest)
    last = next(index for index, tick in enumerate(ticks) if tick >= highest and index > first)
    return ticks[first : last + 1]


def _readable(ticks: Sequence[Tick]) -> tuple[Tick, ...]:
    """The ticks, without those labels that would run into the one before."""
    shown: list[Tick] = []
    free_from = -math.inf
    for tick in ticks:
        if tick.at >= free_from:
            shown.append(tick)
            free_from = tick.at + _LABEL_GAP
        else:
            shown.append(Tick(tick.at, ""))
    return tuple(shown)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _label(value: float) -> str:
    return f"{value:,.10g}"
