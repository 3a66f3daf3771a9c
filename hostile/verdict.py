"""What may not be: a request that the frontend fails and the reference does not, a hang, insides shown to a client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .answers import Answered, Outcome

if TYPE_CHECKING:
    from .bodies import HostileRequest, Kind

BAD = (Outcome.FAILED, Outcome.BROKEN, Outcome.LOST, Outcome.HUNG)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One request, without its body, and its answers.

    Attributes:
        size: bytes of the body.
        reference: None where the reference was not asked.
        objection: why it may not be; empty where it may.
    """

    number: int
    kind: Kind
    size: int
    frontend: Answered
    reference: Answered | None
    objection: str


def needs_reference(frontend: Answered) -> bool:
    return frontend.outcome in BAD


def is_unsettled(found: Verdict) -> bool:
    """Whether the request must be sent once more, alone.

    It hung while others kept the engine busy, or it has no answer of the reference, which another may have ended.
    """
    if found.frontend.outcome is Outcome.HUNG:
        return True
    return found.reference is not None and found.reference.outcome in (Outcome.HUNG, Outcome.LOST)


def verdict(request: HostileRequest, frontend: Answered, reference: Answered | None) -> Verdict:
    """Judges a request by both answers; the reference's has to be there where ``needs_reference`` says so."""
    objection = ""
    if frontend.outcome in BAD and (reference is None or reference.outcome is not frontend.outcome):
        theirs = f"{reference.outcome} {reference.status}" if reference else "not asked"
        objection = f"{frontend.outcome} {frontend.status}, and the reference {theirs}"
    elif frontend.status == 404 and not frontend.said:
        objection = "no worker is there any more: the request was not tried"
    elif frontend.internals:
        objection = f"insides shown: {', '.join(frontend.internals)}"
    return Verdict(request.number, request.kind, len(request.content), frontend, reference, objection)
