from __future__ import annotations

from typing import Any

import pytest
from plan import Step
from record import Record
from summary import Done, failures, figures, mark_knees, percentile

STEP = Step(0, "frontend", 4, "closed", seconds=10, warm_up=2, first_request=0)


def record(sent: float, e2e: float | None = 1.0, failure: str | None = None, **rest: Any) -> Record:
    """A request of a step that began 100 s after the test."""
    tokens = {} if failure else {"prompt_tokens": 50, "output_tokens": 20}
    values = {"status": 200, "failure": failure, "e2e": None if failure else e2e, **tokens, **rest}
    return Record("frontend", 0, 0, "short chat", True, 100 + sent, sent < STEP.warm_up, **values)


@pytest.mark.parametrize(
    ("samples", "percent", "value"),
    [([], 50, None), ([7.0], 99, 7.0), ([3.0, 1.0, 2.0], 50, 2.0), ([float(n) for n in range(1, 101)], 95, 95.0)],
)
def test_percentiles_are_values_that_were_measured(samples: list[float], percent: int, value: float | None) -> None:
    assert percentile(samples, percent) == value


def test_throughput_is_of_answers_complete_in_time_latency_of_requests_sent_in_time() -> None:
    done = Done(
        STEP,
        began=100,
        records=[
            record(0.5, e2e=1.0, ttft=9.0),  # sent and answered in the warm-up: counts nowhere
            record(1.5, e2e=1.0, ttft=9.0),  # answered after it: its tokens count
            record(3.0, e2e=1.0, ttft=0.1),
            record(9.5, e2e=3.0, ttft=0.3),  # answered after the end: its latency counts
            record(5.0, failure="timeout"),
        ],
    )
    found = figures(done)
    assert (found["requests"], found["failures"]) == (3, 1)
    assert found["output_tokens_per_s"] == pytest.approx(2 * 20 / 8)
    assert found["prompt_tokens_per_s"] == pytest.approx(2 * 50 / 8)
    assert found["output_tokens_per_s_per_user"] == pytest.approx(2 * 20 / 8 / 4)
    assert (found["ttft_p50"], found["ttft_p95"], found["e2e_p99"]) == pytest.approx((100, 300, 3000))
    assert (found["began"], found["ended"]) == (100, 110)


def test_inter_token_latency_is_of_all_gaps_not_of_the_means_of_requests() -> None:
    done = Done(STEP, began=100, records=[record(3, itl=(0.01, 0.01, 0.01)), record(4, itl=(0.5,))])
    assert (figures(done)["itl_p50"], figures(done)["itl_p95"]) == pytest.approx((10, 500))


def test_users_of_an_open_loop_are_the_requests_in_flight() -> None:
    step = Step(0, "frontend", 2, "constant", seconds=10, warm_up=2, first_request=0)
    found = figures(Done(step, began=100, records=[record(3, e2e=4.0), record(4, e2e=4.0)]))
    assert found["output_tokens_per_s_per_user"] == pytest.approx(5.0), "40 tokens in 8 s of one request in flight"


def test_a_step_without_an_answer_has_no_latency() -> None:
    found = figures(Done(STEP, began=100, records=[record(3, failure="timeout")]))
    assert {found[f"{measure}_p50"] for measure in ("ttft", "ttst", "itl", "tpot", "e2e")} == {None}
    assert found["output_tokens_per_s"] == 0


@pytest.mark.parametrize(
    ("ladder", "knee"),
    [
        ([(1, 100, 50), (4, 300, 60), (16, 310, 500), (32, 900, 900)], 4),
        ([(1, 100, 50), (4, 102, 90), (16, 103, 101)], 4),
        ([(1, 100, 50), (4, 300, 500), (16, 900, 900)], None),
        ([(1, 100, 50), (4, 101, 60)], None),
        ([(1, 100, 500), (4, 300, 60), (16, 290, 60)], 4),
        ([(1, 100, None), (4, 105, None)], 1),
        ([(1, 0, None), (4, 0, None)], None),
    ],
)
def test_the_knee_is_where_more_load_brings_no_more_tokens_and_ttft_has_doubled(
    ladder: list[tuple[int, float, float | None]], knee: int | None
) -> None:
    steps = [
        {"server": "frontend", "load": load, "output_tokens_per_s": tokens, "ttft_p95": ttft, "knee": False}
        for load, tokens, ttft in ladder
    ]
    mark_knees(steps)
    assert [step["load"] for step in steps if step["knee"]] == ([] if knee is None else [knee])


def test_one_level_has_no_knee() -> None:
    steps = [{"server": "frontend", "load": 4, "output_tokens_per_s": 1, "ttft_p95": 1, "knee": False}] * 2
    mark_knees(steps)
    assert not any(step["knee"] for step in steps)


def test_failures_are_counted_by_kind_without_the_warm_up() -> None:
    records = [
        record(1, failure="timeout"),
        record(3, failure="no usage", body="first"),
        record(4, failure="no usage", body="second"),
        record(5, failure="timeout", status=None),
    ]
    assert failures([Done(STEP, 100, records)]) == [
        {"server": "frontend", "status": 200, "failure": "no usage", "count": 2, "body": "first"},
        {"server": "frontend", "status": None, "failure": "timeout", "count": 1, "body": None},
    ]
