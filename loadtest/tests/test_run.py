"""The command that a person types, against the stub: a reasoning model, of which some requests fail."""

from __future__ import annotations

import csv
import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import stub_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser
    from prompts import Prompts

pytest_plugins = ["report.tests.browser", "stand_in"]

ROOT = Path(__file__).parents[2]
NOWHERE = "http://127.0.0.1:1"
TURNS = tuple(enumerate(("frontend", "reference") * 2, 1))


@dataclass(frozen=True)
class Finished:
    """A finished run: its exit status, what it printed, and its files."""

    status: int
    printed: str
    folder: Path

    @property
    def run(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "run.json").read_text())
        return content

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "requests.jsonl").read_text().splitlines()]

    def measured(self, server: str) -> list[dict[str, Any]]:
        return [each for each in self.records if each["server"] == server and not each["warm_up"]]


def locust(folder: Path, checkpoint: Path, frontend: str, reference: str, *arguments: str) -> Finished:
    command = [sys.executable, "-m", "locust", "-f", "loadtest/", "--headless", "--only-summary"]
    options = ["--checkpoint", str(checkpoint), "--results", str(folder), *arguments]
    done = subprocess.run(
        command + options,
        cwd=ROOT,
        env=os.environ | {"FRONTEND_URL": frontend, "REFERENCE_URL": reference},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    return Finished(done.returncode, done.stdout, folder)


@pytest.fixture(scope="module")
def stub_url(prompts: Prompts) -> Iterator[str]:
    with stub_server.running(prompts.length) as url:
        yield url


@pytest.fixture(scope="module")
def finished(stub_url: str, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The frontend answers rightly, the reference fails in every way there is."""
    asked = ("-u", "28", "-t", "8s", "--request-timeout", "3", "--workload", "reasoning")
    folder = tmp_path_factory.mktemp("load")
    return locust(folder, checkpoint, f"{stub_url}/right", f"{stub_url}/wrong", *asked)


def test_every_failure_counts_under_its_cause(finished: Finished) -> None:
    """E13: each field that is refused is a kind of its own. E17: so is each way in which a 200 is no answer."""
    failures = finished.run["failures"]
    said = {f"{each['status'] or 'no response'}: {each['failure']}" for each in failures}
    assert said == set(stub_server.FAILURES)
    assert {each["server"] for each in failures} == {"reference"}
    assert sum(each["count"] for each in failures) == len(finished.measured("reference"))
    assert finished.status == 1, finished.printed


@pytest.mark.parametrize(
    ("status", "failure", "body"),
    [
        (400, "Unsupported parameter(s): chat_mode", '"type": "invalid_request"'),
        (200, "error event: engine died", '"code": 500'),
        (200, "stream ended without [DONE]", '"finish_reason": "stop"'),
        (200, "usage counts other tokens than were asked", "(7, 11) by usage"),
        (200, "cannot be read: 'NoneType' object has no attribute 'get'", '{"choices": [null]}'),
        (200, "cannot be read: 'str' object has no attribute 'get'", '"delta": "Yes."'),
        (200, "connection broken: HTTPParseError", "data: cut off"),
        (200, "timeout", '"content"'),
        (None, "timeout", None),
    ],
)
def test_each_failure_keeps_its_status_and_body(
    finished: Finished, status: int | None, failure: str, body: str | None
) -> None:
    kept = [each for each in finished.run["failures"] if (each["status"], each["failure"]) == (status, failure)]
    assert len(kept) == 1, finished.run["failures"]
    assert (kept[0]["body"] is None) if body is None else (body in kept[0]["body"]), kept[0]["body"]


def test_locust_counts_requests_not_measures(finished: Finished) -> None:
    assert requests_by_locust(finished) == len(finished.measured("frontend") + finished.measured("reference"))
    rows = finished.printed.partition("\nType ")[2].partition("Aggregated")[0]
    for measure in ("E2E", "TTFT", "TTST", "ITL", "TPOT", "output tokens"):
        assert f"frontend {measure} " in " ".join(rows.split())


def test_failures_stay_out_of_latencies(finished: Finished) -> None:
    """E17: some requests fail."""
    steps = [step for step in finished.run["steps"] if step["server"] == "reference"]
    assert [step["failures"] for step in steps] == [step["requests"] for step in steps]
    assert {step[measure] for step in steps for measure in ("ttft_p50", "itl_p50", "e2e_p99")} == {None}


def test_ttft_is_the_reasoning_token_as_it_arrives(finished: Finished) -> None:
    """E17: a reasoning model's first token is a thought."""
    records = finished.measured("frontend")
    assert [each["failure"] for each in records] == [None] * len(records)
    assert records
    assert min(each["ttft"] for each in records) >= stub_server.REASONING_AFTER_S
    assert min(each["ttst"] for each in records) >= stub_server.CONTENT_AFTER_S - 0.1, "the content, after the thoughts"
    assert min(each["e2e"] for each in records) >= stub_server.REASONING_AFTER_S + stub_server.CONTENT_AFTER_S


def test_servers_take_turns_with_the_same_load(finished: Finished) -> None:
    steps = finished.run["steps"]
    assert [(step["server"], step["load"], step["unit"]) for step in steps] == [
        (server, 28.0, "users") for server in ("frontend", "reference") * 2
    ]
    for one, next_one in pairwise(steps):
        assert one["ended"] <= next_one["began"]


def test_the_warm_up_is_left_out_and_said(finished: Finished) -> None:
    run = finished.run
    assert run["warm_up_s"] == 0.5
    assert "the first 0.5 s of each step are left out" in finished.printed
    for step in run["steps"]:
        records = [each for each in finished.records if each["step"] == step["step"]]
        assert sum(not each["warm_up"] for each in records) == step["requests"] < len(records)
        for each in records:
            assert each["warm_up"] == (each["sent"] - step["began"] < run["warm_up_s"])


def test_the_files_of_a_run(finished: Finished) -> None:
    records = finished.records
    with (finished.folder / "requests.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(records)
    assert set(rows[0]) == set(records[0]) - {"body", "itl"}
    results = json.loads((finished.folder / "results.json").read_text())
    assert results["steps"] == finished.run["steps"]
    assert finished.run["model"] == "stub"


def test_the_run_ends_with_the_servers_side_by_side(finished: Finished) -> None:
    table = finished.printed[finished.printed.rindex("\nserver ") :].splitlines()
    assert [line.split()[0] for line in table[2:6]] == ["frontend", "reference"] * 2
    assert table[-1] == f"report: {finished.folder}/report.html; all figures are in that folder"
    assert (finished.folder / "report.html").stat().st_size > 0


def test_one_server_alone(stub_url: str, checkpoint: Path, tmp_path: Path) -> None:
    asked = ("--server", "reference", "-u", "1", "-t", "2s", "--workload", "short-chat")
    alone = locust(tmp_path, checkpoint, NOWHERE, f"{stub_url}/right", *asked)
    assert {step["server"] for step in alone.run["steps"]} == {"reference"}
    assert {each["streamed"] for each in alone.records} == {True, False}, "unary answers too"
    assert alone.status == 0, alone.printed


def test_a_server_that_is_down_fails_and_is_not_flooded(stub_url: str, checkpoint: Path, tmp_path: Path) -> None:
    down = locust(tmp_path, checkpoint, f"{stub_url}/right", NOWHERE, "-u", "2", "-t", "4s")
    failures = [each for each in down.records if each["server"] == "reference"]
    assert {each["failure"] for each in failures} == {"connection broken: ConnectionRefusedError"}
    assert len(failures) <= 2 * 2 * 2, "two users, two turns of a second, a second between"
    assert down.status == 1, down.printed


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--ladder", "0,4"), "argument --ladder: a level is a number above 0, not '0'"),
        (("--ladder", "1.5"), "argument --ladder: there are no 1.5 users"),
        (("--rate", "2,x"), "argument --rate: 'x' is no number"),
    ],
)
def test_a_level_that_cannot_be_is_refused_by_name(
    checkpoint: Path, tmp_path: Path, option: tuple[str, str], said: str
) -> None:
    refused = locust(tmp_path, checkpoint, NOWHERE, NOWHERE, *option, "-t", "2s")
    assert said in refused.printed
    assert (refused.status, list(tmp_path.iterdir())) == (2, []), refused.printed


@pytest.mark.parametrize(
    ("frontend", "users", "said"),
    [
        ("http://127.0.0.1:port", "1", "no run: InvalidURL: Invalid port: 'port'"),
        (NOWHERE, "0", "no run: LoadError: there are no 0 users"),
    ],
)
def test_a_run_that_cannot_be_planned_ends_with_the_reason(
    checkpoint: Path, tmp_path: Path, frontend: str, users: str, said: str
) -> None:
    refused = locust(tmp_path, checkpoint, frontend, NOWHERE, "-u", users, "-t", "2s")
    assert said in refused.printed
    assert (refused.status, list(tmp_path.iterdir())) == (3, []), refused.printed


def test_an_open_loop_counts_from_when_a_request_is_due(stub_url: str, checkpoint: Path, tmp_path: Path) -> None:
    asked = ("--server", "frontend", "--rate", "8,16", "--arrivals", "constant", "-t", "4s", "--workload", "short-chat")
    finished = locust(tmp_path, checkpoint, f"{stub_url}/right", NOWHERE, *asked)
    run = finished.run
    assert [(step["load"], step["unit"], step["requests"]) for step in run["steps"]] == [
        (8.0, "requests/s", 12),
        (16.0, "requests/s", 24),
    ], "after a warm-up of half a second"
    for step in run["steps"]:
        sent = sorted(each["sent"] - step["began"] for each in finished.records if each["step"] == step["step"])
        assert sent == pytest.approx([index / step["load"] for index in range(int(2 * step["load"]))])
    assert finished.status == 0, finished.printed


def test_two_workers_make_one_run(stub_url: str, checkpoint: Path, tmp_path: Path) -> None:
    url = f"{stub_url}/right"
    asked = ("--processes", "2", "-u", "5", "-t", "4s", "--workload", "short-chat")
    finished = locust(tmp_path, checkpoint, url, url, *asked)
    run, records = finished.run, finished.records
    assert run["invalid_because"] == [], finished.printed
    assert [(step["server"], step["load"]) for step in run["steps"]] == [("frontend", 5.0), ("reference", 5.0)] * 2
    for step in run["steps"]:
        numbers = [each["number"] for each in records if each["step"] == step["step"]]
        assert len(set(numbers)) == len(numbers), "no request is asked twice"
        assert {number % 2 for number in numbers} == {0, 1}, "both workers asked"
        assert users_at_once(records, step["step"]) == 5
    seconds = sum(step["ended"] - step["began"] for step in run["steps"])
    assert len(run["generator"]) >= 2 * seconds, "both workers watched themselves"
    assert requests_by_locust(finished) == len([each for each in records if not each["warm_up"]])
    assert finished.status == 0, finished.printed


def test_the_web_page_shows_the_run_and_its_report(stub_url: str, checkpoint: Path, tmp_path: Path) -> None:
    with web_page(stub_url, checkpoint, tmp_path, "--autostart", "-u", "2", "-t", "8s") as url:
        page = httpx.Client(base_url=url, follow_redirects=True)
        assert [row["name"] for row in wait_for_rows(page, 1)] == ["1. frontend, 2 users"], "while the others run"
        with pytest.raises(httpx.ConnectError):  # a loopback address that all interfaces would answer at
            httpx.get(url.replace("127.0.0.1", "127.0.0.2"))
        rows = wait_for_rows(page, 4)
        wait_until((tmp_path / "report.html").is_file)
        assert [row["name"] for row in rows] == [f"{number}. {server}, 2 users" for number, server in TURNS]
        assert all(row["requests"] > 0 for row in rows)
        assert "Frontend and reference" in page.get("/").text
        assert page.get("/report").text == (tmp_path / "report.html").read_text()
        wait_until(lambda: page.get("/stats/requests").json()["state"] == "stopped")
        page.post("/swarm", data={"user_count": 1, "spawn_rate": 1, "ladder": "1,2", "run_time": "4s"})
        wait_for_rows(page, 1, "1. frontend, 1 users")
        page.post("/stop")
        run = json.loads((tmp_path / "run.json").read_text())
        assert "2 users were to send requests, and there were 1" in run["invalid_because"]
        assert (tmp_path / run["previous"]).is_file()


def test_a_browser_shows_every_step_when_the_run_has_ended(
    browser: Browser, stub_url: str, checkpoint: Path, tmp_path: Path
) -> None:
    """Locust's own clock ends a test hard at the run time that was asked, and until then the users ramp up."""
    with web_page(stub_url, checkpoint, tmp_path) as url:
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        page.get_by_text("Advanced options").click()
        for name, value in (("userCount", "4"), ("spawnRate", "1"), ("runTime", "6s")):
            page.fill(f"input[name={name}]", value)
        page.get_by_role("button", name="Start").click()
        page.get_by_text("Frontend and reference").click()
        page.get_by_text("STOPPED").wait_for(timeout=60_000)
        rows = [row.locator("td").all_inner_texts() for row in page.locator("tbody tr").all()]
        page.close()
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["invalid_because"] == []
    assert [row[:2] for row in rows] == [
        [f"{number}. {server}, 4 users", str(step["requests"])]
        for (number, server), step in zip(TURNS, run["steps"], strict=True)
    ]
    assert all(step["requests"] > 0 for step in run["steps"])
    assert errors == []


def test_a_run_that_is_stopped_in_its_last_step_is_invalid(stub_url: str, checkpoint: Path, tmp_path: Path) -> None:
    """What that step measured is lost: beside it, the other server would look as good as one likes."""
    with web_page(stub_url, checkpoint, tmp_path, "--autostart", "-u", "2", "-t", "8s") as url:
        page = httpx.Client(base_url=url)
        wait_for_rows(page, 3)
        page.post("/stop")
    run = json.loads((tmp_path / "run.json").read_text())
    assert len(run["steps"]) == 4
    assert run["invalid_because"] == ["it was stopped before its end"]


def test_autoquit_ends_locust_with_the_status_of_the_run(stub_url: str, checkpoint: Path, tmp_path: Path) -> None:
    asked = ("--autostart", "--autoquit", "0", "-u", "2", "-t", "4s")
    with web_process(f"{stub_url}/right", f"{stub_url}/wrong", checkpoint, tmp_path, *asked) as (process, _):
        assert process.wait(60) == 1, "the reference fails"


@contextmanager
def web_page(stub_url: str, checkpoint: Path, folder: Path, *arguments: str) -> Iterator[str]:
    """Locust's web page, between two servers that answer rightly."""
    right = f"{stub_url}/right"
    with web_process(right, right, checkpoint, folder, *arguments) as (_, url):

        def there() -> bool:
            with suppress(httpx.ConnectError):
                return httpx.get(url).status_code == 200
            return False

        wait_until(there)
        yield url


@contextmanager
def web_process(
    frontend: str, reference: str, checkpoint: Path, folder: Path, *arguments: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "locust", "-f", "loadtest/", "--web-port", str(port), "--workload", "short-chat"]
    options = ["--checkpoint", str(checkpoint), "--results", str(folder), *arguments]
    servers = {"FRONTEND_URL": frontend, "REFERENCE_URL": reference}
    with (folder.parent / "web.log").open("wb") as log:
        process = subprocess.Popen(command + options, cwd=ROOT, env=os.environ | servers, stdout=log, stderr=log)
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def wait_for_rows(page: httpx.Client, count: int, first: str = "1.") -> list[dict[str, Any]]:
    """The rows of the tab, once there are so many, and the name of the first begins like that."""
    rows: list[dict[str, Any]] = []

    def there() -> bool:
        rows[:] = page.get("/stats/requests").json()["extended_stats"][0]["data"]
        return len(rows) >= count and rows[0]["name"].startswith(first)

    wait_until(there)
    return rows


def wait_until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline, "a minute was not enough"
        time.sleep(0.2)


def requests_by_locust(finished: Finished) -> int:
    """The total of Locust's own table."""
    total = re.search(r"Aggregated +(\d+)", finished.printed)
    assert total is not None, finished.printed
    return int(total[1])


def users_at_once(records: list[dict[str, Any]], step: int) -> int:
    """The greatest number of requests in flight at any time of a step."""
    spans: list[tuple[float, float]] = [
        (each["sent"], each["sent"] + each["e2e"]) for each in records if each["step"] == step
    ]
    return max(sum(begin <= at < end for begin, end in spans) for at, _ in spans)
