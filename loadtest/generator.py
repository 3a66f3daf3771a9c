"""The load generator watches itself: what it could not send or read in time, it must not blame on a server."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gevent
import psutil  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from summary import Done

CPU_LIMIT_PERCENT, LAG_LIMIT_MS = 90.0, 250.0
SHARE = 0.1  # of the seconds of a step, or of its requests in an open loop, that may be above; one always may

_BEAT_S, _BEATS = 0.05, 20  # a sample is a second


@dataclass(frozen=True, slots=True)
class Sample:
    """One second of a process that sends requests.

    Attributes:
        at: when it ended, in seconds since its step, later since the test began.
        cpu_percent: of one core.
        lag_ms: how much later than asked its event loop came back, at the worst of 20 times.
    """

    at: float
    cpu_percent: float
    lag_ms: float


def watch(seconds: float) -> list[Sample]:
    """Samples this process for so long."""
    process = psutil.Process()
    began = before = time.perf_counter()
    process.cpu_percent()
    samples = []
    while before < began + seconds:
        lag = 0.0
        for _ in range(_BEATS):
            gevent.sleep(_BEAT_S)
            now = time.perf_counter()
            lag = max(lag, now - before - _BEAT_S)
            before = now
        samples.append(Sample(before - began, process.cpu_percent(), lag * 1000))
    return samples


def own_limits(done: Done) -> Iterator[str]:
    """Why a step says more of the generator than of a server; nothing where it does not.

    A step is judged by itself: most of a ladder is easy, and would hide that its highest level was too much.
    """
    step = done.step
    limit = f"the load generator was the limit in step {step.number + 1} ({step.server}, {step.load:g} {step.unit})"
    busy = _share([sample.cpu_percent > CPU_LIMIT_PERCENT for sample in done.generator])
    if busy:
        yield (
            f"{limit}: above {CPU_LIMIT_PERCENT:.0f} % of a core in {busy:.0%} of the "
            "seconds; more --processes share its work"
        )
    lagging = _share([sample.lag_ms > LAG_LIMIT_MS for sample in done.generator])
    if lagging:
        yield (
            f"{limit}: its event loop came back more than {LAG_LIMIT_MS:.0f} ms late in "
            f"{lagging:.0%} of the seconds; it wants a core of its own, or another machine"
        )
    behind = _share([1000 * seconds > LAG_LIMIT_MS for seconds in done.late])
    if behind:
        yield (f"{limit}: {behind:.0%} of the requests were sent more than {LAG_LIMIT_MS:.0f} ms after they were due")


def _share(above: Sequence[bool]) -> float:
    """The share that is above, 0 where that is no more than may be."""
    return sum(above) / len(above) if sum(above) > max(1, SHARE * len(above)) else 0.0
