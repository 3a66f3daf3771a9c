"""What grows is told from what is flat, whatever happens while caches fill."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from soak.growth import Limit, Series, trend

SECONDS = 100.0
LIMIT = Limit(share=0.1, beside=5)


@dataclass(frozen=True)
class Course:
    """A series by its values, at equal distances, and whether it is flat; None where that cannot be told."""

    name: str
    values: list[float]
    flat: bool | None


COURSES = (
    Course("level", [100.0] * 30, flat=True),
    Course("steps up within the limit", [100.0] * 20 + [114.0] * 10, flat=True),
    Course("steps up beyond the limit", [100.0] * 20 + [116.0] * 10, flat=False),
    Course("creeps up", [100.0 + step for step in range(30)], flat=False),
    Course("falls", [200.0 - step for step in range(30)], flat=True),
    Course("fills in the warm-up", [10.0, 20.0, 40.0, 60.0, 80.0] + [100.0] * 25, flat=True),
    Course("has one peak at the end", [100.0] * 29 + [900.0], flat=True),
    Course("has one dip at the start", [100.0] * 6 + [1.0] + [100.0] * 23, flat=True),
    Course("has too few values", [100.0] * 5, flat=None),
    Course("has none", [], flat=None),
)


@pytest.mark.parametrize("course", COURSES, ids=[course.name for course in COURSES])
def test_a_course_that(course: Course) -> None:
    points = tuple((SECONDS * place / len(course.values), value) for place, value in enumerate(course.values))
    found = trend(Series("memory", "frontend", "MiB", LIMIT, points), SECONDS)
    assert (found and found.flat) == course.flat, found
