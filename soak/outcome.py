"""What a soak found: its checks, as JSON, as a page with plots, and for the terminal."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from faults.traffic import Outcome
from report.templates import templates_in

from .growth import WARM_UP, Series, trend
from .plot import plot_of
from .traffic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .traffic import Done


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
    """All that a soak found; ``ended`` in UTC."""

    model: str
    ended: str
    minutes: float
    checks: tuple[Check, ...]
    rows: tuple[Row, ...]
    series: tuple[Series, ...]


def soaked(model: str, seconds: float, done: Sequence[Done], series: Sequence[Series]) -> Soak:
    """Judges ``seconds`` of traffic."""
    rows = tuple(_rows(done))
    checks = (*(_flat(each, seconds) for each in series), *_right(rows))
    ended = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return Soak(model, ended, seconds / 60, checks, rows, tuple(series))


def _flat(series: Series, seconds: float) -> Check:
    found = trend(series, seconds)
    if found is None:
        return Check(f"{series.name} is flat", ok=False, said=f"cannot be told of {len(series.points)} values")
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
