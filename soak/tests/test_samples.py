"""A sample that Docker does not give is named, and the soak goes on; a value that cannot be is no value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import docker.errors  # type: ignore[import-untyped]
import pytest
import requests

from soak.samples import SERVICES, Samples
from soak.traffic import Done, Kind
from stand.stack import Output, StackError
from stand.traffic import Outcome, Sent

if TYPE_CHECKING:
    from stand.stack import Project

DONE = [Done(Kind.ANSWER, 1.0, Sent(0.0, 1.0, Outcome.RIGHT)) for _ in range(3)]


@dataclass
class StubService:
    """A container that says ``said``, or fails with it."""

    said: str | Exception = "31\n"
    started_at: str = "10:00"
    memory_mib: float = 150.0

    def run(self, *command: str) -> Output:
        assert command
        if isinstance(self.said, Exception):
            raise self.said
        return Output(0, self.said)


@dataclass
class StubProject:
    """Its worker is ``worker``, or is not to be had."""

    worker: StubService | Exception

    def service(self, name: str) -> StubService:
        if name != "worker":
            return StubService()
        if isinstance(self.worker, Exception):
            raise self.worker
        return self.worker


def take(samples: Samples, worker: StubService | Exception) -> None:
    samples.take(cast("Project", StubProject(worker)), DONE)


@pytest.mark.parametrize(
    "worker",
    [
        requests.ReadTimeout("60 s"),
        StackError("no container"),
        StubService(docker.errors.APIError("409: restarting")),
        StubService(KeyError("memory_stats")),
        StubService(""),
        StubService("0\n"),
    ],
    ids=["Docker is slow", "no container", "it restarts", "no figures", "nothing said", "/proc cannot be read"],
)
def test_a_missed_sample_is_named_and_the_rest_taken(worker: StubService | Exception) -> None:
    samples = Samples()
    take(samples, worker)
    assert samples.taken == 1
    assert [missed.partition(" after ")[0] for missed in samples.missed] == ["worker"]
    counted = {(series.what, series.whose): len(series.points) for series in samples.series()}
    assert counted["file descriptors", "frontend"] == 1
    assert counted["file descriptors", "worker"] == 0
    assert counted["latency, median", ""] == 1


def test_a_restart_is_seen() -> None:
    samples = Samples()
    for started_at in ("10:00", "10:07"):
        take(samples, StubService(started_at=started_at))
    assert (samples.taken, samples.missed) == (2 * len(SERVICES), [])
    assert samples.starts == {"frontend": {"10:00"}, "worker": {"10:00", "10:07"}}
