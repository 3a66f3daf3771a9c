"""Puts the report together, and writes it: a page, the same as JSON and as JUnit."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stand.evidence import State
from stand.repository import ROOT, current_commit
from stand.templates import templates_in

from .changes import changes
from .junit import junit_of
from .parts import read_parts
from .parts.recorded import FIXTURE_LIST, fixture_list
from .parts.tested import scope_of
from .verdict import Report, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = ROOT / "results"
LINES = 12  # of the terminal, for what is alike


class NoReportError(Exception):
    """There is no earlier report to compare with; the text says where it was looked for."""


def assemble(results: Path, base: Path | None) -> Report:
    """Reads a results folder, and what changed since the report in ``base``, another one.

    Raises:
        NoReportError: ``base`` holds no report.
    """
    commit = current_commit()
    assembled = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    report = Report(assembled, str(commit), scope_of(results), tuple(read_parts(results, commit)))
    if base is None:
        return report
    earlier = base / "report" / "report.json"
    if not earlier.is_file():
        raise NoReportError(f"{earlier} is not there: BASE is a results folder with a report in it")
    before = json.loads(earlier.read_text(encoding="utf-8"))
    return replace(report, changes=changes(before, content_of(report)))


def content_of(report: Report) -> dict[str, Any]:
    """The report as ``report.json`` holds it."""
    return {"verdict": report.verdict, "counts": report.counts(), **asdict(report)}


def write(report: Report, results: Path) -> None:
    """Writes ``report.html``, ``report.json``, ``junit.xml`` and the list of fixtures."""
    (results / "report").mkdir(parents=True, exist_ok=True)
    _write_json(results / FIXTURE_LIST, fixture_list())
    _write_json(results / "report" / "report.json", content_of(report))
    (results / "report" / "junit.xml").write_bytes(junit_of(report))
    (results / "report" / "report.html").write_text(page_of(report), encoding="utf-8")


def page_of(report: Report) -> str:
    environment = templates_in(Path(__file__).parent)
    return environment.get_template("report.html.j2").render(report=report, State=State)


def terminal_lines(report: Report) -> Iterator[str]:
    """The verdict, and what keeps it from being a pass."""
    yield f"verdict: {report.verdict.upper()}"
    yield report.scope
    for state in (State.FAILED, State.NOT_RUN):
        reasons = Counter((part.title, check.why.partition("\n")[0]) for part, check in report.of(state))
        names = {(part.title, check.why.partition("\n")[0]): check.name for part, check in report.of(state)}
        for (title, why), count in reasons.most_common(LINES):
            what = names[title, why] if count == 1 else f"{count} checks"
            yield f"  {state}: {title}: {what}: {why}"
        if len(reasons) > LINES:
            yield f"  {state}: and {len(reasons) - LINES} reasons more"
    yield ", ".join(f"{count} {state}" for state, count in report.counts().items())


def exit_status(report: Report) -> int:
    return 0 if report.verdict is Verdict.PASS else 1


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
