from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import containers
import pytest
import requests
from containers import Containers

if TYPE_CHECKING:
    from collections.abc import Callable


class Enough(Exception):  # noqa: N818  no error: the end of what a test lets happen
    pass


@dataclass
class FakeContainer:
    """Gives one answer after another: seconds of CPU used so far, or an error."""

    id: str
    name: str
    answers: list[float | Exception] = field(default_factory=list)

    def stats(self, **_: Any) -> dict[str, Any]:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        memory = {"usage": 3 << 20, "stats": {"inactive_file": 1 << 20}}
        return {"memory_stats": memory, "cpu_stats": {"cpu_usage": {"total_usage": answer * 1e9}}}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Containers]:
    """Watches containers until they have given all their answers; two seconds lie between two of them."""

    def watch(*found: FakeContainer) -> Containers:
        now = 0.0

        def sleep(seconds: float) -> None:
            nonlocal now
            if not found[0].answers:
                raise Enough
            now += seconds

        client = SimpleNamespace(containers=SimpleNamespace(list=lambda **_: found))
        monkeypatch.setattr("containers.docker.from_env", lambda: client)
        monkeypatch.setattr(containers, "time", SimpleNamespace(perf_counter=lambda: now))
        monkeypatch.setattr(containers, "gevent", SimpleNamespace(sleep=sleep))
        taken = Containers()
        with pytest.raises(Enough):
            taken.watch(began=0.0)
        return taken

    return watch


def test_two_containers_of_one_service_are_told_apart(watched: Callable[..., Containers]) -> None:
    taken = watched(
        FakeContainer("a", "sglang-parity-worker-1", [5.0, 6.0]), FakeContainer("b", "sglang-parity-worker-2", [90, 92])
    )
    assert [(sample.name, sample.cpu_percent, sample.memory_mib) for sample in taken.samples] == [
        ("worker-1", 50, 2),
        ("worker-2", 100, 2),
    ]


def test_a_restart_uses_no_negative_cpu(watched: Callable[..., Containers]) -> None:
    taken = watched(FakeContainer("a", "sglang-parity-worker-1", [50.0, 1.0, 2.0]))
    assert [sample.cpu_percent for sample in taken.samples] == [0, 50]


def test_an_answer_that_docker_owes_is_said_and_the_watch_goes_on(watched: Callable[..., Containers]) -> None:
    taken = watched(FakeContainer("a", "sglang-parity-worker-1", [1.0, requests.ReadTimeout(), 3.0]))
    assert taken.missing == "Docker did not answer for sglang-parity-worker-1: ReadTimeout"
    assert [sample.cpu_percent for sample in taken.samples] == [50], "of the four seconds"
