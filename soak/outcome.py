"""What a soak found: its checks, as JSON, as a page with plots, and for the terminal."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from stand.templates import templates_in
from stand.traffic import Outcome

from .growth import WARM_UP, Series, trend
from .plot import plot_of
from .traffic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .samples import Samples
    from .traffic import Done

MISSED_SHOWN = 5  # samples


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold; ``said`` is what was found, whether it does or not."""

    name: str
    ok: bool
    said: str


@dataclass(frozen=True, slots=True)
class Row:
    """The requests of a kind; ``wrong`` is one that was not as it should be, empty where there is none."""

    kind: Kind
    sent: int
    right: int
    wrong: str


@dataclass(frozen=True, slots=True)
class Soak:
    """All that a soak found; ``commit`` is what was checked out when it began, ``ended`` in UTC."""

    commit: str
    model: str
    ended: str
    minutes: float
    checks: tuple[Check, ...]
    rows: tuple[Row, ...]
    series: tuple[Series, ...]


def soaked(commit: str, model: str, wanted: float, seconds: float, done: Sequence[Done], samples: Samples) -> Soak:
    """Judges the ``seconds`` of traffic that there were, of those ``wanted``."""
    rows = tuple(_rows(done))
    series = tuple(samples.series())
    checks = (
        _whole(wanted, seconds),
        _sampled(samples),
        *_restarts(samples),
        *(_flat(each, seconds) for each in series),
        *_right(rows),
    )
    ended = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return Soak(commit, model, ended, seconds / 60, checks, rows, series)


def _whole(wanted: float, seconds: float) -> Check:
    ok = seconds >= wanted
    said = f"{wanted / 60:g} minutes" if ok else f"it ended after {seconds / 60:.1f} of {wanted / 60:g} minutes"
    return Check("it ran to its end", ok, said)


def _sampled(samples: Samples) -> Check:
    missed = samples.missed
    if not missed:
        return Check("every sample was taken", samples.taken > 0, f"{samples.taken} of {samples.taken}")
    more = [f"and {len(missed) - MISSED_SHOWN} more"] if len(missed) > MISSED_SHOWN else []
    named = "; ".join([*missed[:MISSED_SHOWN], *more])
    return Check("every sample was taken", ok=False, said=f"{samples.taken} of {samples.taken + len(missed)}: {named}")


def _restarts(samples: Samples) -> Iterator[Check]:
    for name, starts in samples.starts.items():
        said = f"it started at {', then at '.join(sorted(starts))}" if starts else "no sample"
        yield Check(f"{name} did not restart", len(starts) == 1, said)


def _flat(series: Series, seconds: float) -> Check:
    found = trend(series, seconds)
    if found is None:
        said = f"cannot be told of {len(series.points)} values" if series.points else "no sample"
        return Check(f"{series.name} is flat", ok=False, said=said)
    said = f"{found.first:.0f}, then {found.last:.0f} {series.unit}".rstrip()
    return Check(f"{series.name} is flat", found.flat, f"{said}; at most {found.allowed:.0f}")


def _right(rows: Sequence[Row]) -> Iterator[Check]:
    for row in rows:
        said = f"{row.right} of {row.sent} as they should be"
        ok = row.right == row.sent > 0
        yield Check(row.kind, ok, f"{said}: {row.wrong}" if row.wrong else said)


def _rows(done: Sequence[Done]) -> Iterator[Row]:
    sent = Counter(each.kind for each in done)
    wrong = [each for each in done if each.sent.outcome is not Outcome.RIGHT]
    for kind in Kind:
        of_kind = [f"{each.sent.outcome}: {each.sent.detail}"[:300] for each in wrong if each.kind is kind]
        yield Row(kind, sent[kind], sent[kind] - len(of_kind), of_kind[0] if of_kind else "")


def write(soak: Soak, results: Path) -> None:
    """Writes ``results.json`` and ``report.html``."""
    results.mkdir(parents=True, exist_ok=True)
    content = json.dumps(asdict(soak), indent=1, ensure_ascii=False)
    (results / "results.json").write_text(content + "\n", encoding="utf-8")
    environment = templates_in(Path(__file__).parent)
    plots = [
        plot_of(what, list(series), warm_up=WARM_UP * soak.minutes)
        for what, series in groupby(sorted(soak.series, key=_measure), key=_measure)
    ]
    page = environment.get_template("report.html.j2").render(soak=soak, plots=plots)
    (results / "report.html").write_text(page, encoding="utf-8")


def _measure(series: Series) -> str:
    """What shares a plot."""
    return series.what.partition(",")[0]


def terminal_lines(soak: Soak) -> Iterator[str]:
    width = max(len(check.name) for check in soak.checks)
    for check in soak.checks:
        yield f"{check.name:<{width}}  {'ok' if check.ok else 'FAILED':<7} {check.said}"
