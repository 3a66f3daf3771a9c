"""The limits that a run must keep to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import yaml
from workload import STAND_IN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SAME = ("model", "workload", "loop")  # in these an accepted run must be like this one, and in its loads


class NotMeasured(Exception):  # noqa: N818  no error: a figure that a run does not have
    """The text says why a limit cannot be checked."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The content of ``budgets.yaml``, which says what each is; None where a limit is not set."""

    error_rate: float | None
    stand_in_ttft_p95_ms: float | None
    throughput_ratio: float | None
    ttft_p95_ratio: float | None
    throughput_ratio_to_accepted: float | None
    ttft_p95_ratio_to_accepted: float | None

    @classmethod
    def read(cls, path: Path) -> Limits:
        """Raises TypeError: a limit is missing, or there is none of such a name."""
        return cls(**yaml.safe_load(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit beside what was measured. ``ok`` is None where it could not be checked; ``measured`` then says why."""

    limit: str
    allowed: str
    measured: str
    ok: bool | None


def check(run: dict[str, Any], accepted: dict[str, Any] | None, limits: Limits) -> list[dict[str, Any]]:
    """Hold a run to the limits that are set.

    Args:
        run: as in ``run.json``.
        accepted: the last accepted run, None where there is none.
    """
    return [asdict(budget) for budget in _budgets(run, accepted, limits)]


def _budgets(run: dict[str, Any], accepted: dict[str, Any] | None, limits: Limits) -> Iterator[Budget]:
    at_most, at_least = "at most", "at least"
    rows: tuple[tuple[str, str, float | None, Callable[[], float]], ...] = (
        ("failed requests, the worse server", at_most, limits.error_rate, lambda: _error_rate(run)),
        ("TTFT p95 [ms] at the lowest load", at_most, limits.stand_in_ttft_p95_ms, lambda: _lowest_ttft(run)),
        ("output tokens/s beside the reference", at_least, limits.throughput_ratio, lambda: _throughput_ratio(run)),
        ("TTFT p95 beside the reference", at_most, limits.ttft_p95_ratio, lambda: _ttft_ratio(run)),
        (
            "the same tokens/s ratio over the last accepted run's",
            at_least,
            limits.throughput_ratio_to_accepted,
            lambda: _throughput_ratio(run) / _of_accepted(_throughput_ratio, run, accepted),
        ),
        (
            "the same TTFT ratio over the last accepted run's",
            at_most,
            limits.ttft_p95_ratio_to_accepted,
            lambda: _ttft_ratio(run) / _of_accepted(_ttft_ratio, run, accepted),
        ),
    )
    for limit, bound, allowed, measure in rows:
        if allowed is None:
            continue
        said = f"{bound} {allowed:g}"
        try:
            measured = measure()
        except NotMeasured as reason:
            yield Budget(limit, said, str(reason), None)
        else:
            ok = measured <= allowed if bound is at_most else measured >= allowed
            yield Budget(limit, said, f"{measured:.4g}", ok)


def _error_rate(run: dict[str, Any]) -> float:
    rates = []
    for server in {step["server"] for step in run["steps"]}:
        steps = [step for step in run["steps"] if step["server"] == server]
        asked, failed = (sum(step[what] for step in steps) for what in ("requests", "failures"))
        rates.append(failed / asked if asked else 1.0)  # a server that lets nothing through in time answers nothing
    if not rates:
        raise NotMeasured("no step was run")
    return max(rates)


def _lowest_ttft(run: dict[str, Any]) -> float:
    if run["model"] != STAND_IN:
        raise NotMeasured("not the stand-in")
    steps = [step for step in run["steps"] if step["server"] == "frontend" and step["ttft_p95"] is not None]
    if not steps:
        raise NotMeasured("the frontend streamed no answer")
    lowest = min(step["load"] for step in steps)
    return float(median(step["ttft_p95"] for step in steps if step["load"] == lowest))


def _throughput_ratio(run: dict[str, Any]) -> float:
    pairs = _pairs(run)
    frontend, reference = (sum(pair[side]["output_tokens_per_s"] for pair in pairs) for side in (0, 1))
    if not reference:
        raise NotMeasured("the reference answered nothing")
    return float(frontend / reference)


def _ttft_ratio(run: dict[str, Any]) -> float:
    tails = [(frontend["ttft_p95"], reference["ttft_p95"]) for frontend, reference in _pairs(run)]
    ratios = [frontend / reference for frontend, reference in tails if frontend is not None and reference]
    if not ratios:
        raise NotMeasured("no load at which both servers streamed an answer")
    return float(median(ratios))


def _pairs(run: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The steps of frontend and reference with the same load."""
    frontend, reference = (
        [step for step in run["steps"] if step["server"] == server] for server in ("frontend", "reference")
    )
    pairs = list(zip(frontend, reference, strict=False))  # a run that was stopped lacks the last
    if not pairs:
        raise NotMeasured("not both servers were loaded")
    return pairs


def _of_accepted(
    ratio: Callable[[dict[str, Any]], float], run: dict[str, Any], accepted: dict[str, Any] | None
) -> float:
    try:
        return ratio(_like(run, accepted))
    except (LookupError, TypeError) as broken:  # it is of an older format, or no whole file
        raise NotMeasured(f"the accepted run cannot be read: {broken!r}") from broken


def _like(run: dict[str, Any], accepted: dict[str, Any] | None) -> dict[str, Any]:
    """The accepted run, where it can be compared."""
    if accepted is None:
        raise NotMeasured("no run was accepted yet: make load ACCEPT=1")
    other = [what for what in _SAME if run[what] != accepted[what]]
    if [step["load"] for step in run["steps"]] != [step["load"] for step in accepted["steps"]]:
        other.append("load")
    if other:
        raise NotMeasured(f"the accepted run had another {', '.join(other)}")
    return accepted
