"""What is kept of one request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Record:
    """One request, as it stands in ``requests.jsonl``; times in seconds.

    Attributes:
        step: the number of the step that it belongs to.
        number: of the request; the same number is the same request to both servers.
        kind: of the workload.
        sent: since the start of the test. In an open loop the scheduled arrival, whether or not it could be kept.
        warm_up: it was sent in the warm-up of its step, and counts nowhere.
        failure: why it failed, the same text for the same cause; None where it did not.
        body: of a failing answer, cut short.
        ttft, ttst, tpot, e2e, itl: as ``answer.Answer`` has them.
        prompt_tokens, output_tokens: as the server counts them.
    """

    server: str
    step: int
    number: int
    kind: str
    streamed: bool
    sent: float
    warm_up: bool
    status: int | None = None
    failure: str | None = None
    body: str | None = None
    ttft: float | None = None
    ttst: float | None = None
    tpot: float | None = None
    e2e: float | None = None
    itl: tuple[float, ...] = ()
    prompt_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def finished(self) -> float | None:
        """When a right answer was complete, since the start of the test."""
        return None if self.e2e is None else self.sent + self.e2e
