"""Hostile requests are made of seed and number alone, are of every kind, and ask little of the engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hostile.bodies import ENDLESS, FEW, LIMITS, MIB, HostileRequest, Kind, hostile_request, modest
from hostile.files import load, save
from hostile.places import places, put, put_text

if TYPE_CHECKING:
    from pathlib import Path

GATE = 500  # requests of the gate's run


@pytest.fixture(scope="module")
def requests() -> list[HostileRequest]:
    return [hostile_request(0, number, "m") for number in range(GATE)]


def test_the_same_seed_and_number_make_the_same_request(requests: list[HostileRequest]) -> None:
    assert requests[:50] == [hostile_request(0, number, "m") for number in range(50)]
    assert requests[1] != hostile_request(1, 1, "m")


def test_the_gates_run_has_every_kind(requests: list[HostileRequest]) -> None:
    assert {request.kind for request in requests} == set(Kind)


def test_a_huge_body_is_of_50_mb(requests: list[HostileRequest]) -> None:
    (huge,) = (request for request in requests if request.kind is Kind.HUGE_BODY)
    assert 49 * MIB < len(huge.content) < 52 * MIB


def parsed(request: HostileRequest) -> Any:
    try:
        return json.loads(request.content)
    except (ValueError, RecursionError):
        return None


def test_an_answer_without_an_end_is_never_a_long_one(requests: list[HostileRequest]) -> None:
    """What the engine cannot end by itself has a small limit; no request wants many choices."""
    usual = [request for request in requests if request.kind is not Kind.HUGE_BODY]
    bodies = [body for request in usual if isinstance(body := parsed(request), dict)]
    assert len(bodies) > GATE / 2
    for body in bodies:
        limits = [body.get(limit) for limit in LIMITS if body.get(limit)]
        assert limits
        large = any(isinstance(limit, int | float) and limit > FEW for limit in limits)
        assert not (large and any(body.get(field) for field in ENDLESS)), body


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ({}, {"max_tokens": FEW}),
        ({"max_tokens": 2, "ignore_eos": True}, {"max_tokens": 2, "ignore_eos": True}),
        ({"max_tokens": 900, "ignore_eos": True}, {"max_tokens": 900}),
        ({"max_tokens": 0, "min_tokens": 9}, {"max_tokens": FEW, "min_tokens": 9}),
        ({"max_tokens": "x", "n": 100}, {"max_tokens": "x"}),
        ({"max_tokens": 2, "n": 129}, {"max_tokens": 2, "n": 129}),
        (5, 5),
    ],
)
def test_modest_requests(body: Any, asked: Any) -> None:
    assert modest(body) == asked


@pytest.mark.parametrize(
    ("content_type", "body", "theirs"),
    [
        ("application/json", b'{"n": 1}', ("application/json", b'{"n": 1}')),
        ("text/plain", b"{}", ("text/plain", b"{}")),
        ("application/vnd.api+json", b"{", ("application/json", b"{")),
        (
            "application/json",
            b'{"chat_template_kwargs": {"sglang": {"task": 1}}}',
            ("application/json", b'{"chat_template_kwargs": {}, "task": 1}'),
        ),
    ],
)
def test_the_reference_is_asked_what_the_front_makes_of_it(
    content_type: str, body: bytes, theirs: tuple[str, bytes]
) -> None:
    asked = HostileRequest(7, Kind.CONTENT_TYPE, content_type, body).for_reference
    assert (asked.content_type, asked.content) == theirs


VALUE = {"a": [1, {"b": "x"}], "c": None}


def test_places_of_a_value() -> None:
    assert list(places(VALUE)) == [(), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("c",)]
    assert list(places(VALUE, lambda value: value is None)) == [("c",)]


def test_putting_something_at_a_place_leaves_the_rest() -> None:
    assert put(VALUE, ("a", 1, "b"), 5) == {"a": [1, {"b": 5}], "c": None}
    assert put(VALUE, (), 5) == 5
    assert put_text(VALUE, ("a", 1), "NaN") == '{"a": [1, NaN], "c": null}'
    assert VALUE == {"a": [1, {"b": "x"}], "c": None}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"number: 5\n\n\xff\x00\r\n", b'{"messages": []}'])
@pytest.mark.parametrize("content_type", ["", "application/json; charset=utf-16"])
def test_a_kept_request_is_read_as_it_was(tmp_path: Path, content: bytes, content_type: str) -> None:
    request = HostileRequest(7, Kind.CONTENT_TYPE, content_type, content)
    path = save(request, tmp_path)
    assert path.name == "7.http"
    assert load(path) == request
