"""What is written: a page that a browser shows on any width and on paper, and the same as JSON and as JUnit."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from report.assemble import NoReportError, assemble, terminal_lines, write
from report.parts import read_parts
from report.parts.tested import scope_of
from report.verdict import Report
from stand.evidence import State

from .folder import COMMIT, live_check, live_results, whole_folder, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytest_plugins = ["report.tests.browser"]

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
LONG, BELL = "x" * 300, "a bell: \x07, <b>&amp;"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder in which much went wrong."""
    whole_folder(tmp_path)
    shutil.rmtree(tmp_path / "bench")
    found = live_results()
    bad = [
        live_check("test_parity", "parity", "DIFF", LONG),
        live_check("test_parity", "parity", "FAILED", BELL),
        *(live_check("test_parity", f"parity {number}", "not run", "no script") for number in range(9)),
    ]
    write_json(tmp_path / "e2e" / "results.json", {**found, "checks": [*found["checks"], *bad]})
    return tmp_path


@pytest.fixture
def report(results: Path) -> Report:
    report = Report("now", str(COMMIT), scope_of(results), tuple(read_parts(results, COMMIT)))
    write(report, results)
    return report


@pytest.fixture
def page(browser: Browser, results: Path, report: Report) -> Iterator[Page]:
    assert report.verdict
    with browser.new_page() as page:
        errors: list[str] = []
        requests: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.on("request", lambda request: requests.append(request.url))
        url = (results / "report" / "report.html").as_uri()
        page.goto(url)
        yield page
        assert errors == []
        assert requests == [url], "the page needs nothing but itself"


def test_the_verdict_comes_first(page: Page) -> None:
    words = page.inner_text("body").split()
    assert words[:2] == ["Fail", "Of"]
    assert page.inner_text("h2").strip() == "What failed"


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_page_is_as_wide_as_the_screen(page: Page, size: dict[str, int]) -> None:
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


def test_nothing_is_hidden_on_paper(page: Page) -> None:
    """Paper cannot be scrolled, nor can a fold be opened on it."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})  # A4 less its margins
    cut = """[...document.querySelectorAll(".wide")].filter(each => each.scrollWidth > each.clientWidth).length"""
    folded = """[...document.querySelectorAll("details *")].filter(each => !each.checkVisibility(
        {contentVisibilityAuto: true})).length"""
    assert page.evaluate("document.querySelectorAll('details').length") > 0
    assert (page.evaluate(cut), page.evaluate(folded)) == (0, 0)
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_every_link_leads_to_a_file(page: Page, results: Path) -> None:
    targets = page.eval_on_selector_all("a", "links => links.map(link => link.getAttribute('href'))")
    assert [target for target in targets if not (results / "report" / target).is_file()] == []


def test_text_is_shown_as_it_is(page: Page) -> None:
    assert "<b>&amp;" in page.inner_text("body")


def test_the_same_as_json(results: Path, report: Report) -> None:
    written = json.loads((results / "report" / "report.json").read_text(encoding="utf-8"))
    counts = {str(state): count for state, count in report.counts().items()}
    assert (written["verdict"], written["counts"]) == ("fail", counts)
    assert [part["title"] for part in written["parts"]] == [part.title for part in report.parts]


def test_the_same_as_junit(results: Path, report: Report) -> None:
    suites = ElementTree.parse(results / "report" / "junit.xml").getroot()
    cases = dict.fromkeys(State, 0)
    for case in suites.iter("testcase"):
        tags = {child.tag for child in case}
        cases[State.FAILED if "failure" in tags else State.NOT_RUN if "skipped" in tags else State.PASSED] += 1
    assert cases == report.counts()
    summed = [sum(int(suite.get(key, "")) for suite in suites) for key in ("tests", "failures", "skipped")]
    counts = report.counts()
    assert summed == [sum(counts.values()), counts[State.FAILED], counts[State.NOT_RUN]]


def test_the_terminal_names_what_keeps_it_from_a_pass(report: Report) -> None:
    lines = list(terminal_lines(report))
    assert lines[0] == "verdict: FAIL"
    assert f"  fail: Live parity: parity · case · stream: {LONG}" in lines
    assert "  not run: Live parity: 9 checks: no script" in lines
    assert "  not run: Benchmarks: bench/results.json: missing: `make bench` writes bench/results.json" in lines


def test_a_base_without_a_report_is_an_error(results: Path, tmp_path: Path) -> None:
    with pytest.raises(NoReportError, match="BASE is a results folder with a report in it"):
        assemble(results, tmp_path / "nowhere")


def test_changes_are_shown_since_the_base(results: Path, report: Report) -> None:
    assert report.changes is None
    since = assemble(results, results).changes
    assert since is not None
    assert [table.title for table in since.tables] == ["Verdict", "Worse, or gone", "Better, or new", "Figures"]
