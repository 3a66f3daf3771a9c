from __future__ import annotations

import pytest

from stand.sse import Event, EventParser

STREAM = (
    ": comment\r\n"
    "data: café 数据 🚀\r\n\r\n"
    "event: error\ndata:first line\ndata: second: line\nid: 7\n\n"
    "event: error\n\n"
    ": comment\n\n"
    "data\r\r"
    "data:  [DONE]\n\n"
    "data: cut off"
).encode()
EVENTS = [
    Event("", "café 数据 🚀"),
    Event("error", "first line\nsecond: line"),
    Event("error", ""),
    Event("", ""),
    Event("", " [DONE]"),
]


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_chunks_may_be_cut_anywhere(size: int) -> None:
    parser = EventParser()
    chunks = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert [event for chunk in chunks for event in parser.feed(chunk)] == EVENTS


def test_an_event_is_out_as_soon_as_its_blank_line_is_in() -> None:
    parser = EventParser()
    assert list(parser.feed(b"data: x\r\n")) == []
    assert list(parser.feed(b"\r")) == [Event("", "x")]
    assert list(parser.feed(b"\ndata: y\r\n\r\n")) == [Event("", "y")]
