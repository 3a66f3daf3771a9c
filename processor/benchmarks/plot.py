"""Lines in a small SVG file, both axes from what is given."""

from __future__ import annotations

from math import ceil, log10
from typing import TYPE_CHECKING

from jinja2 import Template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 520, 260
COLORS = ("#0b6e4f", "#c1440e", "#555555", "#1f5fa8", "#8a5a00")
TEMPLATE = Template(
    """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="-70 -40 {{ width + 210 }} {{ height + 90 }}"
     font-family="sans-serif" font-size="12" fill="#222">
<rect x="-70" y="-40" width="{{ width + 210 }}" height="{{ height + 90 }}" fill="#fff"/>
<text x="0" y="-20" font-size="14" font-weight="bold">{{ title | e }}</text>
{%- for at, label in up %}
<path d="M0 {{ at }}H{{ width }}" stroke="#ddd"/><text x="-8" y="{{ at + 4 }}" text-anchor="end">{{ label }}</text>
{%- endfor %}
{%- for at, label in across %}
<text x="{{ at }}" y="{{ height + 18 }}" text-anchor="middle">{{ label }}</text>
{%- endfor %}
<text x="{{ width / 2 }}" y="{{ height + 38 }}" text-anchor="middle">{{ across_title | e }}</text>
{%- for line in lines %}
<polyline fill="none" stroke="{{ line.color }}" stroke-width="2" points="{{ line.points }}"/>
<text x="{{ width + 8 }}" y="{{ line.end + 4 }}" fill="{{ line.color }}">{{ line.name | e }}</text>
{%- endfor %}
</svg>
""",
    trim_blocks=False,
)


def svg(title: str, across_title: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """A plot with logarithmic axes.

    Args:
        title: what is plotted, with its unit.
        across_title: what stands on the x-axis.
        lines: points (x, y), all above 0, by the name of their line.
    """
    points = [point for line in lines.values() for point in line]
    xs = sorted({x for x, _ in points})
    left, right = log10(xs[0]), log10(xs[-1])
    low, high = int(log10(min(y for _, y in points)) // 1), ceil(log10(max(y for _, y in points)))

    def x_of(x: float) -> float:
        return round(WIDTH * (log10(x) - left) / (right - left), 1)

    def y_of(y: float) -> float:
        return round(HEIGHT * (high - log10(y)) / (high - low), 1)

    drawn = [
        {
            "name": name,
            "color": COLORS[number],
            "points": " ".join(f"{x_of(x)},{y_of(y)}" for x, y in line),
            "end": y_of(line[-1][1]),
        }
        for number, (name, line) in enumerate(lines.items())
    ]
    drawing: str = TEMPLATE.render(
        title=title,
        across_title=across_title,
        width=WIDTH,
        height=HEIGHT,
        across=[(x_of(x), f"{x:,.0f}") for x in xs],
        up=[(y_of(10.0**power), f"{10.0**power:g}") for power in range(low, high + 1)],
        lines=drawn,
    )
    return drawing
