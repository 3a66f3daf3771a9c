"""Headers: those that both servers send, what only one does, and a request's id through all the logs."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from sglang_parity.host.headers import token_ids_sha256

from stand.cases import user
from stand.servers import MODES, PATH, Body, Mode

if TYPE_CHECKING:
    import httpx

    from stand.servers import Server
    from stand.stack import Project, Stack

HI: Body = {"messages": [user("Hi", "Hello.")], "max_tokens": 8}
REFUSED: Body = {"messages": [user("Hi")], "top_k": 0}
ORIGIN = "http://example.com"
LOG_LINES, LOG_TIMEOUT_S = 2000, 10.0


def headers_of(server: Server, body: Body, mode: Mode, **headers: str) -> httpx.Headers:
    with server.open(body, mode, {name.replace("_", "-"): value for name, value in headers.items()}) as response:
        response.read()
        return response.headers


@dataclass(frozen=True, slots=True)
class HeaderCase:
    """A header of an answer, None where a server does not send it.

    Attributes:
        name: id of the test.
        body: the request, which comes from another origin and has an id.
        mode: how it is asked.
        header: the header.
        reference: what SGLang's server sends.
        frontend: what Dynamo's front sends. Where it differs, that is a host gap: no processor sees these headers.
    """

    name: str
    body: Body
    mode: Mode
    header: str
    reference: str | None
    frontend: str | None


JSON, EVENTS = "application/json", "text/event-stream"
HEADERS = [
    HeaderCase("answer", HI, "unary", "content-type", JSON, JSON),
    HeaderCase("stream", HI, "stream", "content-type", f"{EVENTS}; charset=utf-8", EVENTS),
    HeaderCase("refusal", REFUSED, "unary", "content-type", JSON, JSON),
    HeaderCase("refused stream", REFUSED, "stream", "content-type", JSON, JSON),
    HeaderCase("answer", HI, "unary", "cache-control", None, None),
    HeaderCase("stream", HI, "stream", "cache-control", None, "no-cache"),
    HeaderCase("answer", HI, "unary", "access-control-allow-origin", ORIGIN, None),
    HeaderCase("stream", HI, "stream", "access-control-allow-origin", ORIGIN, None),
    HeaderCase("refusal", REFUSED, "unary", "access-control-allow-origin", ORIGIN, None),
    HeaderCase("answer", HI, "unary", "x-request-id", None, "given"),
    HeaderCase("stream", HI, "stream", "x-request-id", None, "given"),
    HeaderCase("refusal", REFUSED, "unary", "x-request-id", None, "given"),
    HeaderCase("refused stream", REFUSED, "stream", "x-request-id", None, "given"),
]


@pytest.mark.parametrize("case", HEADERS, ids=[f"{case.header}-{case.name}" for case in HEADERS])
def test_header(stack: Stack, case: HeaderCase) -> None:
    sent = [
        headers_of(server, case.body, case.mode, origin=ORIGIN, x_request_id="given").get(case.header)
        for server in (stack.reference, stack.frontend)
    ]
    assert sent == [case.reference, case.frontend]


def test_host_gap_in_cors(stack: Stack) -> None:
    """A page of another origin cannot call the frontend: the front does not answer a preflight."""
    asks = {"origin": ORIGIN, "access-control-request-method": "POST"}
    statuses = [
        server.client.options(f"{server.url}{PATH}", headers=asks).status_code
        for server in (stack.reference, stack.frontend)
    ]
    assert statuses == [200, 405]


@pytest.mark.parametrize("mode", MODES)
def test_prompt_and_processor_are_told_in_headers(stack: Stack, project: Project, mode: Mode) -> None:
    code = "from dynamo._core import Context; print(hasattr(Context, 'set_response_header'))"
    if project.service("frontend").run("python", "-c", code).text.strip() != "True":
        pytest.skip("not run: this Dynamo cannot set headers")
    headers = headers_of(stack.frontend, HI, mode)
    told = told_in_nvext(stack)
    assert {name: headers.get(f"x-{name.replace('_', '-')}") for name in told} == {
        name: str(value) for name, value in told.items()
    }


def test_prompt_and_processor_are_told_under_nvext(stack: Stack) -> None:
    told = told_in_nvext(stack)
    ids = stack.frontend.ask(HI, "unary")
    assert told["chat_processor"].startswith("sglang-parity/")
    prompt_token_ids = list(getattr(ids, "prompt_token_ids", ()))
    assert (told["prompt_tokens"], told["prompt_sha256"]) == (len(prompt_token_ids), token_ids_sha256(prompt_token_ids))


def told_in_nvext(stack: Stack) -> dict[str, Any]:
    names = ["prompt_tokens", "prompt_sha256", "chat_processor"]
    with stack.frontend.open({**HI, "nvext": {"extra_fields": names}}, "unary") as response:
        told: dict[str, Any] = json.loads(response.read())["nvext"]
    assert list(told) == names
    return told


@pytest.mark.parametrize("mode", MODES)
def test_e08_the_id_of_a_request_is_in_the_logs_of_frontend_and_worker(
    stack: Stack, project: Project, mode: Mode
) -> None:
    """The client's ``x-request-id``, and beside it Dynamo's own, which is the id of the answer."""
    given = f"given-{uuid.uuid4()}"
    with stack.frontend.open(HI, mode, {"x-request-id": given}) as response:
        assert response.headers["x-request-id"] == given
        answer = response.read().decode("utf-8")
    answer_id = json.loads(answer.removeprefix("data: ").split("\n\n")[0])["id"]
    for name in ("frontend", "worker"):
        assert logged(project, name, given, answer_id), f"the log of {name} has no line with both ids"


@pytest.mark.parametrize("mode", MODES)
def test_e08_the_id_of_a_refused_request_is_in_the_processors_log(stack: Stack, project: Project, mode: Mode) -> None:
    given = f"given-{uuid.uuid4()}"
    assert headers_of(stack.frontend, REFUSED, mode, x_request_id=given)["x-request-id"] == given
    assert logged(project, "frontend", f"(x-request-id {given}) refused with 400: top_k must be -1")


def logged(project: Project, service: str, *texts: str) -> bool:
    """Whether a line of a service's log comes to hold all the texts."""
    deadline = time.monotonic() + LOG_TIMEOUT_S
    while time.monotonic() < deadline:
        lines = project.service(service).log(LOG_LINES).splitlines()
        if any(all(text in line for text in texts) for line in lines):
            return True
        time.sleep(0.2)
    return False
