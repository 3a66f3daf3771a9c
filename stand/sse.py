"""Server-sent events, parsed as they arrive."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``name`` is the ``event`` field, empty where the server sends none."""

    name: str
    data: str


class EventParser:
    """Turns network chunks, cut anywhere, into events.

    Follows the WHATWG rules but for one: an ``event`` field without data is an event too, because a server may report
    an error so. An event that the stream's end cuts off is dropped, as the rules say.
    """

    def __init__(self) -> None:
        self._partial_line = b""
        self._after_carriage_return = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that ``chunk`` completes. Chunks are never empty."""
        if self._after_carriage_return:  # the line ended there already: this line feed is the rest of the same line end
            chunk = chunk.removeprefix(b"\n")
        self._after_carriage_return = chunk.endswith(b"\r")
        # Only whole lines are decoded, so no character is ever split.
        *lines, self._partial_line = _LINE_END.split(self._partial_line + chunk)
        for line in lines:
            if line:
                self._field(line.decode("utf-8", errors="replace"))
            elif self._name or self._data:
                yield Event(self._name, "\n".join(self._data))
                self._name, self._data = "", []

    def _field(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
