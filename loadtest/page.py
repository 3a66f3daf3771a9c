"""The page of a load run: the verdict in words, the figures, and plots that need nothing but the page."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures import figure
from plots import (
    container_charts,
    distribution_charts,
    generator_charts,
    latency_charts,
    runs_to_draw,
    throughput_charts,
)
from recorded import read_run
from summary import KNEE_GROWTH, KNEE_TTFT

from stand.templates import templates_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recorded import Level, Run

# Columns of the table of steps.
_COLUMNS = {
    "output tokens/s": "output_tokens_per_s",
    "tokens/s per user": "output_tokens_per_s_per_user",
    "TTFT p50 [ms]": "ttft_p50",
    "TTFT p95 [ms]": "ttft_p95",
    "ITL p50 [ms]": "itl_p50",
    "ITL p95 [ms]": "itl_p95",
    "TPOT p50 [ms]": "tpot_p50",
    "E2E p50 [ms]": "e2e_p50",
    "E2E p95 [ms]": "e2e_p95",
}
# Runs that differ in one of these cannot be drawn into one plot.
_SAME = ("workload", "loop", "model")
_log = logging.getLogger(__name__)
_FILES = ("requests.jsonl", "requests.csv", "run.json")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the page says first; ``state`` is its CSS class: ``ok``, ``bad`` or ``unproven``."""

    state: str
    title: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of steps: a server's figures, or a ratio of them."""

    name: str
    cells: tuple[str, ...]
    ratio: bool = False


@dataclass(frozen=True, slots=True)
class LevelRows:
    """The part of the table that belongs to one load."""

    title: str
    rows: tuple[Row, ...]


def write(folder: Path) -> Path:
    """Writes ``report.html`` beside the ``run.json`` and the ``requests.jsonl`` of a run.

    Returns:
        the path of the page.

    Raises:
        FileNotFoundError: the folder holds no ``run.json``.
    """
    run = read_run(folder / "run.json")
    before, why_not = _read_previous(run, folder)
    drawn = runs_to_draw(run, before)
    environment = templates_in(Path(__file__).parent)
    environment.filters |= {"figure": figure, "utc": _utc}
    text = environment.get_template("page.html.j2").render(
        run=run.facts,
        verdict=verdict_of(run),
        columns=("requests", "failed", *_COLUMNS),
        table=[_rows_of(run, before, load) for load in run.loads],
        servers=run.servers,
        no_knee=_no_knee(run),
        before=before.facts if before else None,
        why_not_before=why_not,
        throughput=throughput_charts(drawn),
        latencies=latency_charts(drawn),
        distributions=distribution_charts(drawn),
        containers=container_charts(run.facts),
        generator=generator_charts(run.facts),
        most_failures=max((failure["count"] for failure in run.facts["failures"]), default=0),
        knee_growth=round(100 * (KNEE_GROWTH - 1)),
        knee_ttft=KNEE_TTFT,
        files=[name for name in _FILES if (folder / name).is_file()],
    )
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    return page


def _utc(time: str) -> str:
    """An ISO time, to the minute."""
    return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def verdict_of(run: Run) -> Verdict:
    """Fine, or the first of what keeps it from that: an invalid run, a limit that broke, no answer at all."""
    facts = run.facts
    if not facts["valid"]:
        return Verdict("unproven", "Invalid: these figures say nothing of the servers", tuple(facts["invalid_because"]))
    broken = [budget for budget in facts["budgets"] if budget["ok"] is False]
    if broken:
        title = "A limit broke" if len(broken) == 1 else f"{len(broken)} limits broke"
        return Verdict(
            "bad",
            title,
            tuple(f"{each['limit']}: allowed {each['allowed']}, measured {each['measured']}" for each in broken),
        )
    answered = sum(level.requests - level.failures for level in run.levels.values())
    if not answered:
        return Verdict("bad", "No request was answered", ())
    return Verdict("ok", "Fine", (_limits_held(facts["budgets"]),))


def _limits_held(budgets: list[Mapping[str, Any]]) -> str:
    unchecked = sum(budget["ok"] is None for budget in budgets)
    held = len(budgets) - unchecked
    if not budgets:
        return "No limit was set."
    if not unchecked:
        return "The limit held." if held == 1 else f"All {held} limits held."
    return f"{held} of {len(budgets)} limits held; the others could not be checked."


def _read_previous(run: Run, folder: Path) -> tuple[Run | None, str]:
    """The run to compare with, or why there is none. It is named relative to ``folder``."""
    named = run.facts["previous"]
    if named is None:
        return None, "There is no earlier run to compare with."
    if not (folder / named).is_file():
        return None, f"The earlier run is not shown: {named} is not there."
    try:
        before = read_run(folder / named)
        differing = [f"{key} {before.facts[key]}" for key in _SAME if before.facts[key] != run.facts[key]]
    except (ValueError, LookupError, TypeError) as broken:  # it is of an older format, or no whole file
        _log.warning("the earlier run %s cannot be read: %r", folder / named, broken)
        return None, f"The earlier run is not shown: {named} cannot be read."
    if differing:
        return None, f"The earlier run is not shown, since it is of another kind: {', '.join(differing)}."
    return before, ""


def _rows_of(run: Run, before: Run | None, load: float) -> LevelRows:
    levels = {server: run.levels[server, load] for server in run.servers if (server, load) in run.levels}
    rows = [_row(level) for level in levels.values()]
    if "frontend" in levels and "reference" in levels:
        rows.append(_ratio("frontend ÷ reference", levels["frontend"], levels["reference"]))
    first = next(iter(levels.values()))
    if before and (then := before.levels.get((first.server, load))):
        rows.append(_ratio(f"{first.server} ÷ before", first, then))
    knees = [server for server, level in levels.items() if level.knee]
    title = run.load_named(load) + (f", the knee of {' and '.join(knees)}" if knees else "")
    return LevelRows(title, tuple(rows))


def _no_knee(run: Run) -> str:
    """Which servers have no knee, though there was more than one load to find it."""
    bent = {level.server for level in run.levels.values() if level.knee}
    unbent = [server for server in run.servers if server not in bent]
    if len(run.loads) < 2 or not unbent:
        return ""
    return f"No knee of {' and '.join(unbent)} up to {run.load_named(run.loads[-1])}."


def _row(level: Level) -> Row:
    measured = (figure(level.figures.get(name)) for name in _COLUMNS.values())
    return Row(level.server, (f"{level.requests:,}", f"{level.failures:,}", *measured))


def _ratio(name: str, ours: Level, theirs: Level) -> Row:
    def ratio(name: str) -> str:
        if not theirs.figures.get(name) or name not in ours.figures:
            return "-"
        return figure(ours.figures[name] / theirs.figures[name])

    return Row(name, ("", "", *(ratio(column) for column in _COLUMNS.values())), ratio=True)
