"""What may not be: a request that the frontend fails and the reference does not, a hang, insides shown to a client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .answers import Answered, Outcome

if TYPE_CHECKING:
    from .bodies import HostileRequest, Kind

BAD = (Outcome.FAILED, Outcome.BROKEN, Outcome.LOST, Outcome.HUNG)


@dataclass(frozen=True, slots=True)
class Gap:
    """What Dynamo's front does by itself, before the processor sees the request or after it has answered.

    Attributes:
        name: what it does.
        outcome, status: of the frontend's answer.
        said: text in it.
    """

    name: str
    outcome: Outcome
    status: int
    said: str

    def explains(self, answer: Answered) -> bool:
        return (self.outcome, self.status) == (answer.outcome, answer.status) and self.said in answer.said


GAPS: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """One request, without its body, and its answers.

    Attributes:
        size: bytes of the body.
        reference: None where the reference was not asked.
        objection: why it may not be; empty where it may.
        gap: name of the gap that explains it.
    """

    number: int
    kind: Kind
    size: int
    frontend: Answered
    reference: Answered | None
    objection: str
    gap: str


def needs_reference(frontend: Answered) -> bool:
    return frontend.outcome in BAD


def verdict(request: HostileRequest, frontend: Answered, reference: Answered | None) -> Verdict:
    """Judges a request by both answers; the reference's has to be there where ``needs_reference`` says so."""
    objection = ""
    if frontend.outcome in BAD and (reference is None or not as_bad(frontend, reference)):
        theirs = f"{reference.outcome} {reference.status}" if reference else "not asked"
        objection = f"{frontend.outcome} {frontend.status}, and the reference {theirs}"
    elif frontend.status == 404 and not frontend.said:
        objection = "no worker is there any more: the request was not tried"
    elif frontend.internals:
        objection = f"insides shown: {', '.join(frontend.internals)}"
    gap = next((gap.name for gap in GAPS if objection and gap.explains(frontend)), "")
    size = len(request.content)
    return Verdict(request.number, request.kind, size, frontend, reference, "" if gap else objection, gap)


def as_bad(frontend: Answered, reference: Answered) -> bool:
    """Whether SGLang's server does not do better."""
    if frontend.outcome is Outcome.FAILED:
        return reference.outcome in BAD
    return reference.outcome is frontend.outcome
