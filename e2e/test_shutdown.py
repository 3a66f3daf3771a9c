"""Shutdown: ``docker compose stop`` lets streams end that can end in time, and nothing is cut in silence."""

from __future__ import annotations

import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import httpx
import pytest

from stand.answers import Answer, StreamFailedError, read_events
from stand.cases import PROSE, user
from stand.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from stand.servers import Body, Server
    from stand.stack import Project, Stack

TEXT = PROSE * 6
FINITE: Body = {"messages": [user("Go.", TEXT)], "temperature": 0}
ENDLESS: Body = {"messages": [user("Go on.")], "ignore_eos": True, "max_tokens": 60000}
STREAMS = 4


@pytest.mark.destructive
def test_a_stop_ends_every_stream_openly(
    stack: Stack, project: Project, record_property: Callable[[str, object], None]
) -> None:
    """Streams that end within the grace period are whole; the others end with an error, or their connection breaks."""
    underway = threading.Barrier(STREAMS + 2)
    try:
        with ThreadPoolExecutor(STREAMS + 1) as pool:
            finite = [pool.submit(read_finite, stack.frontend, underway) for _ in range(STREAMS)]
            endless = pool.submit(read_endless, stack.frontend, underway)
            underway.wait(60)
            started = time.monotonic()
            command = ["docker", "compose", "--profile", "*", "stop"]
            subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
            seconds = time.monotonic() - started
            texts = [future.result(timeout=60) for future in finite]
            how_it_ended = endless.result(timeout=60)
    finally:
        project.up({})
    record_property("note", f"stopped after {seconds:.0f} s; a stream without end: {how_it_ended}")
    assert texts == [TEXT] * STREAMS
    again = stack.frontend.ask({"messages": [user("Hi", "Here I am.")]}, "unary")
    assert isinstance(again, Answer)
    assert again.choices[0].content == "Here I am."


def read_finite(frontend: Server, underway: threading.Barrier) -> str:
    """The text of a stream that ends by itself, and says so."""
    text, reason = "", None
    with frontend.open(FINITE, "stream") as response:
        for number, chunk in enumerate(read_events(response.iter_bytes())):
            if number == 3:
                underway.wait(60)
            choice = chunk["choices"][0]
            text += choice["delta"].get("content") or ""
            reason = reason or choice["finish_reason"]
    assert reason == "stop"
    return text


def read_endless(frontend: Server, underway: threading.Barrier) -> str:
    """How the stream is broken off.

    Raises:
        AssertionError: it ends as if it were whole.
    """
    try:
        with frontend.open(ENDLESS, "stream") as response:
            for number, _chunk in enumerate(read_events(response.iter_bytes())):
                if number == 3:
                    underway.wait(60)
    except StreamFailedError as error:
        return f"error event {error}"
    except httpx.TransportError as error:
        return f"connection broken ({error})"
    raise AssertionError("the stream ended as if it were whole")
