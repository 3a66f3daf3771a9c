"""What the clients of a soak do, and what is right of each."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import httpx

from faults.overload import LONG_ANSWER
from stand.answers import Answer, Refusal
from stand.cases import THINKING, TOOLS, call_block, user
from stand.repository import ROOT
from stand.servers import MODES
from stand.traffic import Outcome, Sent, ask, client_of, scripted

if TYPE_CHECKING:
    from types import TracebackType

    from stand.servers import Body, Mode, Server

# Requests that SGLang refuses, each with what it refuses it.
REFUSALS = json.loads((ROOT / "fixtures" / "refusals" / "deepseek-v4-flash-0731.json").read_text(encoding="utf-8"))

PAUSE = 0.3  # seconds at most between two requests of a client
HASTE = 0.1  # seconds after which a hasty client leaves: less than a prefill takes
PIECES = 5  # of a stream, after which a client leaves


class Kind(StrEnum):
    ANSWER = "short answer"
    LONG_PROMPT = "long prompt"
    REASONING = "reasoning"
    TOOL_CALL = "tool call"
    REFUSED = "refused request"
    LEFT_EARLY = "client leaves before the first token"
    LEFT_LATE = "client leaves in mid-stream"


# A quarter goes wrong on purpose.
MIX = (*[Kind.ANSWER] * 5, *[Kind.LONG_PROMPT] * 2, Kind.REASONING, Kind.TOOL_CALL)
MIX += (Kind.REFUSED, Kind.LEFT_EARLY, Kind.LEFT_LATE)


@dataclass(frozen=True, slots=True)
class Done:
    """One request of a kind; ``ended`` is a time of ``time.monotonic``."""

    kind: Kind
    ended: float
    sent: Sent


class Traffic:
    """Clients that each send one request after another, of all kinds, until the block is left.

    Attributes:
        done: the requests that are over, in the order in which they ended.
    """

    def __init__(self, server: Server, clients: int, seed: int) -> None:
        self.done: list[Done] = []
        self._seed = seed
        self._server = replace(server, client=client_of(clients))
        self._hasty = replace(server, client=httpx.Client(timeout=httpx.Timeout(60, read=HASTE)))
        self._numbers = itertools.count()
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
        self._hasty.client.close()

    def _run(self) -> None:
        while not self._leave.is_set():
            rng = random.Random(f"{self._seed}:{next(self._numbers)}")
            kind, mode = rng.choice(MIX), rng.choice(MODES)
            sent = self._send(kind, mode, rng)
            self.done.append(Done(kind, time.monotonic(), sent))
            self._leave.wait(rng.random() * PAUSE)

    def _send(self, kind: Kind, mode: Mode, rng: random.Random) -> Sent:
        number = rng.randrange(1 << 40)
        match kind:
            case Kind.REFUSED:
                case = rng.choice(list(REFUSALS["refusals"].values()))
                return refused(self._server, case["request"], case["reference"]["status"])
            case Kind.LEFT_EARLY:
                return left(self._hasty, patient=False)
            case Kind.LEFT_LATE:
                return left(self._server, patient=True)
            case Kind.TOOL_CALL:
                return called(self._server, number, mode)
            case Kind.LONG_PROMPT:
                body, text = scripted(number, words=20)
                (message,) = body["messages"]
                _, filler = scripted(number + 1, words=2000)
                return ask(self._server, {**body, "messages": [user(f"{filler} {message['content']}")]}, text, mode)
            case Kind.REASONING:
                body, text = scripted(number, words=20)
                (message,) = body["messages"]
                thought = message["content"].replace(text, f"Thinking of {number}.</think>{text}")
                return ask(self._server, {**body, "messages": [user(thought)], **THINKING}, text, mode)
            case Kind.ANSWER:
                return ask(self._server, *scripted(number, words=60), mode)


def called(server: Server, number: int, mode: Mode) -> Sent:
    """The answer is a call, with the arguments that were scripted."""
    body: Body = {"messages": [user("Go.", call_block(("get_weather", {"city": f"City {number}"})))], **TOOLS}
    started = time.monotonic()
    try:
        answer = server.ask(body, mode)
    except Exception as error:  # whatever the client cannot read is a wrong answer
        return Sent(started, time.monotonic() - started, Outcome.WRONG, repr(error))
    calls = [call for choice in answer.choices for call in choice.tool_calls] if isinstance(answer, Answer) else []
    right = len(calls) == 1 and f"City {number}" in calls[0].arguments
    outcome, detail = (Outcome.RIGHT, "") if right else (Outcome.WRONG, repr(answer))
    return Sent(started, time.monotonic() - started, outcome, detail)


def refused(server: Server, body: Body, status: int) -> Sent:
    """The answer is a clear refusal: SGLang's ``status``, a message, and nothing of the server's insides."""
    started = time.monotonic()
    try:
        answer = server.ask(body, "unary")
        clear = isinstance(answer, Refusal) and answer.status == status and answer.message and not answer.internals
    except Exception as error:  # a refusal that cannot be read is none
        return Sent(started, time.monotonic() - started, Outcome.WRONG, repr(error))
    outcome, detail = (Outcome.RIGHT, "") if clear else (Outcome.WRONG, repr(answer))
    return Sent(started, time.monotonic() - started, outcome, detail)


def left(server: Server, *, patient: bool) -> Sent:
    """Leaves a long answer: after some of it, or, where the client is not ``patient``, when nothing comes at once."""
    started = time.monotonic()
    status = 200
    try:
        with server.open(LONG_ANSWER, "stream") as response:
            status = response.status_code
            for _ in itertools.islice(response.iter_raw(), PIECES):
                pass
    except httpx.ReadTimeout as error:
        if patient:
            return Sent(started, time.monotonic() - started, Outcome.HUNG, repr(error))
    except httpx.TransportError as error:
        return Sent(started, time.monotonic() - started, Outcome.WRONG, repr(error))
    outcome, detail = (Outcome.RIGHT, "") if status == 200 else (Outcome.WRONG, f"status {status}")
    return Sent(started, time.monotonic() - started, outcome, detail)
