"""Memory, file descriptors and latency, sampled while the traffic runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TYPE_CHECKING

from faults.traffic import Outcome

from .growth import Limit, Series
from .traffic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from e2e.stack import Project, Service

    from .traffic import Traffic

SERVICES = ("frontend", "worker")
MEMORY, DESCRIPTORS = Limit(0.03, 8), Limit(0, 8)
MEDIAN, TAIL = Limit(0.25, 20), Limit(0.5, 50)
# Of all processes but the shell that counts.
_COUNT = "for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || ls $p/fd 2>/dev/null; done | grep -c ."


@dataclass(slots=True)
class Samples:
    """The values so far, by series: ``(measure, service)``; times in seconds since the start."""

    started: float = field(default_factory=time.monotonic)
    points: dict[tuple[str, str], list[tuple[float, float]]] = field(default_factory=dict)
    _seen: int = 0

    def take(self, project: Project, traffic: Traffic) -> None:
        """One more value of every series; latencies are those since the last."""
        at = round(time.monotonic() - self.started, 1)
        for name in SERVICES:
            service = project.service(name)
            self._add("memory", name, at, service.memory_mib)
            self._add("file descriptors", name, at, descriptors(service))
        done = traffic.done[self._seen :]
        self._seen += len(done)
        answers = [each.sent for each in done if each.kind is Kind.ANSWER]
        times = [1000 * sent.seconds for sent in answers if sent.outcome is Outcome.RIGHT]
        if len(times) > 1:
            self._add("latency, median", "", at, median(times))
            self._add("latency, 90th percentile", "", at, quantiles(times, n=10)[-1])

    def series(self) -> Iterator[Series]:
        for (what, whose), points in self.points.items():
            unit, limit = MEASURES[what]
            yield Series(what, whose, unit, limit, tuple(points))

    def _add(self, what: str, whose: str, at: float, value: float) -> None:
        self.points.setdefault((what, whose), []).append((at, round(value, 1)))


MEASURES = {
    "memory": ("MiB", MEMORY),
    "file descriptors": ("", DESCRIPTORS),
    "latency, median": ("ms", MEDIAN),
    "latency, 90th percentile": ("ms", TAIL),
}


def descriptors(service: Service) -> float:
    """Open file descriptors of all its processes."""
    return float(service.run("sh", "-c", _COUNT).text.strip())
