"""From records to figures: one line for each step."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from generator import Sample
    from plan import Step
    from record import Record

PERCENTILES = (50, 95, 99)
MEASURES = ("ttft", "ttst", "itl", "tpot", "e2e")
# Past the knee: throughput that falls from one level to the next, or grows by less than KNEE_GROWTH while the 95th
# percentile of TTFT is above KNEE_TTFT times that of the lowest level.
KNEE_GROWTH, KNEE_TTFT = 1.10, 2.0


@dataclass(frozen=True, slots=True)
class Done:
    """A step that has been run.

    Attributes:
        began: in seconds since the test.
        generator: of all processes that sent requests.
        late: how much later than due each request of an open loop was sent, in seconds.
    """

    step: Step
    began: float
    records: list[Record] = field(default_factory=list)
    generator: list[Sample] = field(default_factory=list)
    late: list[float] = field(default_factory=list)

    @property
    def measured(self) -> list[Record]:
        return [record for record in self.records if not record.warm_up]


def percentile(samples: Sequence[float], percent: int) -> float | None:
    """The nearest-rank percentile: always a value that was measured."""
    if not samples:
        return None
    return sorted(samples)[math.ceil(len(samples) * percent / 100) - 1]


def samples(records: Iterable[Record], measure: str) -> list[float]:
    """All values of a measure, in milliseconds."""
    if measure == "itl":
        return [1000 * gap for record in records for gap in record.itl]
    values = (getattr(record, measure) for record in records)
    return [1000 * value for value in values if value is not None]


def figures(done: Done) -> dict[str, Any]:
    """The figures of one step, as they stand in ``run.json``.

    Latencies are those of the requests sent after the warm-up. Throughput counts the answers that were complete between
    the end of the warm-up and the end of the step, whenever they were asked for: so it says what the server got done
    under this load, also where more was asked than it can do. Users are those in the closed loop; in an open one, the
    mean number of requests in flight.
    """
    step, measured = done.step, done.measured
    opens, closes = done.began + step.warm_up, done.began + step.seconds
    window = step.seconds - step.warm_up
    in_time = [record for record in done.records if opens <= (record.finished or -1) <= closes]
    output_rate = sum(record.output_tokens or 0 for record in in_time) / window
    in_flight = step.load if step.loop == "closed" else sum(record.e2e or 0 for record in in_time) / window
    latencies = {
        f"{measure}_p{percent}": percentile(samples(measured, measure), percent)
        for measure in MEASURES
        for percent in PERCENTILES
    }
    return {
        "step": step.number,
        "server": step.server,
        "load": step.load,
        "unit": step.unit,
        "began": done.began,
        "ended": closes,
        "requests": len(measured),
        "failures": sum(record.failure is not None for record in measured),
        **latencies,
        "output_tokens_per_s": output_rate,
        "output_tokens_per_s_per_user": output_rate / in_flight if in_flight else None,
        "prompt_tokens_per_s": sum(record.prompt_tokens or 0 for record in in_time) / window,
        "knee": False,
    }


def mark_knees(steps: list[dict[str, Any]]) -> None:
    """Marks the knee of each server in its steps: the last level before the first that is past it.

    A level is worth it that brings at least a tenth more output tokens a second than the one below, or not fewer while
    the 95th percentile of TTFT stays within twice that of the lowest. Where each one is, no knee was found; nor has a
    server one that answered nothing.
    """
    for server in {step["server"] for step in steps}:
        ladder = sorted((step for step in steps if step["server"] == server), key=lambda step: step["load"])
        if len({step["load"] for step in ladder}) < 2 or not any(step["output_tokens_per_s"] for step in ladder):
            continue
        lowest = knee = ladder[0]
        for step in ladder[1:]:
            growth = step["output_tokens_per_s"] / (knee["output_tokens_per_s"] or 1)
            quick = None not in (step["ttft_p95"], lowest["ttft_p95"]) and (
                step["ttft_p95"] <= KNEE_TTFT * lowest["ttft_p95"]
            )
            if not (growth >= KNEE_GROWTH or (growth >= 1 and quick)):
                knee["knee"] = True
                break
            knee = step


def failures(steps: Iterable[Done]) -> list[dict[str, Any]]:
    """Failures by kind, the most frequent first, each with the first body that was received."""
    counts: Counter[tuple[str, int | None, str]] = Counter()
    bodies: dict[tuple[str, int | None, str], str | None] = {}
    for done in steps:
        for record in done.measured:
            if record.failure is not None:
                key = (record.server, record.status, record.failure)
                counts[key] += 1
                bodies.setdefault(key, record.body)
    return [
        {
            "server": server,
            "status": status,
            "failure": failure,
            "count": count,
            "body": bodies[server, status, failure],
        }
        for (server, status, failure), count in counts.most_common()
    ]
