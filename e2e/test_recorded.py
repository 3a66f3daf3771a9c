"""Every recorded request through Dynamo's front: the prompt that SGLang made of it, its refusal, or a listed host gap.

``fixtures/host_gaps`` lists the requests that do not come through, and what Dynamo makes of them. It is recorded from a
running frontend (``python -m e2e.test_recorded``) and held here, so that a gap that closes or opens is seen.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from sglang_parity.host.headers import token_ids_sha256

from stand.answers import SHOWN_EXCEPTION
from stand.cases import carried
from stand.repository import ROOT
from stand.servers import PATH, Body, Server
from stand.stack import Stack, open_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "deepseek-v4-flash-0731.json"
FIXTURE = ROOT / "fixtures" / "parity" / NAME
SHOWN = 120  # characters of each in the report
GAPS = ROOT / "fixtures" / "host_gaps" / NAME


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """A request, and what SGLang's server made of it, in one line: a prompt's digest, or a status and a message."""

    name: str
    body: bytes
    sglang: str


def recorded_cases() -> Iterator[RecordedCase]:
    """The cases that a server with default settings can show."""
    for case in json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"]:
        if "server" not in case:
            body = case["body"] if "body" in case else json.dumps(for_dynamo(case["request"]))
            error = case.get("error")
            sglang = refused(**error) if error else f"prompt {case['token_sha256'][:16]}"
            yield RecordedCase(case["name"], body.encode("utf-8", "surrogatepass"), sglang)


def refused(status: int, message: str, **_kind: str) -> str:
    """The message without the class of an exception, which is not for clients, and the place in the body that it names.

    The place moves with the fields that are added here.
    """
    message = SHOWN_EXCEPTION.sub(r"\g<message>", message)
    return f"status {status}: {re.sub(r' at line 1 column [0-9]+', '', message)}"


def for_dynamo(request: Body) -> Body:
    """The request as a client of the stack sends it: its model, few tokens, the prompt's ids in the answer.

    A turn is continued with ``add_generation_prompt: false`` beside it, and what Dynamo does not let through at the top
    goes into ``chat_template_kwargs.sglang``; as SGLang takes them, both are host gaps (see ``gaps``).
    """
    if isinstance(request.get("chat_template_kwargs", {}), dict):
        request = carried(request)
    continued = {"add_generation_prompt": False} if request.get("continue_final_message") else {}
    model = {"model": "stand-in"} if isinstance(request.get("model"), str) else {}
    unary = {"stream": False} if request.get("stream") is True else {}
    extras = {"nvext": {"extra_fields": ["prompt_token_ids"]}, "max_tokens": 4}
    return {**extras, **continued, **request, **model, **unary}


def through_the_front(frontend: Server, body: bytes) -> str:
    """What became of a request, in the words of ``RecordedCase.sglang``."""
    headers = {"content-type": "application/json"}
    response = frontend.client.post(f"{frontend.url}{PATH}", content=body, headers=headers)
    if response.status_code != 200:
        return refused(response.status_code, response.json()["message"])
    return f"prompt {token_ids_sha256(response.json()['nvext']['prompt_token_ids'])[:16]}"


HOST_GAPS: dict[str, str] = json.loads(GAPS.read_text(encoding="utf-8")) if GAPS.exists() else {}
THROUGH = [pytest.param(case, id=case.name) for case in recorded_cases() if case.name not in HOST_GAPS]
NOT_THROUGH = [pytest.param(case, id=case.name) for case in recorded_cases() if case.name in HOST_GAPS]


@pytest.fixture
def frontend(stack: Stack) -> Server:
    if stack.frontend.model != "stand-in":
        pytest.skip("not run: recorded for a server with the stand-in checkpoint's settings")
    return stack.frontend


@pytest.mark.parametrize("case", THROUGH)
def test_recorded_request_comes_through(frontend: Server, case: RecordedCase) -> None:
    """The engine gets what SGLang's would get, or the request is refused as SGLang refuses it."""
    found = through_the_front(frontend, case.body)
    assert found == case.sglang


@pytest.mark.parametrize("case", NOT_THROUGH)
def test_recorded_request_is_a_host_gap(
    frontend: Server, case: RecordedCase, record_property: Callable[[str, object], None]
) -> None:
    """What Dynamo makes of it instead is as listed."""
    found = through_the_front(frontend, case.body)
    assert found == HOST_GAPS[case.name], f"the gap has changed or closed; SGLang: {case.sglang}"
    record_property("note", f"SGLang: {case.sglang[:SHOWN]}; Dynamo: {found[:SHOWN]}")


def record() -> None:
    """Writes the host gaps that the running frontend has."""
    with open_stack() as stack:
        answers = {case.name: (case, through_the_front(stack.frontend, case.body)) for case in recorded_cases()}
    gaps = {name: found for name, (case, found) in answers.items() if found != case.sglang}
    GAPS.parent.mkdir(exist_ok=True)
    GAPS.write_text(json.dumps(gaps, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{GAPS.name}: {len(answers)} requests, {len(gaps)} host gaps")


if __name__ == "__main__":
    record()
