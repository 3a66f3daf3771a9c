"""A soak passes where all is flat and every request ended as it should; its page shows what it found."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from faults.traffic import Outcome, Sent
from soak.growth import Limit, Series
from soak.outcome import Check, soaked, terminal_lines, write
from soak.plot import HEIGHT, WIDTH, nice, plot_of
from soak.traffic import MIX, Done, Kind

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 600.0
FLAT = Series("memory", "frontend", "MiB", Limit(0, 8), tuple((SECONDS * at / 30, 150.0) for at in range(30)))
CREEPING = replace(FLAT, whose="worker", points=tuple((at, 150 + at / 10) for at, _ in FLAT.points))
RIGHT = [Done(kind, 1.0, Sent(0.0, 1.0, Outcome.RIGHT)) for kind in Kind]


@dataclass(frozen=True)
class Judged:
    """Traffic and a series, and the checks that do not hold."""

    name: str
    done: list[Done]
    series: Series
    failing: list[Check]


JUDGED = (
    Judged("all well", RIGHT, FLAT, []),
    Judged(
        "memory creeps up",
        RIGHT,
        CREEPING,
        [Check("memory of worker is flat", ok=False, said="169, then 201 MiB; at most 177")],
    ),
    Judged(
        "an answer is wrong",
        [*RIGHT, Done(Kind.TOOL_CALL, 2.0, Sent(0.0, 1.0, Outcome.WRONG, "no call"))],
        FLAT,
        [Check("tool call", ok=False, said="1 of 2 as they should be: wrong: no call")],
    ),
    Judged(
        "an answer is an error: nothing was broken",
        [*RIGHT, Done(Kind.ANSWER, 2.0, Sent(0.0, 1.0, Outcome.ERROR, "503"))],
        FLAT,
        [Check("short answer", ok=False, said="1 of 2 as they should be: error: 503")],
    ),
    Judged(
        "a kind was never sent",
        RIGHT[1:],
        FLAT,
        [Check("short answer", ok=False, said="0 of 0 as they should be")],
    ),
    Judged(
        "too short to tell",
        RIGHT,
        replace(FLAT, points=FLAT.points[:3]),
        [Check("memory of frontend is flat", ok=False, said="cannot be told of 3 values")],
    ),
)


@pytest.mark.parametrize("case", JUDGED, ids=[case.name for case in JUDGED])
def test_judged(case: Judged) -> None:
    soak = soaked("stand-in", SECONDS, case.done, [case.series])
    assert [check for check in soak.checks if not check.ok] == case.failing


def test_every_kind_is_in_the_mix() -> None:
    assert set(MIX) == set(Kind)


def test_what_is_written(tmp_path: Path) -> None:
    soak = soaked("stand-in", SECONDS, RIGHT, [FLAT, CREEPING])
    write(soak, tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert (found["minutes"], len(found["checks"]), len(found["series"])) == (10, 2 + len(Kind), 2)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    svg = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    assert len(svg.findall("polyline")) == 2, "both services in one plot"
    assert "Not flat, or not right" in page
    assert any(line.startswith("memory of worker is flat") and "FAILED" in line for line in terminal_lines(soak))


def test_a_plot_begins_at_zero_and_ends_at_a_round_number() -> None:
    plot = plot_of("memory", [FLAT, CREEPING], warm_up=2)
    assert [tick.label for tick in plot.up] == ["0", "100", "200", "300", "400"][: len(plot.up)]
    assert [tick.label for tick in plot.across] == ["0", "2.5", "5", "7.5", "10"]
    first, *_, last = plot.lines[0].path.split()
    assert (first, last) == (f"0.0,{HEIGHT - HEIGHT * 150 / 400:.1f}", f"{WIDTH * 580 / 600:.1f},125.0")
    assert plot.warm_up == WIDTH / 5


@pytest.mark.parametrize(
    ("highest", "end"), [(0, 1), (0.3, 0.4), (1, 1), (1.1, 2), (208, 400), (999, 1000), (1000, 1000), (2350, 4000)]
)
def test_the_end_of_an_axis(highest: float, end: float) -> None:
    assert nice(highest) == pytest.approx(end)
