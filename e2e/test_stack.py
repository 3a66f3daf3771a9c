"""The stack itself: what a client and an operator may expect of it, whole and broken."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import httpx
import pytest

from stand.answers import Answer, Refusal, StreamFailedError, read_events
from stand.cases import user
from stand.repository import ROOT
from stand.servers import MODES, Server, refusal
from stand.stack import SERVICES, Project, Service, Stack

if TYPE_CHECKING:
    from collections.abc import Callable


FRONTEND_IMAGE_LIMIT = 700_000_000
RECOVERY_TIMEOUT = 180.0
LONG = {"messages": [user("Go on.")], "ignore_eos": True, "max_tokens": 20000}
SHORT = {"messages": [user("Hi", "Here I am.")], "temperature": 0}


def test_both_list_the_same_model(stack: Stack) -> None:
    assert stack.frontend.models() == stack.reference.models() == [stack.reference.model]


def test_a_client_that_leaves_delays_nobody(stack: Stack) -> None:
    """E09: generation for a closed stream stops; the next answer does not wait for it."""
    started = time.monotonic()
    for _ in range(3):
        with stack.frontend.open(LONG, "stream") as response:
            for number, _chunk in enumerate(read_events(response.iter_bytes())):
                if number == 5:
                    break
    answer = stack.frontend.ask(SHORT, "unary")
    assert isinstance(answer, Answer)
    assert answer.choices[0].content == "Here I am."
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("profile", ["cpu", "gpu"])
def test_the_compose_file_is_valid(profile: str) -> None:
    if shutil.which("docker") is None:
        pytest.skip("not run: there is no docker command on this machine")
    command = ["docker", "compose", "--profile", profile, "config", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_healthy(project: Project, name: str) -> None:
    assert project.service(name).health == "healthy"


def test_the_frontend_image_is_small(project: Project, record_property: Callable[[str, object], None]) -> None:
    size = project.service("frontend").image_bytes
    record_property("note", f"{size / 1e6:.0f} MB")
    assert size < FRONTEND_IMAGE_LIMIT


@pytest.mark.parametrize("package", ["torch", "sglang"])
def test_the_frontend_image_is_without(project: Project, package: str) -> None:
    code = "import importlib.util, sys; print(importlib.util.find_spec(sys.argv[1]))"
    output = project.service("frontend").run("python", "-c", code, package)
    assert (output.exit_code, output.text.strip()) == (0, "None")


@pytest.mark.destructive
def test_a_killed_worker_is_an_error_and_comes_back(
    stack: Stack, project: Project, record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """E11: requests in flight fail clearly, so do the next ones, and then the stack answers again by itself."""
    expected = stack.frontend.ask(SHORT, "unary")
    assert isinstance(expected, Answer)
    worker = project.service("worker")
    before = worker.started_at

    with ThreadPoolExecutor(2) as pool:
        underway = threading.Event()
        unary = pool.submit(in_flight_unary, stack.frontend)
        stream = pool.submit(in_flight_stream, stack.frontend, underway)
        assert underway.wait(60), "the request in flight got no token"
        worker.kill_processes()
        killed = time.monotonic()
        clear_error(unary.result(timeout=60))
        with pytest.raises(StreamFailedError):
            stream.result(timeout=60)

    seconds = recovery(stack, expected, killed)
    assert worker.started_at != before, "the worker was not restarted: it had not been killed"
    wait_until_healthy(worker, killed + RECOVERY_TIMEOUT)
    for mode in MODES:
        again = stack.frontend.ask(SHORT, mode)
        assert isinstance(again, Answer)
        assert again.choices == expected.choices
    record_property(
        "note", f"answered again after {seconds:.0f} s; meanwhile the front has a 404 without a body: host gap"
    )
    with capsys.disabled():
        print(f"\nkilled worker: the stack answered again after {seconds:.0f} s")


def in_flight_unary(frontend: Server) -> Refusal:
    with frontend.open(LONG, "unary") as response:
        return refusal(response)


def in_flight_stream(frontend: Server, underway: threading.Event) -> None:
    """Reads a long stream to its end, which an error event makes an exception."""
    with frontend.open(LONG, "stream") as response:
        assert response.status_code == 200
        for number, _chunk in enumerate(read_events(response.iter_bytes())):
            if number == 5:
                underway.set()


def clear_error(answer: Refusal) -> None:
    """An error with a status that says so and JSON that says what happened, and nothing of the inside."""
    assert 500 <= answer.status < 600 or answer.status == 404, answer
    assert answer.content_type.startswith("application/json"), answer
    assert answer.message
    assert not answer.internals, answer.body


# Host gap: once the last worker's record has expired, the front takes the chat route away, and what it then answers
# says nothing. No processor runs that could say more.
NO_ROUTE = Refusal(404, content_type="", body="")


def recovery(stack: Stack, expected: Answer, killed: float) -> float:
    """Seconds from the kill to three whole answers in a row; every answer before them is a clear error."""
    answered: list[float] = []
    while len(answered) < 3:
        assert time.monotonic() - killed < RECOVERY_TIMEOUT, f"no answer {RECOVERY_TIMEOUT:.0f} s after the kill"
        try:
            answer = stack.frontend.ask(SHORT, "unary")
        except httpx.TimeoutException as error:
            raise AssertionError("a request hangs while the worker is away") from error
        if isinstance(answer, Answer):
            assert answer.choices == expected.choices, "an answer that looks whole and is not"
            answered.append(time.monotonic() - killed)
        else:
            if answer != NO_ROUTE:
                clear_error(answer)
            answered.clear()
            time.sleep(1)
    return answered[0]


def wait_until_healthy(service: Service, deadline: float) -> None:
    while service.health != "healthy":
        assert time.monotonic() < deadline, f"{service.name} is {service.health}"
        time.sleep(1)
