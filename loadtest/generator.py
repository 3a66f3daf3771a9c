"""The load generator watches itself: what it could not send or read in time, it must not blame on a server."""

from __future__ import annotations

import time
from dataclasses import dataclass

import gevent
import psutil  # type: ignore[import-untyped]

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
