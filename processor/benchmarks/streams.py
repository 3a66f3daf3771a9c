"""Requests to one server, many at a time, and when each piece of the answers came."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request.

    Attributes:
        status: of HTTP.
        sent: when the request went out, in seconds of ``time.perf_counter``.
        pieces: when bytes of the body came, and which.
    """

    status: int
    sent: float
    pieces: list[tuple[float, bytes]]

    @property
    def body(self) -> bytes:
        return b"".join(piece for _, piece in self.pieces)

    @property
    def seconds_to_first_token(self) -> float:
        """Until something came that is content or reasoning, and not empty."""
        seen = b""
        for at, piece in self.pieces:
            seen += piece
            if any(_says_something(chunk) for chunk in _chunks(seen)):
                return at - self.sent
        raise ValueError(f"no token came: {seen[:300]!r}")

    def chunks(self) -> list[dict[str, Any]]:
        """The events of a streamed answer."""
        return _chunks(self.body)


async def ask(port: int, body: dict[str, Any]) -> Answer:
    """Sends one request. It is one of HTTP 1.0: the body comes as it is, and ends with the connection."""
    content = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    headers = f"content-type: application/json\r\ncontent-length: {len(content)}"
    sent = time.perf_counter()
    writer.write(f"POST /v1/chat/completions HTTP/1.0\r\n{headers}\r\n\r\n".encode() + content)
    try:
        status = int((await reader.readuntil(b"\r\n\r\n")).split(maxsplit=2)[1])
        pieces = []
        while piece := await reader.read(1 << 16):
            pieces.append((time.perf_counter(), piece))
    finally:
        writer.close()
    return Answer(status, sent, pieces)


async def ask_all(port: int, bodies: Iterable[dict[str, Any]]) -> list[Answer]:
    """Sends requests at once.

    Raises:
        RuntimeError: one was refused.
    """
    answers = await asyncio.gather(*(ask(port, body) for body in bodies))
    for answer in answers:
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {answer.body[:500]!r}")
    return answers


def _chunks(body: bytes) -> list[dict[str, Any]]:
    events = body.split(b"\n\n")[:-1]
    data = (event.removeprefix(b"data: ") for event in events if event.startswith(b"data: "))
    return [json.loads(each) for each in data if each != b"[DONE]"]


def _says_something(chunk: dict[str, Any]) -> bool:
    return any(
        choice["delta"].get("content") or choice["delta"].get("reasoning_content")
        for choice in chunk.get("choices", ())
    )
