"""The end of a run, as a person reads it in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COLUMNS = (
    ("server", "server", "<10", ""),
    ("load", "load", ">16", ""),
    ("requests", "requests", ">9", "d"),
    ("failures", "failed", ">7", "d"),
    ("ttft_p50", "TTFT p50", ">10", ".1f"),
    ("ttft_p95", "p95 ms", ">9", ".1f"),
    ("itl_p50", "ITL p50", ">9", ".2f"),
    ("itl_p95", "p95 ms", ">8", ".2f"),
    ("e2e_p50", "E2E p50", ">9", ".0f"),
    ("e2e_p95", "p95 ms", ">8", ".0f"),
    ("output_tokens_per_s", "out tok/s", ">11", ".1f"),
    ("output_tokens_per_s_per_user", "/user", ">8", ".1f"),
    ("prompt_tokens_per_s", "in tok/s", ">10", ".1f"),
    ("knee", "", ">6", ""),
)
_SHOWN = 20  # kinds of failures


def lines(run: dict[str, Any], folder: Path) -> Iterator[str]:
    """The text of what ``run.json`` says."""
    yield ""
    yield f"{run['workload']} on {run['model']}, {run['loop']} loop"
    yield f"warm-up: the first {run['warm_up_s']:.1f} s of each step are left out"
    yield "".join(f"{title:{width}}" for _, title, width, _ in _COLUMNS).rstrip()
    for step in run["steps"]:
        shown = {**step, "load": f"{step['load']:g} {step['unit']}", "knee": "knee" if step["knee"] else ""}
        yield "".join(_cell(shown[key], width, form) for key, _, width, form in _COLUMNS).rstrip()
    if run["failures"]:
        yield ""
        yield "failures"
    for failure in run["failures"][:_SHOWN]:
        yield f"{failure['count']:6} {failure['server']}  {failure['status'] or 'no response'}: {failure['failure']}"
    if run["budgets"]:
        yield ""
        yield "budgets"
    for budget in run["budgets"]:
        said = {True: "ok", False: "BROKEN", None: "not checked"}[budget["ok"]]
        yield f"  {said:12}{budget['limit']:52} allowed {budget['allowed']:14} measured {budget['measured']}"
    for reason in run["invalid_because"]:
        yield f"invalid: {reason}"
    yield f"report: {folder}/report.html; all figures are in that folder"


def _cell(value: Any, width: str, form: str) -> str:
    return f"{'-' if value is None else format(value, form):{width}}"
