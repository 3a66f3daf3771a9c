"""A user that asks for chat completions, one after another or as they are due, when it is its turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

import gevent
from answer import BODY_KEPT, Answer, RequestError, error_cause, read_stream, read_whole
from gevent.pool import Group
from geventhttpclient.useragent import RetriesExceeded
from locust import FastHttpUser, task
from locust.contrib.fasthttp import FAILURE_EXCEPTIONS
from plan import arrivals
from record import Record
from summary import samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from geventhttpclient.response import HTTPSocketResponse
    from locust.env import Environment
    from turns import Turn, Turns
    from workload import Request

# A refused request comes back at once: without a pause, users would turn an outage into a flood.
_PAUSE_AFTER_FAILURE_S = 1.0


class ChatUser(FastHttpUser):
    """Asks the workload's next request of the server whose turn it is, and records the answer.

    A complete answer makes an entry for each measure in Locust's statistics, under the server's name: times in
    milliseconds, and output tokens, a count. Only E2E is a request to Locust, so that its totals and charts are of
    requests. A failure makes an E2E failure without a time, and so never touches a latency. The warm-up makes none.

    Attributes:
        turns: whose turn it is, shared by all users of this process.
    """

    abstract = True
    turns: ClassVar[Turns]
    host = ""  # requests name their server
    concurrency = 10_000  # connections of one user: in an open loop it never waits for one

    def __init__(self, environment: Environment) -> None:
        assert environment.parsed_options is not None  # Locust's command line always sets it
        self._timeout: float = environment.parsed_options.request_timeout
        self.network_timeout = self.connection_timeout = self._timeout
        super().__init__(environment)
        self._place = self.turns.take_place()
        self._last_step = -1

    @task
    def take_turn(self) -> None:
        turn = self.turns.next(self._last_step)
        self._last_step = turn.step.number
        with turn.taking_part():
            if turn.step.loop != "closed":
                if self._place == 0:
                    self._as_they_are_due(turn)
            elif self._place < turn.users:
                self._one_after_another(turn)

    def _one_after_another(self, turn: Turn) -> None:
        while time.perf_counter() < turn.ends:
            number = turn.next_number()
            request = turn.request(number)  # made before it is sent: what that takes is none of the server's time
            if self._ask(turn, number, request, time.perf_counter()).failure:
                gevent.sleep(_PAUSE_AFTER_FAILURE_S)

    def _as_they_are_due(self, turn: Turn) -> None:
        """Sends each request when it is due, however many are in flight, and counts its time from then."""
        asked = Group()
        try:
            for index, after in enumerate(arrivals(turn.step)):
                if index % turn.processes != turn.process:
                    continue
                due = turn.began + after
                number = turn.step.first_request + index
                request = turn.request(number)
                gevent.sleep(max(0.0, due - time.perf_counter()))
                turn.late.append(time.perf_counter() - due)
                asked.spawn(self._ask, turn, number, request, due)
            asked.join()
        finally:  # where the test is stopped, so are they
            asked.kill(block=False)

    def _ask(self, turn: Turn, number: int, request: Request, sent: float) -> Record:
        record = Record(
            server=turn.step.server,
            step=turn.step.number,
            number=number,
            kind=request.kind,
            streamed=request.streamed,
            sent=sent - turn.began,
            warm_up=sent < turn.began + turn.step.warm_up,
        )
        try:
            answer = self._answer(turn, request, sent)
            record.status = 200
            _check_usage(answer, request)
        except RequestError as failure:
            record.status, record.failure, record.body = failure.status, failure.cause, failure.body
        else:
            record.ttft, record.ttst, record.tpot, record.e2e = answer.ttft, answer.ttst, answer.tpot, answer.e2e
            record.itl = answer.itl
            record.prompt_tokens, record.output_tokens = answer.prompt_tokens, answer.output_tokens
        turn.records.append(record)
        if not record.warm_up:
            self._report(record)
        return record

    def _answer(self, turn: Turn, request: Request, sent: float) -> Answer:
        status = None
        received = bytearray()

        def failed(cause: str) -> RequestError:
            return RequestError(status, cause, received[-BODY_KEPT:].decode("utf-8", "replace") or None)

        try:
            with gevent.Timeout(self._timeout):
                # `catch_response` outside a `with` statement keeps Locust from reporting the request by itself.
                response = self.client.post(
                    f"{turn.url}/v1/chat/completions",
                    json={**request.body, "model": turn.model},
                    headers={
                        "Accept": "text/event-stream" if request.streamed else "application/json",
                        "Accept-Encoding": "identity",
                    },
                    stream=True,
                    catch_response=True,
                )
                if response.status_code == 0:
                    response.raise_for_status()
                status = response.status_code
                if status != 200:
                    text = response.text or ""
                    raise RequestError(status, error_cause(text), text[:BODY_KEPT])
                arriving = _as_they_arrive(response.stream, received)
                if request.streamed:
                    return read_stream(arriving, sent)
                text = b"".join(arriving).decode("utf-8", "replace")
                return read_whole(text, time.perf_counter() - sent)
        except FAILURE_EXCEPTIONS as broken:
            # What breaks before the answer's head may come wrapped, as if it had been retried.
            cause = broken.__context__ if isinstance(broken, RetriesExceeded) else broken
            if isinstance(cause, (gevent.Timeout, TimeoutError)):
                raise failed("timeout") from broken
            raise failed(f"connection broken: {type(cause).__name__}") from broken
        except (AttributeError, LookupError, TypeError, ValueError) as error:  # JSON of another shape than an answer's
            raise failed(f"cannot be read: {error}") from error

    def _report(self, record: Record) -> None:
        self.environment.events.request.fire(
            request_type=record.server,
            name="E2E",
            response_time=None if record.e2e is None else 1000 * record.e2e,
            response_length=0,
            exception=f"{record.status or 'no response'}: {record.failure}" if record.failure else None,
            context=self.context(),
        )
        for measure in ("ttft", "ttst", "itl", "tpot"):
            for value in samples([record], measure):
                self._log(record, measure.upper(), value)
        if record.output_tokens is not None:
            self._log(record, "output tokens", record.output_tokens)

    def _log(self, record: Record, name: str, value: float) -> None:
        """A row in Locust's table that its totals know nothing of."""
        self.environment.stats.get(name, record.server).log(value, 0)


def _check_usage(answer: Answer, request: Request) -> None:
    """Raises RequestError: the server counts other tokens than were asked."""
    counted, own = (answer.prompt_tokens, answer.output_tokens), (request.prompt_tokens, request.output_tokens)
    if counted != own:
        body = f"{request.kind}: prompt and output tokens {counted} by usage, {own} by the workload"
        raise RequestError(200, "usage counts other tokens than were asked", body)


def _as_they_arrive(stream: HTTPSocketResponse, received: bytearray) -> Iterator[bytes]:
    """The body line by line, kept in ``received`` for the case that it breaks off.

    ``read`` and ``iter_content`` wait for as many bytes as they are asked for.
    """
    try:
        while line := stream.readline(b"\n"):
            received += line
            yield line
    except FAILURE_EXCEPTIONS:
        received += stream.read()  # the line that was cut off
        raise
    if unfinished_line := stream.read():
        received += unfinished_line
        yield unfinished_line
