"""The end of a run: the servers side by side."""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

# Where Locust's own tables go.
_console = logging.getLogger("locust.stats_logger")


@dataclass(slots=True)
class Tally:
    """What one server did; times in milliseconds."""

    failures: int = 0
    output_tokens: float = 0
    ttft: list[float] = field(default_factory=list)
    itl: list[float] = field(default_factory=list)


class Comparison:
    """Listens to a run and shows its table. Locust's own percentiles are rounded too coarsely to compare an ITL.

    Sees the requests of its own process only; a distributed run has Locust's own statistics.
    """

    def __init__(self) -> None:
        self._tallies: defaultdict[str, Tally] = defaultdict(Tally)
        self._started = self._seconds = 0.0

    def start(self, **_: Any) -> None:
        self._tallies.clear()
        self._started = time.perf_counter()

    def record(self, request_type: str, name: str, response_time: float, exception: str | None, **_: Any) -> None:
        tally = self._tallies[request_type]
        if exception:
            tally.failures += 1
        elif name == "TTFT":
            tally.ttft.append(response_time)
        elif name == "ITL":
            tally.itl.append(response_time)
        elif name == "output tokens":
            tally.output_tokens += response_time

    def stop(self, **_: Any) -> None:
        self._seconds = time.perf_counter() - self._started

    def show(self, **_: Any) -> None:
        if self._tallies:
            _console.info(self.table())

    def table(self) -> str:
        servers = sorted(self._tallies)
        tallies = [self._tallies[server] for server in servers]
        rows = [
            ("", servers),
            ("requests", [str(len(tally.ttft) + tally.failures) for tally in tallies]),
            ("failures", [str(tally.failures) for tally in tallies]),
            ("TTFT p50 [ms]", [_percentile(tally.ttft, 50) for tally in tallies]),
            ("TTFT p95 [ms]", [_percentile(tally.ttft, 95) for tally in tallies]),
            ("ITL p50 [ms]", [_percentile(tally.itl, 50) for tally in tallies]),
            ("ITL p95 [ms]", [_percentile(tally.itl, 95) for tally in tallies]),
            ("output tokens/s", [f"{tally.output_tokens / self._seconds:.1f}" for tally in tallies]),
        ]
        return "\n".join(f"{label:16}" + "".join(f"{cell:>12}" for cell in cells) for label, cells in rows)


def _percentile(samples: list[float], percent: int) -> str:
    """The nearest-rank percentile: always a value that was measured."""
    if not samples:
        return "-"
    return f"{sorted(samples)[math.ceil(len(samples) * percent / 100) - 1]:.2f}"
