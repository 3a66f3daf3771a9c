from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from budgets import Limits, check

DEFAULTS = Path(__file__).parents[1] / "budgets.yaml"
LIMITS = Limits(
    error_rate=0.01,
    stand_in_ttft_p95_ms=100,
    throughput_ratio=0.8,
    ttft_p95_ratio=2.0,
    throughput_ratio_to_accepted=0.9,
    ttft_p95_ratio_to_accepted=1.5,
)


def step(server: str, load: float, tokens: float, ttft: float | None, failed: int = 0) -> dict[str, Any]:
    return {
        "server": server,
        "load": load,
        "requests": 100,
        "failures": failed,
        "output_tokens_per_s": tokens,
        "ttft_p95": ttft,
    }


def run(*steps: dict[str, Any], model: str = "stand-in") -> dict[str, Any]:
    return {"model": model, "workload": "mixed", "loop": "closed", "steps": list(steps)}


def with_frontend(tokens: float = 190, ttft: float = 60, failed: int = 0) -> dict[str, Any]:
    """The reference does 100 and 300 tokens/s, the frontend 190 and twice of ``tokens``."""
    return run(
        step("frontend", 1, tokens, ttft, failed),
        step("reference", 1, 100, 50),
        step("frontend", 8, tokens, ttft),
        step("reference", 8, 300, 40),
    )


@pytest.mark.parametrize(
    ("measured", "broken"),
    [
        (with_frontend(), []),
        (with_frontend(failed=3), ["failed requests, the worse server"]),
        (with_frontend(ttft=130), ["TTFT p95 [ms] at the lowest load", "TTFT p95 beside the reference"]),
        (with_frontend(tokens=150), ["output tokens/s beside the reference"]),
    ],
)
def test_a_limit_that_breaks_is_named(measured: dict[str, Any], broken: list[str]) -> None:
    budgets = check(measured, None, LIMITS)
    assert [each["limit"] for each in budgets if each["ok"] is False] == broken


def test_ratios_are_of_all_loads_together() -> None:
    measured = {each["limit"]: each["measured"] for each in check(with_frontend(tokens=150, ttft=60), None, LIMITS)}
    assert measured["output tokens/s beside the reference"] == "0.75"
    assert measured["TTFT p95 beside the reference"] == "1.35", "the median of 1.2 and 1.5"


def test_an_accepted_run_is_compared_by_its_ratios() -> None:
    accepted = with_frontend(tokens=200, ttft=40)
    twice_as_fast = run(
        *({**each, "output_tokens_per_s": 2 * each["output_tokens_per_s"]} for each in accepted["steps"])
    )
    for before in (accepted, twice_as_fast):
        budgets = {each["limit"]: each for each in check(with_frontend(tokens=170, ttft=60), before, LIMITS)}
        throughput = budgets["the same tokens/s ratio over the last accepted run's"]
        assert (throughput["measured"], throughput["ok"]) == ("0.85", False)
        ttft = budgets["the same TTFT ratio over the last accepted run's"]
        assert (ttft["measured"], ttft["ok"]) == ("1.5", True)


@pytest.mark.parametrize(
    ("measured", "accepted", "limit", "why"),
    [
        (
            with_frontend(),
            None,
            "the same TTFT ratio over the last accepted run's",
            "no run was accepted yet: make load ACCEPT=1",
        ),
        (
            with_frontend(),
            {**with_frontend(), "workload": "reasoning"},
            "the same tokens/s ratio over the last accepted run's",
            "the accepted run had another workload",
        ),
        (
            with_frontend(),
            run(*with_frontend()["steps"][:2]),
            "the same tokens/s ratio over the last accepted run's",
            "the accepted run had another load",
        ),
        (
            with_frontend(),
            {},
            "the same tokens/s ratio over the last accepted run's",
            "the accepted run cannot be read: KeyError('model')",
        ),
        (run(step("frontend", 1, 1, 1)), None, "TTFT p95 beside the reference", "not both servers were loaded"),
        (run(step("reference", 1, 1, 1)), None, "TTFT p95 [ms] at the lowest load", "the frontend streamed no answer"),
        (run(step("frontend", 1, 1, 1), model="big"), None, "TTFT p95 [ms] at the lowest load", "not the stand-in"),
    ],
)
def test_a_limit_that_cannot_be_checked_says_why(
    measured: dict[str, Any], accepted: dict[str, Any] | None, limit: str, why: str
) -> None:
    budget = next(each for each in check(measured, accepted, LIMITS) if each["limit"] == limit)
    assert (budget["ok"], budget["measured"]) == (None, why)


def test_a_server_that_answers_nothing_has_failed() -> None:
    silent = {**step("frontend", 1, 0, None), "requests": 0}
    budget = check(run(silent, step("reference", 1, 100, 50)), None, LIMITS)[0]
    assert (budget["measured"], budget["ok"]) == ("1", False)


def test_a_limit_that_is_not_set_is_not_there() -> None:
    limits = replace(LIMITS, ttft_p95_ratio=None)
    assert "TTFT p95 beside the reference" not in {each["limit"] for each in check(with_frontend(), None, limits)}


def test_the_file_has_exactly_the_limits_there_are(tmp_path: Path) -> None:
    Limits.read(DEFAULTS)
    path = tmp_path / "budgets.yaml"
    path.write_text(DEFAULTS.read_text() + "ttft: 1\n")
    with pytest.raises(TypeError, match="'ttft'"):
        Limits.read(path)
