"""A server whose model reasons before it answers, or that fails in each way that must count as a failure."""

from __future__ import annotations

import itertools
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REASONING_AFTER_S, CONTENT_AFTER_S = 0.05, 0.4
STALL_S = 4.0


def _data(payload: object) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def _delta(delta: dict[str, object], finish_reason: str | None = None) -> bytes:
    return _data({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


ROLE = _delta({"role": "assistant", "content": ""})
REASONING = _delta({"reasoning_content": "Let me think."})
CONTENT = _delta({"content": "Yes."})
FINISH = _delta({}, "stop")
USAGE = _data({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 11}})
DONE = b"data: [DONE]\n\n"

# Failure, as Locust reports it, to the body of a 200 answer that has it.
BROKEN_BODIES = {
    "200: error event: engine died": [ROLE, CONTENT, _data({"error": {"message": "engine died", "code": 500}}), DONE],
    "200: error event: worker lost": [ROLE, CONTENT, b'event: error\ndata: {"message": "worker lost"}\n\n', DONE],
    "200: event is not a JSON object": [ROLE, CONTENT, b"data: oops\n\n", FINISH, USAGE, DONE],
    "200: cannot be read: 'NoneType' object has no attribute 'get'": [ROLE, _data({"choices": [None]}), USAGE, DONE],
    "200: cannot be read: 'str' object has no attribute 'get'": [
        ROLE,
        _data({"choices": [{"index": 0, "delta": "Yes."}]}),
        USAGE,
        DONE,
    ],
    "200: stream ended without [DONE]": [ROLE, CONTENT, FINISH, USAGE],
    "200: stream ended without finish_reason": [ROLE, CONTENT, USAGE, DONE],
    "200: finish_reason abort": [ROLE, CONTENT, _delta({}, "abort"), USAGE, DONE],
    "200: no token": [ROLE, FINISH, USAGE, DONE],
    "200: no usage": [ROLE, CONTENT, FINISH, DONE],
    "200: usage counts other tokens than were asked": [ROLE, CONTENT, FINISH, USAGE, DONE],
}
OVERLOADED = "503: overloaded, request …"
UNKNOWN_FIELDS = ["400: Unsupported parameter(s): chat_mode", "400: Unsupported parameter(s): agentic"]
CUT = "200: connection broken: HTTPParseError"
STALLED = "200: timeout"
SILENT = "no response: timeout"
FAILURES = [*BROKEN_BODIES, *UNKNOWN_FIELDS, OVERLOADED, CUT, STALLED, SILENT]


class _Handler(BaseHTTPRequestHandler):
    """Answers rightly under ``/right``, and with one failure after another under ``/wrong``."""

    protocol_version = "HTTP/1.1"
    failures = itertools.cycle(FAILURES)
    server: _Server

    def do_GET(self) -> None:
        self._json(200, {"data": [{"id": "stub"}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/right"):
            usage = {"prompt_tokens": self.server.length(request), "completion_tokens": request["max_tokens"]}
            if request.get("stream"):
                self._stream(self._right(usage))
            else:
                time.sleep(REASONING_AFTER_S)
                choice = {"index": 0, "message": {"content": "Yes."}, "finish_reason": "length"}
                self._json(200, {"choices": [choice], "usage": usage})
            return
        failure = next(self.failures)
        if failure == OVERLOADED:
            request_id = f"{time.time_ns():032x}"
            self._json(503, {"error": {"message": f"overloaded, request {request_id}"}})
        elif failure in UNKNOWN_FIELDS:
            message = failure.removeprefix("400: ")
            self._json(400, {"message": message, "type": "invalid_request", "code": 400})
        elif failure == SILENT:
            time.sleep(STALL_S)
            self.close_connection = True
        elif failure == STALLED:
            self._stream([ROLE, CONTENT], ending=b"")
            time.sleep(STALL_S)
        elif failure == CUT:
            self._stream([ROLE, CONTENT, b"data: cut off"], ending=b"")
        else:
            self._stream(BROKEN_BODIES[failure])

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _right(self, usage: dict[str, int]) -> Iterator[bytes]:
        yield ROLE
        time.sleep(REASONING_AFTER_S)
        yield REASONING
        time.sleep(CONTENT_AFTER_S)
        yield from (CONTENT, FINISH, _data({"choices": [], "usage": usage}), DONE)

    def _json(self, status: int, payload: object) -> None:
        body = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, pieces: Iterator[bytes] | list[bytes], ending: bytes = b"0\r\n\r\n") -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.write(ending)
        self.close_connection = not ending


class _Server(ThreadingHTTPServer):
    request_queue_size = 64  # all users of a run connect at once
    length: Callable[[dict[str, Any]], int]

    def handle_error(self, *_: object) -> None:
        """A client that leaves early, at a timeout or at the end of a run, is no news."""


@contextmanager
def running(length: Callable[[dict[str, Any]], int]) -> Iterator[str]:
    """Run the server; gives its URL. ``length`` counts the tokens of a request's prompt."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.length = length
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
