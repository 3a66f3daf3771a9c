"""Clients that ask without a pause, and what became of each request."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import httpx

from .answers import Answer, Refusal, StreamFailedError
from .cases import says
from .servers import MODES, Body, Mode, Server

if TYPE_CHECKING:
    from types import TracebackType

WORDS = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "haven", "inlet", "jetty", "knoll", "lagoon")
HUNG_AFTER = 60.0  # seconds without a byte
LOST = "connection lost"


class Outcome(StrEnum):
    RIGHT = "right"
    ERROR = "error"  # a clear one: a status and a message, an error event, or a connection that breaks
    HUNG = "hung"
    WRONG = "wrong"  # looks like an answer and is none, or an error that does not say so


@dataclass(frozen=True, slots=True)
class Sent:
    """One request.

    Attributes:
        started: when it was sent, a time of ``time.monotonic``.
        seconds: until its answer was complete, or given up.
        detail: the kind of error; for a wrong answer, the answer.
    """

    started: float
    seconds: float
    outcome: Outcome
    detail: str = ""


def scripted(number: int, words: int) -> tuple[Body, str]:
    """A request that no other number makes, and the text that answers it."""
    text = " ".join([f"Answer {number}:", *random.Random(number).choices(WORDS, k=words)])
    return {"messages": [{"role": "user", "content": says(text)}], "temperature": 0}, text


def ask(server: Server, body: Body, expected: str, mode: Mode) -> Sent:
    """Sends one request and judges what comes."""
    started = time.monotonic()
    outcome, detail = _judge(server, body, expected, mode)
    return Sent(started, time.monotonic() - started, outcome, detail)


def _judge(server: Server, body: Body, expected: str, mode: Mode) -> tuple[Outcome, str]:
    try:
        answer = server.ask(body, mode)
    except httpx.TimeoutException:
        return Outcome.HUNG, f"nothing came for {HUNG_AFTER:.0f} s"
    except httpx.TransportError as error:
        return Outcome.ERROR, f"{LOST} ({error})"
    except StreamFailedError:
        return Outcome.ERROR, "error event"
    except Exception as error:  # whatever the client cannot read is a wrong answer
        return Outcome.WRONG, repr(error)
    if isinstance(answer, Refusal):
        return _judge_refusal(answer)
    return (Outcome.RIGHT, "") if _is_whole(answer, expected) else (Outcome.WRONG, repr(answer.choices))


def _is_whole(answer: Answer, expected: str) -> bool:
    return [(choice.content, choice.finish_reason) for choice in answer.choices] == [(expected, "stop")]


def _judge_refusal(answer: Refusal) -> tuple[Outcome, str]:
    # Host gap: without a worker the front has taken the chat route away, and its 404 has no body.
    if (answer.status, answer.body) == (404, ""):
        return Outcome.ERROR, "404 without a body (host gap)"
    try:
        clear = answer.status >= 400 and bool(answer.message)
    except (ValueError, KeyError):
        clear = False
    return (Outcome.ERROR, str(answer.status)) if clear else (Outcome.WRONG, repr(answer))


class Traffic:
    """Clients that each send one request after another, streamed and unary in turn, until the block is left.

    Attributes:
        sent: the requests that are over, in the order in which they ended.
    """

    def __init__(self, server: Server, clients: int) -> None:
        self.sent: list[Sent] = []
        self.clients = clients
        self._server = replace(server, client=fresh_client())
        self._numbers = itertools.count(random.SystemRandom().randrange(1 << 40))
        self._leave = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(clients)]

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave.set()
        for thread in self._threads:
            thread.join()
        self._server.client.close()

    def _run(self) -> None:
        while not self._leave.is_set():
            number = next(self._numbers)
            done = ask(self._server, *scripted(number, words=60), MODES[number % 2])
            self.sent.append(done)
            if done.outcome is not Outcome.RIGHT:
                self._leave.wait(0.5)

    def wait_until_right(self, since: float, limit: float) -> float | None:
        """Seconds from ``since`` to the first request after which all are right; None where that is not in sight.

        Args:
            since: a time of ``time.monotonic``.
            limit: seconds after ``since`` at which to give up.
        """
        while time.monotonic() < since + limit:
            later = sorted((each for each in list(self.sent) if each.started >= since), key=lambda each: each.started)
            bad = [place for place, each in enumerate(later) if each.outcome is not Outcome.RIGHT]
            good = later[bad[-1] + 1 :] if bad else later
            if len(good) >= 3 * self.clients:
                return good[0].started - since
            time.sleep(0.5)
        return None


def count(sent: list[Sent]) -> dict[Outcome, int]:
    counted = Counter(each.outcome for each in sent)
    return {outcome: counted[outcome] for outcome in Outcome}


def kinds(sent: list[Sent]) -> str:
    """What the errors were, and what the first wrong answer was."""
    errors = Counter(each.detail for each in sent if each.outcome is Outcome.ERROR)
    wrong = [each.detail for each in sent if each.outcome is Outcome.WRONG]
    return ", ".join([*(f"{kind}: {number}" for kind, number in errors.most_common()), *wrong[:1]])


def client_of(connections: int) -> httpx.Client:
    """A client for so many requests at once, which takes ``HUNG_AFTER`` seconds of silence for a hang."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    return httpx.Client(timeout=httpx.Timeout(HUNG_AFTER, connect=5), limits=limits)


def fresh_client() -> httpx.Client:
    """The same with a connection for each request.

    A server that refuses a request before it has read the body closes the connection and does not say so: the front's
    404 without a body is one, and whoever asks next on that connection finds it closed. The header, since a pool that
    keeps no idle connection closes one in 20,000 while another thread still reads from it.
    """
    return httpx.Client(timeout=httpx.Timeout(HUNG_AFTER, connect=5), headers={"connection": "close"})
