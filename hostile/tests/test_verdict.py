"""What is against an answer, and what a run makes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from hostile.answers import Answered, Outcome, judged
from hostile.bodies import HostileRequest, Kind
from hostile.outcome import Memory, Run, terminal_lines, write
from hostile.verdict import is_unsettled, verdict
from stand.answers import Refusal

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = HostileRequest(3, Kind.NUMBER, "application/json", b"{}")
GOOD = json.dumps({"choices": [{"index": 0, "message": {"content": "ValueError"}, "finish_reason": "stop"}]})
CHUNK = '{"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": "stop"}]}'
JSON, STREAM = "application/json", "text/event-stream"


@pytest.mark.parametrize(
    ("answer", "outcome", "status", "internals"),
    [
        (Refusal(200, JSON, GOOD), Outcome.ANSWERED, 200, ()),
        (Refusal(200, JSON, "{}"), Outcome.BROKEN, 200, ()),
        (Refusal(200, STREAM, f"data: {CHUNK}\n\ndata: [DONE]\n\n"), Outcome.ANSWERED, 200, ()),
        (Refusal(200, STREAM, f"data: {CHUNK}\n\n"), Outcome.BROKEN, 200, ()),
        (Refusal(200, STREAM, 'data: {"error": {"code": 400}}\n\n'), Outcome.REFUSED, 400, ()),
        (Refusal(200, STREAM, 'data: {"error": {"message": "x"}}\n\n'), Outcome.FAILED, 500, ()),
        (Refusal(400, JSON, '{"message": "no"}'), Outcome.REFUSED, 400, ()),
        (Refusal(422, JSON, "KeyError: 'x'"), Outcome.REFUSED, 422, ("KeyError",)),
        (Refusal(501, JSON, '{"message": "`function_call` is deprecated."}'), Outcome.REFUSED, 501, ()),
        (Refusal(501, JSON, '{"message": "not yet"}'), Outcome.FAILED, 501, ()),
        (Refusal(503, JSON, ""), Outcome.FAILED, 503, ()),
    ],
)
def test_kinds_of_answers(answer: Refusal, outcome: Outcome, status: int, internals: tuple[str, ...]) -> None:
    found = judged(answer, 1.0)
    assert (found.outcome, found.status, found.internals) == (outcome, status, internals)


ANSWERED = Answered(Outcome.ANSWERED, 200, "", (), 0.1)
REFUSED = Answered(Outcome.REFUSED, 400, "", (), 0.1)
FAILED = Answered(Outcome.FAILED, 500, "", (), 0.1)
HUNG = Answered(Outcome.HUNG, 0, "", (), 60.0)
LOST = Answered(Outcome.LOST, 0, "", (), 0.1)


@dataclass(frozen=True)
class Judged:
    """What both servers answer, and what is against it."""

    name: str
    frontend: Answered
    reference: Answered | None
    objection: str


JUDGED = (
    Judged("answered", ANSWERED, None, ""),
    Judged("answered, and refused by the reference", ANSWERED, REFUSED, ""),
    Judged("refused", REFUSED, None, ""),
    Judged("no worker", replace(REFUSED, status=404), None, "no worker is there any more: the request was not tried"),
    Judged("a model that nobody serves", replace(REFUSED, status=404, said="Model not found"), None, ""),
    Judged("failed alone", FAILED, REFUSED, "failed 500, and the reference refused 400"),
    Judged("both fail", FAILED, FAILED, ""),
    Judged("failed where the reference hangs", FAILED, HUNG, "failed 500, and the reference hung 0"),
    Judged("failed where the reference breaks down", FAILED, LOST, "failed 500, and the reference lost 0"),
    Judged("hangs alone", HUNG, FAILED, "hung 0, and the reference failed 500"),
    Judged("both hang", HUNG, HUNG, ""),
    Judged("a broken connection alone", LOST, ANSWERED, "lost 0, and the reference answered 200"),
    Judged("insides", replace(REFUSED, internals=("x.py",)), None, "insides shown: x.py"),
    Judged("insides of a failure that both have", replace(FAILED, internals=("x.py",)), FAILED, "insides shown: x.py"),
)


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case.name)
def test_what_is_against_an_answer(case: Judged) -> None:
    assert verdict(REQUEST, case.frontend, case.reference).objection == case.objection


@pytest.mark.parametrize(
    ("frontend", "reference", "unsettled"),
    [
        (ANSWERED, None, False),
        (ANSWERED, LOST, True),
        (REFUSED, HUNG, True),
        (FAILED, FAILED, False),
        (FAILED, None, False),
        (HUNG, FAILED, True),
        (LOST, ANSWERED, False),
    ],
)
def test_what_has_no_whole_answer_is_sent_again(
    frontend: Answered, reference: Answered | None, unsettled: bool
) -> None:
    assert is_unsettled(verdict(REQUEST, frontend, reference)) is unsettled


def test_a_run_with_something_against_it(tmp_path: Path) -> None:
    verdicts = [verdict(REQUEST, ANSWERED, None), verdict(REQUEST, FAILED, REFUSED)]
    run = Run(7, 2.0, verdicts, tuple(range(12)), Memory(100, 200, 110), ("worker has restarted",))
    violations = [
        "request 3, numbers at their limits: failed 500, and the reference refused 400",
        "worker has restarted",
    ]
    assert run.violations == violations
    lines = list(terminal_lines(run))
    assert lines[-1] == "2 requests of seed 7 in 2 s, 2 violations"
    assert "memory of the frontend: 100 MiB before, 200 at most, 110 after" in lines
    again = (
        "sent again alone, since one of the servers did not answer in time: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … and 2 more"
    )
    assert again in lines

    write(run, tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert (found["requests"], found["violations"], found["frontend, MiB, highest"]) == (2, 2, 200)
    assert [row["objection"] for row in found["rows"]] == ["", violations[0].partition(": ")[2]]
