"""The command that a person types, against the stub."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import stub_server

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

_NUMBERS = r"(\d+) +(\d+)\([\d.]+%\) \| +(\d+) +(\d+) +(\d+) +(\d+) \|"
_ENTRY = re.compile(rf"^(frontend|reference) +(.+?) +{_NUMBERS}", re.MULTILINE)
_FAILURE = re.compile(r"^(\d+) +(frontend|reference) E2E: (.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A row of Locust's statistics; times in milliseconds."""

    requests: int
    failures: int
    average: int
    minimum: int
    maximum: int
    median: int


@dataclass(frozen=True)
class Run:
    """A finished run. Entries are keyed by server and name, failures by server and cause."""

    exit_code: int
    output: str
    entries: dict[tuple[str, str], Entry]
    failures: dict[tuple[str, str], int]


def locust(frontend: str, reference: str, *arguments: str) -> Run:
    command = [sys.executable, "-m", "locust", "-f", "loadtest/", "--headless", "--only-summary", *arguments]
    servers = {"FRONTEND_URL": frontend, "REFERENCE_URL": reference}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | servers,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return Run(
        done.returncode,
        done.stdout,
        {(server, name): Entry(*map(int, numbers)) for server, name, *numbers in _ENTRY.findall(done.stdout)},
        {(server, cause): int(occurrences) for occurrences, server, cause in _FAILURE.findall(done.stdout)},
    )


@pytest.fixture(scope="module")
def stub_url() -> Iterator[str]:
    with stub_server.running() as url:
        yield url


@pytest.fixture(scope="module")
def run(stub_url: str) -> Run:
    """The frontend answers rightly, the reference fails in every way there is."""
    return locust(
        f"{stub_url}/right", f"{stub_url}/wrong", "-u", "24", "-r", "24", "-t", "4s", "--request-timeout", "1"
    )


def test_every_failure_counts_under_its_cause(run: Run) -> None:
    assert run.failures.keys() == {("reference", failure) for failure in stub_server.FAILURES}
    end_to_end = run.entries["reference", "E2E"]
    assert end_to_end.failures == end_to_end.requests == sum(run.failures.values())
    assert run.exit_code == 1


def test_failures_stay_out_of_latencies(run: Run) -> None:
    assert {name for server, name in run.entries if server == "reference"} == {"E2E"}
    assert run.entries["reference", "E2E"].maximum == 0


def test_right_answers_are_measured(run: Run) -> None:
    entries = {name: entry for (server, name), entry in run.entries.items() if server == "frontend"}
    assert entries.keys() == {"TTFT", "ITL", "E2E", "output tokens"}
    assert len({entry.requests for entry in entries.values()}) == 1, "each answer has one of each"
    assert entries["output tokens"].minimum == entries["output tokens"].maximum == 11


def test_ttft_is_the_reasoning_token_as_it_arrives(run: Run) -> None:
    assert 50 <= run.entries["frontend", "TTFT"].median < 350
    assert run.entries["frontend", "ITL"].minimum >= 30, "400 ms for the ten tokens after the first"
    assert run.entries["frontend", "E2E"].minimum >= 450


def test_the_run_ends_with_the_servers_side_by_side(run: Run) -> None:
    table = [line.split() for line in run.output.splitlines()[-8:]]
    answers, failed = str(run.entries["frontend", "E2E"].requests), str(run.entries["reference", "E2E"].failures)
    assert table[:3] == [["frontend", "reference"], ["requests", answers, failed], ["failures", "0", failed]]


def test_one_server_alone_at_another_host(stub_url: str) -> None:
    nowhere = "http://127.0.0.1:1"
    run = locust(nowhere, nowhere, "ReferenceUser", "-u", "1", "-t", "2s", "--host", f"{stub_url}/right")
    assert {server for server, _ in run.entries} == {"reference"}
    assert run.exit_code == 0


def test_a_server_that_is_down_fails_and_is_not_flooded(stub_url: str) -> None:
    run = locust(f"{stub_url}/right", "http://127.0.0.1:1", "-u", "2", "-r", "2", "-t", "3s")
    assert run.failures.keys() == {("reference", "no response: connection broken: ConnectionRefusedError")}
    assert sum(run.failures.values()) <= 4
