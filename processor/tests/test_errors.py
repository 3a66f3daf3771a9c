"""The table of ``host.errors``, row by row: what goes to Dynamo, and what a client of a real Frontend sees."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest
from dynamo.llm.exceptions import Cancelled, ConnectionTimeout, HttpError, InvalidArgument, WorkerUnavailable
from sglang_parity.engine import ChatEngine
from sglang_parity.errors import EngineError, RequestError
from sglang_parity.host import errors as host_errors
from sglang_parity.host.errors import LONGEST_LOGGED, LONGEST_MESSAGE, WorkerError, for_clients, to_dynamo
from sglang_parity.request import read_request
from sglang_parity.steps import Pace
from test_engine import HI, Context, Router, answer, served_model

if TYPE_CHECKING:
    from local_dynamo import Frontend
    from sglang_parity.checkpoint import Checkpoint

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAME = "deepseek-v4-flash-0731.json"
PARITY = json.loads((FIXTURES / "parity" / NAME).read_text(encoding="utf-8"))
RECORDED = json.loads((FIXTURES / "refusals" / NAME).read_text(encoding="utf-8"))

# What must not be read in an answer: a traceback, the name of an exception's class, the path of a file.
INTERNALS = re.compile(
    r"Traceback|\b[A-Z]\w*(?:Error|Exception)\b|<class |\.py\b|(?:^|[\s\"'(])/(?:some|usr|home|tmp)/"
)


@pytest.mark.parametrize(
    ("cause", "raised", "text"),
    [
        (RequestError("why"), InvalidArgument, "why"),
        (RequestError("why", status=500, kind="InternalServerError"), HttpError, "HTTP 500: why"),
        (WorkerError("InvalidRequest", "why"), InvalidArgument, "why"),
        (WorkerError("RateLimited", "why"), HttpError, "HTTP 429: RateLimited"),
        (WorkerError("CapacityExhausted", "why"), HttpError, "HTTP 529: CapacityExhausted"),
        (WorkerError("Internal", "/why"), HttpError, "HTTP 500: Internal"),
        (WorkerError("Unavailable", "why"), WorkerUnavailable, "Unavailable"),
        (WorkerError("DeadlineExceeded", "why"), ConnectionTimeout, "DeadlineExceeded"),
        (WorkerError("Cancelled", "why"), Cancelled, "Cancelled"),
        (EngineError("why"), HttpError, "HTTP 500: why"),
        (InvalidArgument("why"), InvalidArgument, "why"),
        (WorkerUnavailable("why"), WorkerUnavailable, "why"),
        (RuntimeError("/why"), HttpError, "HTTP 500: internal error of the chat processor"),
    ],
    ids=repr,
)
def test_a_cause_goes_to_dynamo_as(
    cause: Exception, raised: type[Exception], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """And it stands in the log once, with the request's id; with a traceback where the fault is ours."""
    caplog.set_level(logging.INFO)
    error = to_dynamo(cause, "request-1")
    assert (type(error), str(error)) == (raised, text)
    (record,) = caplog.records
    assert "request-1" in record.getMessage()
    assert "why" in caplog.text
    assert bool(record.exc_info) is isinstance(cause, RuntimeError)


@pytest.mark.parametrize(
    "refusal",
    [pytest.param(case["error"], id=case["name"]) for case in PARITY["cases"] if "error" in case],
)
def test_what_the_renderer_refuses_keeps_status_and_message(refusal: dict[str, Any]) -> None:
    """That the renderer refuses as recorded is held by ``test_render_parity``."""
    error = to_dynamo(RequestError(refusal["message"], status=refusal["status"], kind=refusal["type"]), "request-1")
    assert status_and_message(error) == (refusal["status"], for_clients(refusal["message"]))
    assert not INTERNALS.search(str(error))


@pytest.mark.parametrize(
    ("sglang", "client"),
    [
        ("{'input': 1, 'ctx': {'error': ValueError('why')}}", "{'input': 1, 'ctx': {'error': 'why'}}"),
        (r"""{'ctx': {'error': ValueError("it's (\"so\")}}")}} [""", r"""{'ctx': {'error': "it's (\"so\")}}"}} ["""),
        (r"""{'ctx': {'error': AssertionError('a\'b')}}""", r"""{'ctx': {'error': 'a\'b'}}"""),
        ("{'ctx': {'error': 'JSON decode error'}}", "{'ctx': {'error': 'JSON decode error'}}"),
        ("{'input': \"ValueError('a')\"}", "{'input': \"ValueError('a')\"}"),
    ],
)
def test_the_class_of_an_exception_is_not_for_clients(sglang: str, client: str) -> None:
    assert for_clients(sglang) == client


def test_a_refusal_that_repeats_a_large_request_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    body = {"model": "m", "messages": [{"role": "user", "content": {"text": "x" * 3_000_000}}]}
    with pytest.raises(RequestError) as caught:
        read_request(body)
    assert len(caught.value.message) == (4 << 20) + 1
    assert len(str(to_dynamo(caught.value, "request-1"))) == LONGEST_MESSAGE + 1
    assert len(caplog.text) < 2 * LONGEST_LOGGED


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in RECORDED["refusals"].items() if case["by"] != "worker"]
)
def test_the_processor_refuses_as_the_reference(checkpoint: Checkpoint, case: dict[str, Any]) -> None:
    """Those requests too that Dynamo's front refuses before it."""
    served = served_model(checkpoint.path)
    model = replace(served, chat_model=replace(served.chat_model, context_length=RECORDED["context_length"]))
    router = Router([])

    async def ask() -> list[dict[str, Any]]:
        with ThreadPoolExecutor(1) as pool:
            return [
                chunk async for chunk in ChatEngine(model, router, pool, Pace(0)).generate(case["request"], Context())
            ]

    with pytest.raises((InvalidArgument, HttpError)) as caught:
        asyncio.run(ask())
    assert status_and_message(caught.value) == (case["reference"]["status"], for_clients(case["reference"]["message"]))
    assert router.requests == []


class RoutedEngineError(ValueError):
    """The documented exception of a later Dynamo."""


@pytest.mark.parametrize("failure", [RoutedEngineError("classified"), WorkerUnavailable("gone")])
def test_what_dynamo_has_classified_passes_through(
    checkpoint: Checkpoint, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_errors, "RoutedEngineError", RoutedEngineError)
    with pytest.raises(type(failure)) as caught:
        answer(checkpoint, HI, Router([], failure))
    assert caught.value is failure


def status_and_message(error: BaseException) -> tuple[int, str]:
    if isinstance(error, HttpError):
        return error.code, error.message
    assert isinstance(error, InvalidArgument)
    return 400, str(error)


@pytest.mark.parametrize(
    ("text", "category", "message"),
    [
        ('InvalidRequest: {"message":"bad grammar","code":400}', "InvalidRequest", "bad grammar"),
        ("InvalidRequest: ValueError: top_p must be in (0, 1].", "InvalidRequest", "top_p must be in (0, 1]."),
        ("InvalidRequest: UnicodeDecodeError: bad", "InvalidRequest", "bad"),
        ("InvalidRequest: temperature: too hot", "InvalidRequest", "temperature: too hot"),
        ("InvalidRequest: TypeError: no", "Internal", "TypeError: no"),
        (
            'Unavailable: {"message":"The request queue is full.","code":503}',
            "Unavailable",
            "The request queue is full.",
        ),
        ("Unavailable: {cut", "Unavailable", "{cut"),
        ("Internal: RuntimeError: /some/path", "Internal", "RuntimeError: /some/path"),
        ("NotImplemented: no such thing", "Internal", "NotImplemented: no such thing"),
        ("something else: entirely", "Internal", "something else: entirely"),
        ("", "Internal", ""),
    ],
)
def test_an_error_of_the_worker_is_read(text: str, category: str, message: str) -> None:
    error = WorkerError.read(text)
    assert (error.category, error.message) == (category, message)


def raises(kind: str, message: str = "why", **fields: Any) -> dict[str, Any]:
    return {"then": {"raise": kind, "message": message, **fields}}


# The front's own words: the type in a body, and in an error event.
TYPES = {
    400: ("Bad Request", "invalid_request_error"),
    403: ("Forbidden", "permission_error"),
    429: ("Too Many Requests", "rate_limit_error"),
    500: ("Internal Server Error", "internal_server_error"),
    503: ("Service Unavailable", "service_unavailable"),
    529: ("Overloaded", "service_unavailable"),
}
INTERNAL = "Internal server error"
WORKER_ERRORS = [
    pytest.param(raises("InvalidArgument"), 400, "why", id="refuses the request"),
    pytest.param(raises("HttpError", status=400), 400, "why", id="answers 400"),
    pytest.param(raises("HttpError", status=422), 400, "why", id="answers 422"),
    pytest.param(raises("ValueError"), 400, "why", id="lets a ValueError escape"),
    pytest.param(raises("HttpError", status=403), 403, "Forbidden", id="answers 403"),
    pytest.param(raises("HttpError", status=429), 429, "Too Many Requests", id="answers 429"),
    pytest.param(raises("HttpError", status=503), 503, "Service temporarily unavailable", id="is overloaded"),
    pytest.param(raises("HttpError", status=529), 529, INTERNAL, id="is out of capacity"),
    pytest.param(raises("HttpError", "/some/path", status=500), 500, INTERNAL, id="answers 500"),
    pytest.param(raises("HttpError", "/some/path", status=501), 500, INTERNAL, id="answers 501"),
    pytest.param(raises("TypeError", "/some/path"), 500, INTERNAL, id="lets a TypeError escape"),
    pytest.param(raises("RuntimeError", "/some/path"), 500, INTERNAL, id="lets any exception escape"),
    pytest.param(raises("Unknown", "/some/path"), 500, INTERNAL, id="fails without a class"),
    pytest.param({"then": {"finish": "error"}}, 500, INTERNAL, id="ends with an error"),
    pytest.param({"then": {"finish": "cancelled"}}, 500, INTERNAL, id="ends as cancelled"),
    pytest.param({"then": {}}, 500, INTERNAL, id="ends without a finish reason"),
]


@pytest.mark.parametrize("stream", [False, True], ids=["unary", "stream"])
@pytest.mark.parametrize(("order", "status", "message"), WORKER_ERRORS)
def test_a_client_is_told_that_the_worker(
    frontend: Frontend, order: dict[str, Any], status: int, message: str, stream: bool
) -> None:
    """Before the first token, streamed or not."""
    answer = frontend.chat(order, stream=stream)
    assert (answer.status_code, answer.json()["message"], answer.json()["code"]) == (status, message, status)
    assert answer.json()["type"] == TYPES[status][0]
    assert answer.headers["content-type"] == "application/json"
    assert not INTERNALS.search(answer.text)


@pytest.fixture(scope="module")
def client(frontend: Frontend) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{frontend.url}/v1", api_key="none", max_retries=0)


@pytest.mark.parametrize(("order", "status", "message"), WORKER_ERRORS)
def test_in_a_stream_that_has_begun_openai_python_raises_where_the_worker(
    client: openai.OpenAI, order: dict[str, Any], status: int, message: str
) -> None:
    """One error event ends the stream."""
    content = json.dumps({"say": "Hello there", **order})
    chunks = client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}], stream=True)
    text = ""
    with pytest.raises(openai.APIError) as caught:
        for chunk in chunks:
            text += chunk.choices[0].delta.content or ""
            assert chunk.choices[0].finish_reason is None
    assert text == "Hello there"
    assert isinstance(caught.value.body, dict)
    assert (caught.value.body["code"], caught.value.body["type"]) == (status, TYPES[status][1])
    assert not INTERNALS.search(str(caught.value.body))
    if status == 400:
        assert caught.value.message == message


def test_an_error_event_is_the_last_event_but_done(frontend: Frontend) -> None:
    order = {"say": "Hello", **raises("InvalidArgument")}
    *_chunks, error, done = frontend.chat(order, stream=True).text.strip().split("\n\n")
    assert json.loads(error.removeprefix("data: ")) == {
        "error": {"message": "why", "type": "invalid_request_error", "code": 400}
    }
    assert done == "data: [DONE]"


def test_a_refusal_that_comes_after_the_peek_is_an_event(frontend: Frontend) -> None:
    """The front of these tests waits for a second before it commits to a status of 200."""
    early = frontend.chat({"after_s": 0.3, **raises("InvalidArgument")}, stream=True)
    late = frontend.chat({"after_s": 1.5, **raises("InvalidArgument")}, stream=True)
    assert early.status_code == 400
    assert late.status_code == 200
    assert '"error":{"message":"why"' in late.text


@pytest.mark.parametrize(
    ("order", "line"),
    [
        (raises("RuntimeError", "cause-1"), "failed at the worker: Internal: RuntimeError: cause-1"),
        (raises("HttpError", "cause-2", status=429), "failed at the worker: RateLimited: cause-2"),
        (raises("InvalidArgument", "cause-3"), r"ended by Dynamo: InvalidArgument\('cause-3'\)"),
    ],
)
def test_the_log_names_a_failure_by_both_ids(frontend: Frontend, order: dict[str, Any], line: str) -> None:
    """Dynamo's id of the request, and the one that the client gave."""
    cause = order["then"]["message"]
    body = {"model": "m", "messages": [{"role": "user", "content": json.dumps(order)}]}
    frontend.post(body, {"x-request-id": f"given-with-{cause}"})
    log = frontend.log.read_text(encoding="utf-8")
    assert len(re.findall(rf"request [0-9a-f-]{{36}} \(x-request-id given-with-{cause}\) {line}", log)) == 1
