"""A user that streams chat completions, one after another."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import gevent
from answer import Answer, RequestError, error_cause, read_answer
from geventhttpclient.useragent import RetriesExceeded
from locust import FastHttpUser, task
from locust.contrib.fasthttp import FAILURE_EXCEPTIONS
from workload import chat_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from geventhttpclient.response import HTTPSocketResponse
    from locust.env import Environment

# A refused request comes back at once: without a pause, users would turn an outage into a flood.
_PAUSE_AFTER_FAILURE_S = 1.0


class ChatUser(FastHttpUser):
    """Asks the workload's next request, reads the answer and reports it under the server's name.

    A complete answer makes four entries in Locust's statistics: TTFT, ITL and E2E in milliseconds, and output tokens, a
    count. A failure makes one, an E2E failure without a time, and so never touches a latency.

    Attributes:
        server: names the server in the statistics.
        numbers: the numbers of the requests to come, one sequence for all users of a server: request 17 to one server
            is request 17 to the other, however fast each is. Each test starts them anew.
    """

    abstract = True
    server: ClassVar[str]
    numbers: ClassVar[Iterator[int]]

    def __init__(self, environment: Environment) -> None:
        assert environment.parsed_options is not None  # Locust's command line always sets it
        self._timeout: float = environment.parsed_options.request_timeout
        self.network_timeout = self.connection_timeout = self._timeout
        super().__init__(environment)

    @task
    def chat(self) -> None:
        body = chat_request(next(self.numbers))
        try:
            answer = self._ask(body)
        except RequestError as failure:
            self._report("E2E", None, exception=str(failure))
            gevent.sleep(_PAUSE_AFTER_FAILURE_S)
            return
        self._report("TTFT", answer.ttft * 1000)
        if answer.itl is not None:
            self._report("ITL", answer.itl * 1000)
        self._report("E2E", answer.e2e * 1000)
        self._report("output tokens", answer.output_tokens)

    @cached_property
    def _model(self) -> str:
        """The id of the model that the server serves."""
        response = self.client.get("/v1/models", catch_response=True)
        if response.status_code == 0:
            response.raise_for_status()
        if response.status_code != 200:
            raise RequestError(response.status_code, "/v1/models")
        try:
            return str(response.json()["data"][0]["id"])
        except (ValueError, LookupError, TypeError):
            raise RequestError(200, "/v1/models lists no model") from None

    def _ask(self, body: dict[str, Any]) -> Answer:
        status = None
        try:
            with gevent.Timeout(self._timeout):
                payload = {**body, "model": self._model}
                sent = time.perf_counter()
                # `catch_response` outside a `with` statement keeps Locust from reporting the request by itself.
                response = self.client.post(
                    "/v1/chat/completions",
                    json=payload,
                    headers={"Accept": "text/event-stream", "Accept-Encoding": "identity"},
                    stream=True,
                    catch_response=True,
                )
                if response.status_code == 0:
                    response.raise_for_status()
                status = response.status_code
                if status != 200:
                    raise RequestError(status, error_cause(response.text or ""))
                return read_answer(_as_they_arrive(response.stream), sent)
        except FAILURE_EXCEPTIONS as broken:
            # What breaks before the answer's head may come wrapped, as if it had been retried.
            cause = broken.__context__ if isinstance(broken, RetriesExceeded) else broken
            if isinstance(cause, (gevent.Timeout, TimeoutError)):
                raise RequestError(status, "timeout") from broken
            raise RequestError(status, f"connection broken: {type(cause).__name__}") from broken

    def _report(self, name: str, value: float | None, exception: str | None = None) -> None:
        self.environment.events.request.fire(
            request_type=self.server,
            name=name,
            response_time=value,
            response_length=0,
            exception=exception,
            context=self.context(),
        )


def _as_they_arrive(stream: HTTPSocketResponse) -> Iterator[bytes]:
    """The body line by line: ``read`` and ``iter_content`` wait for as many bytes as they are asked for."""
    while line := stream.readline(b"\n"):
        yield line
    if unfinished_line := stream.read():
        yield unfinished_line
