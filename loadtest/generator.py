"""The load generator watches itself: what it could not send or read in time, it must not blame on a server."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gevent
import psutil  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CPU_LIMIT_PERCENT, LAG_LIMIT_MS = 90.0, 250.0
SHARE = 0.1  # of the seconds of a run, or of the requests of an open loop, that may be above

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


def own_limits(samples: Sequence[Sample], late: Sequence[float]) -> Iterator[str]:
    """Why what was measured says more of the generator than of a server; nothing where it does not.

    Args:
        samples: of all processes that sent requests.
        late: how much later than due each request of an open loop was sent, in seconds.
    """
    busy = _share([sample.cpu_percent > CPU_LIMIT_PERCENT for sample in samples])
    if busy > SHARE:
        yield (
            f"the load generator was the limit: above {CPU_LIMIT_PERCENT:.0f} % of a core in {busy:.0%} of the "
            "seconds; more --processes share its work"
        )
    lagging = _share([sample.lag_ms > LAG_LIMIT_MS for sample in samples])
    if lagging > SHARE:
        yield (
            f"the load generator was the limit: its event loop came back more than {LAG_LIMIT_MS:.0f} ms late in "
            f"{lagging:.0%} of the seconds; it wants a core of its own, or another machine"
        )
    behind = _share([1000 * seconds > LAG_LIMIT_MS for seconds in late])
    if behind > SHARE:
        yield (
            f"the load generator was the limit: {behind:.0%} of the requests were sent more than {LAG_LIMIT_MS:.0f} ms "
            "after they were due"
        )


def _share(above: Sequence[bool]) -> float:
    return sum(above) / len(above) if above else 0.0
