"""Memory, file descriptors and latency, sampled while the traffic runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TYPE_CHECKING

from stand.stack import StackError
from stand.traffic import Outcome

from .growth import Limit, Series
from .traffic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stand.stack import Project, Service

    from .traffic import Done

SERVICES = ("frontend", "worker")
MEMORY, DESCRIPTORS = Limit(0.03, 8), Limit(0, 8)
MEDIAN, TAIL = Limit(0.25, 20), Limit(0.5, 50)
# Of all processes but the shell that counts.
_COUNT = "for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || ls $p/fd 2>/dev/null; done | grep -c ."
# What Docker does where the machine is full or a container restarts: no answer in time, a refusal (both are `OSError`),
# no container, an answer without figures.
_NO_SAMPLE = (OSError, StackError, LookupError, ValueError)


@dataclass(slots=True)
class Samples:
    """What was sampled so far; times in seconds since the start.

    Attributes:
        points: the values, by ``(measure, service)``.
        taken: how many samples of a service there are.
        missed: the others, each with why there is none.
        seconds: how long samples were taken.
        starts: when the main process of each service started: more than once where it restarted.
    """

    started: float = field(default_factory=time.monotonic)
    points: dict[tuple[str, str], list[tuple[float, float]]] = field(default_factory=dict)
    taken: int = 0
    missed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    starts: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in SERVICES})
    _seen: int = 0

    def take(self, project: Project, done: Sequence[Done]) -> None:
        """One more sample of every service; latencies are those of the requests ``done`` since the last."""
        at = round(time.monotonic() - self.started, 1)
        for name in SERVICES:
            try:
                service = project.service(name)
                self.starts[name].add(service.started_at)
                self._add("memory", name, at, service.memory_mib)
                self._add("file descriptors", name, at, descriptors(service))
            except _NO_SAMPLE as error:
                self.missed.append(f"{name} after {at:.0f} s: {error!r}")
            else:
                self.taken += 1
        new = done[self._seen :]
        self._seen += len(new)
        answers = [each.sent for each in new if each.kind is Kind.ANSWER]
        times = [1000 * sent.seconds for sent in answers if sent.outcome is Outcome.RIGHT]
        if len(times) > 1:
            self._add("latency, median", "", at, median(times))
            self._add("latency, 90th percentile", "", at, quantiles(times, n=10)[-1])

    def series(self) -> Iterator[Series]:
        """Every series that there is to be, also one without a value."""
        for what, (unit, limit, whose) in MEASURES.items():
            for name in whose:
                yield Series(what, name, unit, limit, tuple(self.points.get((what, name), ())))

    def _add(self, what: str, whose: str, at: float, value: float) -> None:
        self.points.setdefault((what, whose), []).append((at, round(value, 1)))


MEASURES = {
    "memory": ("MiB", MEMORY, SERVICES),
    "file descriptors": ("", DESCRIPTORS, SERVICES),
    "latency, median": ("ms", MEDIAN, ("",)),
    "latency, 90th percentile": ("ms", TAIL, ("",)),
}


def descriptors(service: Service) -> float:
    """Open file descriptors of all its processes.

    Raises:
        ValueError: none can be seen.
    """
    said = service.run("sh", "-c", _COUNT).text.strip()
    if said == "0":
        raise ValueError("no file descriptor can be seen")
    return float(said)
