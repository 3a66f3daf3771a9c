"""Requests that both servers refuse: with the same status, and the same words where Dynamo's front lets them through.

``fixtures/refusals`` has what the reference answers, recorded from a running one (``python -m e2e.test_errors``), for
the processor's own tests; it is compared with the reference here.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import openai
import pytest

from stand.answers import SHOWN_EXCEPTION
from stand.refusals import REFUSALS, RefusedCase
from stand.repository import ROOT
from stand.servers import MODES, Mode, Server, refusal
from stand.stack import Stack, open_stack

from .report import Sides

if TYPE_CHECKING:
    from collections.abc import Callable

    from stand.answers import Refusal

FIXTURE = ROOT / "fixtures" / "refusals" / "deepseek-v4-flash-0731.json"
LONG_BODY = 10_000  # characters; a case with a longer one is held here only


@dataclass(frozen=True, slots=True)
class Said:
    """A refusal, less what differs from one request to the next or from one installation to the other.

    Attributes:
        status: of the answer, or of the error event in it.
        type: the error's kind in the server's own words.
        message: what is wrong.
    """

    status: int
    type: str
    message: str


def said(answer: Refusal) -> Said:
    if answer.content_type.startswith("text/plain"):
        return Said(answer.status, "", answer.body)
    error = answer.error
    place_in_sglang = r"\n\n  File \"[^\"]*\", line \d+, in \w+\n    POST \S+"
    time_of_a_grammar = r"\[\d\d:\d\d:\d\d\] "
    place_in_the_body = r" at line 1 column \d+"
    message = re.sub(f"{place_in_sglang}|{time_of_a_grammar}|{place_in_the_body}", "", error["message"])
    return Said(error["code"], error["type"], message)


def asked(server: Server, case: RefusedCase, mode: Mode) -> Refusal:
    with server.open(case.body, mode) as response:
        return refusal(response)


RECORDED: dict[str, dict[str, Any]] = (
    json.loads(FIXTURE.read_text(encoding="utf-8"))["refusals"] if FIXTURE.exists() else {}
)


@pytest.mark.parametrize(
    ("case", "mode"),
    [pytest.param(case, mode, id=f"{case.name}-{mode}") for case in REFUSALS for mode in MODES],
)
def test_a_refusal(stack: Stack, case: RefusedCase, mode: Mode, record_property: Callable[[str, object], None]) -> None:
    """The same status, streamed too; the same message, but where the front decides or SGLang's server has broken."""
    reference, frontend = asked(stack.reference, case, mode), asked(stack.frontend, case, mode)
    theirs, ours = said(reference), said(frontend)
    record_property("sides", Sides(f"{theirs.status} {theirs.message}", f"{ours.status} {ours.message}"))
    record_property("note", note(case, theirs))

    streamed = mode == "stream" and case.streamed_by_reference
    assert reference.status == (200 if streamed else theirs.status), reference
    assert frontend.status == ours.status == theirs.status, (reference, frontend)
    assert frontend.content_type == "application/json"
    assert not frontend.internals, frontend.body
    if theirs.status == 500:
        assert ours.message == "Internal server error"
    elif case.by == "front":
        assert case.says in ours.message
        assert ours.message != theirs.message, "the gap has closed"
    else:
        assert ours.message == SHOWN_EXCEPTION.sub(r"\g<message>", theirs.message)
    if mode == "unary" and case.name in RECORDED:
        assert asdict(theirs) == RECORDED[case.name]["reference"], "record anew: python -m e2e.test_errors"


def note(case: RefusedCase, theirs: Said) -> str:
    if theirs.status == 500:
        return "host gap: the front has one text for every 500"
    return {
        "front": "host gap: the front refuses it, before the processor sees it",
        "processor": "the processor refuses it",
        "worker": "the worker refuses it",
    }[case.by]


def test_host_gap_in_the_body_of_a_refusal(stack: Stack) -> None:
    """``object`` and ``param`` are the reference's alone, and ``type`` is HTTP's word at the frontend."""
    case = next(case for case in REFUSALS if case.name == "top-k-0")
    reference, frontend = asked(stack.reference, case, "unary").error, asked(stack.frontend, case, "unary").error
    assert set(reference) == {"object", "message", "type", "param", "code"}
    assert set(frontend) == {"message", "type", "code"}
    assert (reference["type"], frontend["type"]) == ("BadRequestError", "Bad Request")


@pytest.mark.parametrize("content", [b"not json", b"", b"{}", b'{"messages": [', b"\xff\xfe"], ids=repr)
def test_a_body_that_is_no_request_is_refused(stack: Stack, content: bytes) -> None:
    reference, frontend = stack.reference.send(content), stack.frontend.send(content)
    assert (reference.status, frontend.status) == (400, 400)
    assert reference.message
    assert frontend.message
    assert not frontend.internals, frontend.body


@dataclass(frozen=True, slots=True)
class WrongDoor:
    """What is no chat request, and the status of both servers."""

    name: str
    method: str
    path: str
    content_type: str
    reference: int
    frontend: int


WRONG_DOORS = [
    WrongDoor("content-type-text", "POST", "/v1/chat/completions", "text/plain", 400, 415),
    WrongDoor("content-type-missing", "POST", "/v1/chat/completions", "", 400, 415),
    WrongDoor("method-get", "GET", "/v1/chat/completions", "application/json", 405, 405),
    WrongDoor("path-unknown", "POST", "/v1/no-such-path", "application/json", 404, 404),
]


@pytest.mark.parametrize("door", WRONG_DOORS, ids=[door.name for door in WRONG_DOORS])
def test_host_gap_in_what_is_no_chat_request(stack: Stack, door: WrongDoor) -> None:
    """Paths, methods and content types are the front's affair."""
    content = json.dumps({"model": stack.reference.model, "messages": [{"role": "user", "content": "Hi"}]})
    headers = {"content-type": door.content_type} if door.content_type else {}
    statuses = []
    for server in (stack.reference, stack.frontend):
        url = f"{server.url}{door.path}"
        answer = refusal(server.client.request(door.method, url, content=content, headers=headers))
        assert not answer.internals, answer.body
        statuses.append(answer.status)
    assert statuses == [door.reference, door.frontend]


@pytest.mark.parametrize("mode", MODES)
def test_openai_python_raises_on_a_refusal(stack: Stack, mode: Mode) -> None:
    messages = []
    for server in (stack.reference, stack.frontend):
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(
                model=server.model,
                messages=[{"role": "user", "content": "Hi"}],
                extra_body={"top_k": 0},
                stream=mode == "stream",
            )
        assert isinstance(caught.value.body, dict)
        messages.append(caught.value.body["message"])
    assert messages[0] == messages[1] == "top_k must be -1 (disable) or at least 1, got 0."


def record() -> None:
    """Writes what the running reference answers."""
    with open_stack() as stack:
        refusals = {
            case.name: {
                "request": case.body,
                "by": case.by,
                "reference": asdict(said(asked(stack.reference, case, "unary"))),
            }
            for case in REFUSALS
            if len(json.dumps(case.body)) <= LONG_BODY
        }
        info = stack.reference.client.get(f"{stack.reference.url}/server_info").raise_for_status().json()
    fixture = {"sglang": info["version"], "context_length": info["context_length"], "refusals": refusals}
    FIXTURE.parent.mkdir(exist_ok=True)
    FIXTURE.write_text(json.dumps(fixture, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{FIXTURE.name}: {len(refusals)} refusals")


if __name__ == "__main__":
    record()
