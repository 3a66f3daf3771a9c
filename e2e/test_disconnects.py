"""E09: clients that leave, early or late: the engine stops for them, and nothing of them stays."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest

from stand.answers import Answer, read_events
from stand.cases import PROSE, user
from stand.servers import MODES, PATH, Body, Mode
from stand.stack import setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from stand.servers import Server
    from stand.stack import Project, Service, Stack

ENDLESS: Body = {"messages": [user("Go on.")], "ignore_eos": True, "max_tokens": 20000}
SHORT: Body = {"messages": [user("Hi", "Here I am.")], "temperature": 0}
IN_HAND = re.compile(r'^dynamo_component_inflight_requests{[^}]*dynamo_endpoint="generate"[^}]*} (\S+)$', re.MULTILINE)
DEADLINE = 5.0  # seconds until the engine has stopped
CHUNKS = 5
MANY, AT_ONCE, WARM_UP = 2000, 8, 400
GROWTH_LIMIT = 24.0  # MiB of the frontend over MANY of them; what is kept of each would be seen from 12 KiB on


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_leaves_before_the_first_token_stops_the_engine(
    stack: Stack, project: Project, mode: Mode
) -> None:
    """The engine has the request, and is busy with its long prompt."""
    worker = project.service("worker")
    connection = ask(stack.frontend, {**ENDLESS, "messages": [user(f"{time.time_ns()} {PROSE * 1500}")]}, mode)
    deadline = time.monotonic() + DEADLINE
    while unfinished(worker) == 0:
        assert time.monotonic() < deadline, "the worker was not given the request"
    connection.close()
    assert_idle(worker)
    assert_served(stack.frontend)


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_leaves_in_the_middle_stops_the_engine(stack: Stack, project: Project, mode: Mode) -> None:
    """A stream's after some chunks."""
    connection = ask(stack.frontend, ENDLESS, mode)
    if mode == "stream":
        events = read_events(iter(partial(connection.getresponse().read1, 1 << 16), b""))
        assert len(list(islice(events, CHUNKS))) == CHUNKS
    else:
        time.sleep(2)
    assert unfinished(project.service("worker")) == 1
    connection.close()
    assert_idle(project.service("worker"))
    assert_served(stack.frontend)


def test_a_client_that_leaves_a_queue_is_not_waited_for(stack: Stack, project: Project) -> None:
    """More streams than the engine runs at once: those without a token leave with those that have one."""
    count, stay = int(setting("MAX_RUNNING_REQUESTS")) + 8, 8.0
    limits = httpx.Limits(max_connections=count, max_keepalive_connections=0)
    with (
        httpx.Client(timeout=httpx.Timeout(stay, connect=5), limits=limits) as client,
        ThreadPoolExecutor(count) as pool,
    ):
        crowd = replace(stack.frontend, client=client)
        left = [pool.submit(stay_and_leave, crowd, stay) for _ in range(count)]
        time.sleep(stay / 2)
        assert unfinished(project.service("worker")) == count
        had_a_token = [future.result(timeout=60) for future in left]
    assert 0 < sum(had_a_token) < count, f"{sum(had_a_token)} of {count} had a token: nobody queued"
    assert_idle(project.service("worker"))
    assert_served(stack.frontend)


def stay_and_leave(server: Server, seconds: float) -> bool:
    """Asks for a stream, and leaves after so many seconds whatever has come; says whether something had."""
    try:
        with server.open(ENDLESS, "stream"):
            time.sleep(seconds)
    except httpx.ReadTimeout:
        return False
    return True


def test_many_clients_that_leave_leave_nothing_behind(
    stack: Stack, project: Project, record_property: Callable[[str, object], None]
) -> None:
    frontend = project.service("frontend")

    def leave_in_turn(number: int) -> None:
        leave(stack.frontend, ENDLESS, MODES[number % 2])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(leave_in_turn, range(WARM_UP)))
        before = frontend.memory_mib
        list(pool.map(leave_in_turn, range(MANY)))
    assert_idle(project.service("worker"))
    grown = frontend.memory_mib - before
    record_property("note", f"{MANY} clients: {before:.0f} MiB before, {grown:+.1f} MiB after")
    assert grown < GROWTH_LIMIT, f"{before:.0f} MiB before, {grown:+.1f} MiB after {MANY} clients that left"
    assert_served(stack.frontend)


def leave(server: Server, body: Body, mode: Mode) -> None:
    """Sends a request and closes the connection: a stream's with its first bytes, any other a moment later."""
    connection = ask(server, body, mode)
    if mode == "stream":
        assert connection.getresponse().read(16)
    else:
        time.sleep(0.05)
    connection.close()


def ask(server: Server, body: Body, mode: Mode) -> HTTPConnection:
    """Sends a request on a connection of its own, and reads nothing yet."""
    address = urlsplit(server.url)
    assert address.hostname
    connection = HTTPConnection(address.hostname, address.port, timeout=60)
    whole = json.dumps({"model": server.model, "stream": mode == "stream", **body})
    connection.request("POST", PATH, whole.encode(), {"content-type": "application/json"})
    return connection


def assert_idle(worker: Service) -> None:
    """The engine has stopped for all who have left, within the deadline."""
    deadline = time.monotonic() + DEADLINE
    while (running := unfinished(worker)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running == 0, f"{running} requests run {DEADLINE:.0f} s after their clients have left"


def assert_served(frontend: Server) -> None:
    answer = frontend.ask(SHORT, "unary")
    assert isinstance(answer, Answer), answer
    assert answer.choices[0].content == "Here I am."


def unfinished(worker: Service) -> int:
    """Requests that the worker has in hand, running or waiting, as its own metrics count them.

    SGLang's gauges of the same are written twice a minute once it is idle.
    """
    found = IN_HAND.search(worker.metrics())
    assert found, "the worker does not say how many requests it has in hand"
    return round(float(found[1]))
