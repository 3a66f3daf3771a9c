"""Which charts a load run has."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from charts import Curve, Sample, Span, at_one_load, distribution, over_load, over_time
from summary import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from charts import Chart
    from recorded import Latencies, Run

_THROUGHPUT = {
    "output_tokens_per_s": "Output tokens",
    "output_tokens_per_s_per_user": "Output tokens per user",
    "prompt_tokens_per_s": "Prompt tokens",
}
_LATENCY = {
    "ttft": "TTFT",
    "ttst": "First to second token",
    "itl": "Inter-token latency",
    "tpot": "Time per output token",
    "e2e": "End-to-end latency",
}
_COLOURS = 6


@dataclass(frozen=True, slots=True)
class Drawn:
    """A run among those that are drawn together; ``suffix`` tells its servers from those of the others."""

    run: Run
    suffix: str


def runs_to_draw(run: Run, previous: Run | None) -> list[Drawn]:
    return [Drawn(run, ""), *([Drawn(previous, " before")] if previous else [])]


def throughput_charts(drawn: Sequence[Drawn]) -> list[Chart]:
    return [
        chart for figure, title in _THROUGHPUT.items() if (chart := _figure_over_load(drawn, figure, title, "tokens/s"))
    ]


def latency_charts(drawn: Sequence[Drawn]) -> list[list[Chart]]:
    """A row for each latency, a chart in it for each percentile."""
    rows = [
        [
            chart
            for percent in PERCENTILES
            if (chart := _figure_over_load(drawn, f"{latency}_p{percent}", f"{title}, p{percent}", "ms"))
        ]
        for latency, title in _LATENCY.items()
    ]
    return [row for row in rows if row]


def _figure_over_load(drawn: Sequence[Drawn], figure: str, title: str, unit: str) -> Chart | None:
    run = drawn[0].run
    curves = [curve for server in run.servers for each in drawn if (curve := _curve(each, server, figure))]
    if len(run.loads) == 1:
        (load,) = run.loads
        curves = [
            Curve(curve.name, curve.style, [point for point in curve.points if point[0] == load]) for curve in curves
        ]
        curves = [curve for curve in curves if curve.points]
        return at_one_load(title, unit, run.load_unit, curves) if curves else None
    return over_load(title, unit, run.load_unit, curves, _knees(run)) if curves else None


def _curve(drawn: Drawn, server: str, figure: str) -> Curve | None:
    levels = [level for level in drawn.run.levels.values() if level.server == server and figure in level.figures]
    name = f"{server}{drawn.suffix}"
    return Curve(name, name, [(level.load, level.figures[figure]) for level in levels]) if levels else None


def _knees(run: Run) -> list[tuple[float, str]]:
    knees = sorted((level.load, level.server) for level in run.levels.values() if level.knee)
    by_load = [(load, [server for _, server in same]) for load, same in groupby(knees, key=lambda knee: knee[0])]
    return [(load, servers[0] if len(servers) == 1 else "both") for load, servers in by_load]


def distribution_charts(drawn: Sequence[Drawn]) -> list[list[Chart]]:
    """A row for each load: the distribution of TTFT, and that of each gap between tokens."""
    run = drawn[0].run
    columns = [
        _distributions(drawn, "TTFT", "requests", lambda latencies: latencies.ttft),
        _distributions(drawn, "Inter-token latency", "gaps", lambda latencies: latencies.itl),
    ]
    rows = [[column[load] for column in columns if load in column] for load in run.loads]
    return [row for row in rows if row]


def _distributions(
    drawn: Sequence[Drawn], title: str, of: str, values_of: Callable[[Latencies], list[float]]
) -> dict[float, Chart]:
    run = drawn[0].run
    samples = {load: list(_samples(drawn, load, values_of)) for load in run.loads}
    every = [value for of_load in samples.values() for sample in of_load for value in sample.values]
    return {
        load: distribution(f"{title} at {run.load_named(load)}", of, of_load, (min(every), max(every)))
        for load, of_load in samples.items()
        if of_load
    }


def _samples(drawn: Sequence[Drawn], load: float, values_of: Callable[[Latencies], list[float]]) -> Iterator[Sample]:
    # The runs before come first, so that they lie below.
    for each in reversed(drawn):
        for server in drawn[0].run.servers:
            latencies = each.run.latencies.get((server, load))
            if latencies and (values := values_of(latencies)):
                name = f"{server}{each.suffix}"
                yield Sample(name, name, values)


def container_charts(facts: Mapping[str, Any]) -> list[Chart]:
    """CPU and memory of each container over time."""
    samples = facts["containers"]
    if not samples:
        return []
    by_name: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for sample in samples:
        by_name[sample["name"]].append(sample)
    styles = {name: f"colour-{index % _COLOURS}" for index, name in enumerate(sorted(by_name))}

    def curves(measure: str) -> list[Curve]:
        return [
            Curve(name, style, [(sample["at"], sample[measure]) for sample in by_name[name]])
            for name, style in styles.items()
        ]

    seconds = _seconds(facts)
    return [
        over_time("CPU", "% of one core", curves("cpu_percent"), _spans(facts), seconds),
        over_time("Memory", "MiB", curves("memory_mib"), _spans(facts), seconds),
    ]


def generator_charts(facts: Mapping[str, Any]) -> list[Chart]:
    """The load generator's own CPU, and how late it was."""
    samples = facts["generator"]
    if not samples:
        return []

    def chart(title: str, unit: str, measure: str) -> Chart:
        curve = Curve("load generator", "colour-0", [(sample["at"], sample[measure]) for sample in samples])
        return over_time(title, unit, [curve], _spans(facts), _seconds(facts))

    return [chart("CPU", "% of one core", "cpu_percent"), chart("Lag of the event loop", "ms", "lag_ms")]


def _spans(facts: Mapping[str, Any]) -> list[Span]:
    return [
        Span(f"{step['server']}, {step['load']:g} {step['unit']}", step["server"], step["began"], step["ended"])
        for step in facts["steps"]
    ]


def _seconds(facts: Mapping[str, Any]) -> float:
    ends: list[float] = [step["ended"] for step in facts["steps"]]
    sampled: list[float] = [sample["at"] for sample in (*facts["containers"], *facts["generator"])]
    return max(1.0, *ends, *sampled)
