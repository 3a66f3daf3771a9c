from __future__ import annotations

from workload import chat_request


def test_a_request_depends_on_its_number_alone() -> None:
    assert [chat_request(number) for number in range(40)] == [chat_request(number) for number in range(40)]


def test_every_request_is_another_one() -> None:
    assert len({str(chat_request(number)) for number in range(400)}) == 400


def test_every_request_streams_with_usage_and_a_limit() -> None:
    for request in map(chat_request, range(8)):
        assert request["stream"]
        assert request["stream_options"] == {"include_usage": True}
        assert 0 < request["max_tokens"] <= 256
