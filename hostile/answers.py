"""What a server answers to a hostile request, and what may be said against it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import httpx

from stand.answers import Refusal, StreamFailedError, read_body, read_stream
from stand.servers import PATH, refusal

if TYPE_CHECKING:
    from stand.servers import Server

    from .bodies import HostileRequest

KEPT = 2000  # characters of a body
# How Dynamo's front refuses one field, a host gap that `e2e/gaps.py` holds: no fault of a server.
NOT_IMPLEMENTED = (501, "`function_call`")


class Outcome(StrEnum):
    ANSWERED = "answered"
    REFUSED = "refused"  # 4xx, or NOT_IMPLEMENTED
    FAILED = "failed"  # any other 5xx, or an error event with such a code
    BROKEN = "broken"  # a 200 that is no answer
    LOST = "lost"  # the connection broke before there was an answer
    HUNG = "hung"


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back.

    Attributes:
        status: of the answer, or the code of the error event in it; 0 where there is none.
        said: the beginning of its body, or what the client met with.
        internals: what of the server's insides the body shows.
        seconds: until it was complete.
    """

    outcome: Outcome
    status: int
    said: str
    internals: tuple[str, ...]
    seconds: float


def send(server: Server, request: HostileRequest) -> Answered:
    """Sends a request as it is, and reads the whole answer."""
    started = time.monotonic()
    headers = {"content-type": request.content_type} if request.content_type else {}
    try:
        response = server.client.post(f"{server.url}{PATH}", content=request.content, headers=headers)
    except httpx.TimeoutException as error:
        return Answered(Outcome.HUNG, 0, repr(error), (), time.monotonic() - started)
    except httpx.TransportError as error:
        return Answered(Outcome.LOST, 0, repr(error), (), time.monotonic() - started)
    return judged(refusal(response), time.monotonic() - started)


def judged(answer: Refusal, seconds: float) -> Answered:
    """What kind of answer a status, a content type and a body are."""
    outcome, status = Outcome.ANSWERED, answer.status
    if status == 200:
        try:
            if answer.content_type.startswith("text/event-stream"):
                read_stream([answer.body.encode()])
            else:
                read_body(json.loads(answer.body))
        except StreamFailedError:
            status = code_of(answer)
        except Exception:  # whatever a client cannot read is no answer
            outcome = Outcome.BROKEN
    if status != 200:
        gap_status, gap_field = NOT_IMPLEMENTED
        is_gap = status == gap_status and gap_field in answer.body
        outcome = Outcome.REFUSED if 400 <= status < 500 or is_gap else Outcome.FAILED
    # A good answer may hold whatever the model says.
    internals = () if outcome is Outcome.ANSWERED else tuple(answer.internals)
    return Answered(outcome, status, answer.body[:KEPT], internals, seconds)


def code_of(answer: Refusal) -> int:
    """The status that the error event of a stream names; 500 where it names none."""
    try:
        return int(answer.error["code"])
    except (ValueError, LookupError, TypeError):
        return 500
