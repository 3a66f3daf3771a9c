"""How a measured value is written."""

from __future__ import annotations

import math


def figure(value: float | None) -> str:
    """A value with three significant digits, ``-`` where there is none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    # Rounded up to the next decimal size, as 9.999 is, it has a digit more before the point.
    decimals = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(decimals, 0)}f}"
