"""A row of the table, and the table."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Row:
    """One measure.

    Attributes:
        ours: the median, with its unit.
        theirs: the same of what it is compared with.
        ratio: median of the ratios of each pair.
        reach: what was to be reached.
        ok: whether it was; None where there was nothing to reach.
        spread: lowest and highest of what the ratio, or the figure, is the median of.
    """

    measure: str
    ours: str
    theirs: str
    ratio: str
    reach: str
    ok: bool | None
    spread: str


def faster(measure: str, ours: Sequence[float], theirs: Sequence[float], reach: float) -> Row:
    """Pairs of seconds; ours are to be so many times shorter."""
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    our, their = (f"{statistics.median(seconds) * 1e3:.2f} ms" for seconds in (ours, theirs))
    return Row(measure, our, their, f"{ratio:.1f}", f"{reach:g} times faster", ratio >= reach, spread_of(ratios))


def beside(measure: str, ours: Sequence[float], theirs: Sequence[float]) -> Row:
    """Pairs of microseconds, for which nothing is to be reached."""
    return replace(at_most(measure, ours, theirs, 0), reach="", ok=None)


def at_most(measure: str, ours: Sequence[float], theirs: Sequence[float], reach: float) -> Row:
    """Pairs of microseconds; ours are to be at most so many times as long."""
    ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    our, their = (f"{statistics.median(each):.0f} µs" for each in (ours, theirs))
    return Row(measure, our, their, f"{ratio:.2f}", f"at most {reach:g} times", ratio <= reach, spread_of(ratios))


def below(measure: str, value: float, limit: float, unit: str, *, theirs: str = "", spread: str = "") -> Row:
    """One figure that is to stay below a limit, or at it."""
    return Row(measure, f"{value:.2f} {unit}", theirs, "", f"at most {limit:g} {unit}", value <= limit, spread)


def spread_of(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def table(rows: Sequence[Row]) -> str:
    """The rows as text, in columns."""
    names = [field.name for field in fields(Row)]
    cells = [names, *([_cell(getattr(row, name)) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _cell(value: str | bool | None) -> str:
    return value if isinstance(value, str) else {True: "yes", False: "MISSED", None: ""}[value]
