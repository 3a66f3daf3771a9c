"""What the stack's containers use while the load lasts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import docker  # type: ignore[import-untyped]
import docker.errors  # type: ignore[import-untyped]
import gevent
import requests

_PROJECT = "sglang-parity"
_PERIOD_S = 2.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One container; ``at`` in seconds since the test began, ``cpu_percent`` of one core."""

    at: float
    name: str
    cpu_percent: float
    memory_mib: float


class Containers:
    """Samples the containers on this machine, for as long as it is asked to.

    Attributes:
        missing: why there are no samples, or fewer than there should be; empty where nothing is wrong.
    """

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.missing = ""
        self._cpu_before: dict[str, tuple[float, float]] = {}  # by id: a service may have two containers

    def watch(self, began: float) -> None:
        """Samples every two seconds, until its greenlet is killed; ``began`` on ``time.perf_counter``'s clock."""
        try:
            client = docker.from_env()
            found = client.containers.list(filters={"label": f"com.docker.compose.project={_PROJECT}"})
        except (docker.errors.DockerException, requests.RequestException):
            self.missing = "Docker does not answer here"
            return
        if not found:
            self.missing = "no container of the stack runs on this machine"
            return
        while True:
            for container in found:
                self._take(container, began)
            gevent.sleep(_PERIOD_S)

    def _take(self, container: Any, began: float) -> None:
        try:
            stats = container.stats(stream=False, one_shot=True)
            memory = stats["memory_stats"]["usage"] - stats["memory_stats"]["stats"]["inactive_file"]
            used = stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
        except (docker.errors.DockerException, KeyError):  # it has just stopped
            return
        except requests.RequestException as error:  # Docker's client does not wrap a timeout of its own
            self.missing = f"Docker did not answer for {container.name}: {type(error).__name__}"
            return
        now = time.perf_counter()
        if container.id in self._cpu_before:
            used_before, before = self._cpu_before[container.id]
            percent = max(0.0, 100 * (used - used_before) / (now - before))  # a restart counts from zero
            name = str(container.name).removeprefix(f"{_PROJECT}-")
            self.samples.append(Sample(now - began, name, percent, memory / (1 << 20)))
        self._cpu_before[container.id] = used, now
