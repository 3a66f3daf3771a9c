"""A client that leaves is content with what it got; one that waits is not content with silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from soak.traffic import left
from stand.servers import Server
from stand.traffic import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def pieces(number: int, error: Exception | None = None) -> Iterator[bytes]:
    """A stream of so many, which ends, or with an error."""
    yield from [b"data: {}\n\n"] * number
    if error is not None:
        raise error


def silent(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("nothing came", request=request)


def lost(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("reset", request=request)


@pytest.mark.parametrize(
    ("answer", "patient", "outcome"),
    [
        (lambda _: httpx.Response(200, content=pieces(9)), True, Outcome.RIGHT),
        (lambda _: httpx.Response(500, content=pieces(1)), True, Outcome.WRONG),
        (lost, True, Outcome.WRONG),
        (lost, False, Outcome.WRONG),
        (lambda _: httpx.Response(200, content=pieces(2, httpx.ReadTimeout("60 s"))), True, Outcome.HUNG),
        (silent, True, Outcome.HUNG),
        (silent, False, Outcome.RIGHT),
    ],
    ids=["answers", "fails", "breaks", "breaks, hasty", "falls silent", "is silent", "is silent, hasty"],
)
def test_a_server_that(answer: Callable[[httpx.Request], httpx.Response], patient: bool, outcome: Outcome) -> None:
    client = httpx.Client(transport=httpx.MockTransport(answer))
    assert left(Server("frontend", "http://frontend", "model", client), patient=patient).outcome is outcome
