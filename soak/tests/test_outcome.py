"""A soak passes where all is flat and every request ended as it should; its page shows what it found."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from soak.growth import Limit, Series
from soak.outcome import Check, Soak, soaked, terminal_lines, write
from soak.plot import HEIGHT, WIDTH, nice, plot_of
from soak.samples import SERVICES, Samples
from soak.traffic import MIX, Done, Kind
from stand.traffic import Outcome, Sent

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 600.0
LEVEL = [(SECONDS * at / 30, 150.0) for at in range(30)]
CREEPING = [(at, 150 + at / 10) for at, _ in LEVEL]
MEMORY = ("memory", "worker")
RIGHT = [Done(kind, 1.0, Sent(0.0, 1.0, Outcome.RIGHT)) for kind in Kind]


@dataclass(frozen=True)
class Judged:
    """Traffic and samples, and the checks that do not hold."""

    name: str
    failing: list[Check]
    done: list[Done] = field(default_factory=lambda: RIGHT)
    worker: list[tuple[float, float]] = field(default_factory=lambda: LEVEL)
    missed: list[str] = field(default_factory=list)
    starts: set[str] = field(default_factory=lambda: {"10:00"})
    seconds: float = SECONDS


JUDGED = (
    Judged("all well", []),
    Judged(
        "memory creeps up",
        [Check("memory of worker is flat", ok=False, said="169, then 201 MiB; at most 182")],
        worker=CREEPING,
    ),
    Judged(
        "an answer is wrong",
        [Check("tool call", ok=False, said="1 of 2 as they should be: wrong: no call")],
        done=[*RIGHT, Done(Kind.TOOL_CALL, 2.0, Sent(0.0, 1.0, Outcome.WRONG, "no call"))],
    ),
    Judged(
        "an answer is an error: nothing was broken",
        [Check("short answer", ok=False, said="1 of 2 as they should be: error: 503")],
        done=[*RIGHT, Done(Kind.ANSWER, 2.0, Sent(0.0, 1.0, Outcome.ERROR, "503"))],
    ),
    Judged(
        "a kind was never sent",
        [Check("short answer", ok=False, said="0 of 0 as they should be")],
        done=RIGHT[1:],
    ),
    Judged(
        "too few samples to tell",
        [Check("memory of worker is flat", ok=False, said="cannot be told of 3 values")],
        worker=LEVEL[:3],
    ),
    Judged("no sample", [Check("memory of worker is flat", ok=False, said="no sample")], worker=[]),
    Judged(
        "samples were missed",
        [Check("every sample was taken", ok=False, said="60 of 66: 0; 1; 2; 3; 4; and 1 more")],
        missed=["0", "1", "2", "3", "4", "5"],
    ),
    Judged(
        "the worker restarted",
        [Check("worker did not restart", ok=False, said="it started at 10:00, then at 10:07")],
        starts={"10:07", "10:00"},
    ),
    Judged(
        "it was interrupted",
        [Check("it ran to its end", ok=False, said="it ended after 9.5 of 10 minutes")],
        seconds=570.0,
    ),
)


def samples_of(case: Judged) -> Samples:
    services = {(what, name): LEVEL for what in ("memory", "file descriptors") for name in SERVICES}
    clients = {(what, ""): LEVEL for what in ("latency, median", "latency, 90th percentile")}
    return Samples(
        points={**services, **clients, MEMORY: case.worker},
        taken=60,
        missed=case.missed,
        starts={"frontend": {"10:00"}, "worker": case.starts},
    )


def soak_of(case: Judged) -> Soak:
    return soaked("c0ffee", "stand-in", SECONDS, case.seconds, case.done, samples_of(case))


@pytest.mark.parametrize("case", JUDGED, ids=[case.name for case in JUDGED])
def test_judged(case: Judged) -> None:
    assert [check for check in soak_of(case).checks if not check.ok] == case.failing


def test_nothing_is_flat_of_what_was_never_sampled() -> None:
    soak = soaked("c0ffee", "stand-in", SECONDS, SECONDS, RIGHT, Samples())
    failing = {check.name for check in soak.checks if not check.ok}
    assert failing == {
        "every sample was taken",
        *(f"{name} did not restart" for name in SERVICES),
        *(f"{what} of {name} is flat" for what in ("memory", "file descriptors") for name in SERVICES),
        "latency, median is flat",
        "latency, 90th percentile is flat",
    }


def test_every_kind_is_in_the_mix() -> None:
    assert set(MIX) == set(Kind)


def test_what_is_written(tmp_path: Path) -> None:
    soak = soak_of(Judged("memory creeps up", [], worker=CREEPING))
    write(soak, tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert found["commit"] == "c0ffee"
    assert (found["minutes"], len(found["checks"]), len(found["series"])) == (10, 10 + len(Kind), 6)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    plots = [ElementTree.fromstring(f"<svg {rest.partition('</svg>')[0]}</svg>") for rest in page.split("<svg")[1:]]
    assert [len(svg.findall("polyline")) for svg in plots] == [2, 2, 2], "both services in one plot"
    assert "Not flat, or not right" in page
    assert any(line.startswith("memory of worker is flat") and "FAILED" in line for line in terminal_lines(soak))


FLAT = Series("memory", "frontend", "MiB", Limit(0, 8), tuple(LEVEL))


def test_a_plot_begins_at_zero_and_ends_at_a_round_number() -> None:
    plot = plot_of("memory", [FLAT, replace(FLAT, points=tuple(CREEPING))], warm_up=2)
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
