"""Where values are drawn, and how they are written."""

from __future__ import annotations

from itertools import pairwise

import pytest
from charts import HEIGHT, WIDE, WIDTH, Chart, Curve, Sample, Span, at_one_load, distribution, over_load, over_time
from figures import figure


def points_of(chart: Chart, line: int = 0) -> list[tuple[float, float]]:
    """The coordinates of a line."""
    pairs = (pair.split(",") for pair in chart.lines[line].path.split())
    return [(float(x), float(y)) for x, y in pairs]


def labels(chart: Chart) -> tuple[list[str], list[str]]:
    return [tick.label for tick in chart.across], [tick.label for tick in chart.up]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "-"),
        (0, "0"),
        (0.012345, "0.0123"),
        (0.9996, "1.00"),
        (1.0, "1.00"),
        (12.345, "12.3"),
        (99.96, "100"),
        (1234.5, "1,230"),
        (1234567, "1,230,000"),
        (-12.345, "-12.3"),
    ],
)
def test_a_figure_has_three_digits(value: float | None, written: str) -> None:
    assert figure(value) == written


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [
        (0, ["0", "1"]),
        (0.3, ["0", "0.1", "0.2", "0.3"]),
        (1, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (101, ["0", "50", "100", "150"]),
        (5000, ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]),
        (1200000, ["0", "500,000", "1,000,000", "1,500,000"]),
    ],
)
def test_an_axis_from_zero_holds_all_in_round_steps(highest: float, ticks: list[str]) -> None:
    chart = over_load("", "", "users", [Curve("frontend", "", [(1, 0), (2, highest)])])
    assert labels(chart)[1] == ticks
    assert 0 <= points_of(chart)[1][1] <= HEIGHT


def test_the_rungs_of_a_ladder_stand_evenly() -> None:
    chart = over_load("", "ms", "users", [Curve("frontend", "", [(load, 1.0) for load in (1, 2, 4, 8)])])
    at = [x for x, _ in points_of(chart)]
    gaps = {round(after - before) for before, after in pairwise(at)}
    assert len(gaps) == 1, at
    assert 0 < at[0] < at[-1] < WIDTH


def test_a_knee_stands_at_its_load() -> None:
    chart = over_load("", "ms", "users", [Curve("frontend", "", [(1, 1), (2, 2), (8, 9)])], [(2, "both")])
    assert [(mark.x, mark.style) for mark in chart.marks] == [(points_of(chart)[1][0], "both")]


def test_loads_that_are_close_share_a_label() -> None:
    chart = over_load("", "ms", "users", [Curve("frontend", "", [(31, 1), (32, 1), (1, 1)])])
    assert labels(chart)[0] == ["1", "31", ""]


def test_one_load_has_bars_with_their_values() -> None:
    curves = [Curve(name, name, [(32, value)]) for name, value in (("frontend", 50), ("frontend before", 100))]
    chart = at_one_load("", "ms", "users", curves)
    assert labels(chart)[0] == ["frontend", "before"]
    assert [(bar.value, bar.y, bar.height) for bar in chart.bars] == [("50.0", 70.0, 70.0), ("100", 0.0, HEIGHT)]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([12, 18], ["10", "20"]),
        ([20, 20], ["20", "50"]),
        ([0, 0.04], ["0.1", "0.2"]),
        ([0, 3], ["0.1", "0.2", "0.5", "1", "2", "5"]),
        ([99, 1001], ["50", "100", "200", "500", "1,000", "2,000"]),
    ],
)
def test_a_distribution_lies_between_its_ticks(values: list[float], ticks: list[str]) -> None:
    chart = distribution("", "requests", [Sample("frontend", "", values)], (min(values), max(values)))
    assert labels(chart)[0] == ticks
    assert all(0 <= x <= WIDE for x, _ in points_of(chart)), points_of(chart)


@pytest.mark.parametrize("count", [1, 2, 199, 10_000])
def test_a_distribution_rises_from_none_to_all(count: int) -> None:
    values = [float(value) for value in range(count, 0, -1)]
    points = points_of(distribution("", "gaps", [Sample("frontend", "", values)], (1, count)))
    assert (points[0][1], points[-1][1]) == (HEIGHT, 0)
    assert points == sorted(points, key=lambda point: (point[0], -point[1])), "ever to the right, and up"
    assert len(points) <= 201


def test_half_of_the_values_are_below_the_middle() -> None:
    points = points_of(distribution("", "gaps", [Sample("frontend", "", [10, 10, 1000, 1000])], (10, 1000)))
    assert [point for point in points if point[1] == HEIGHT / 2] == [(0, HEIGHT / 2)]


def test_time_is_shaded_while_a_server_is_under_load() -> None:
    chart = over_time("", "MiB", [Curve("worker", "", [(0, 5), (10, 5)])], [Span("frontend", "frontend", 0, 5)], 10)
    assert [(band.x, band.width, band.said) for band in chart.bands] == [(0, WIDE / 2, "frontend")]
    assert points_of(chart) == [(0, 0), (WIDE, 0)]
    assert labels(chart)[0] == ["0", "2", "4", "6", "8", "10"]
