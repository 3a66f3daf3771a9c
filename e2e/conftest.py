"""The stack as a fixture, and what becomes of every check: a table on the terminal, and the report."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from stand.answers import AnswersDifferError
from stand.repository import ROOT
from stand.stack import Project, Stack, StackError, open_stack

from .report import Check, Outcome, Results, Sides, Table, terminal_lines, versions_of, write_report

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

RESULTS = pytest.StashKey[Results]()
REPORT_DIRECTORY = ROOT / "results" / "e2e"


@pytest.fixture(scope="session")
def stack(pytestconfig: pytest.Config) -> Iterator[Stack]:
    """Frontend and reference, both ready: those in FRONTEND_URL and REFERENCE_URL, else the compose project's."""
    try:
        with open_stack() as opened:
            results = pytestconfig.stash[RESULTS]
            results.origin = opened.origin
            results.versions = versions_of(opened)
            yield opened
    except StackError as error:
        pytest.exit(f"nothing was run: {error}", returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture
def project(stack: Stack) -> Project:
    """The containers of the stack. A test that needs them is not run where someone else runs the stack."""
    if stack.project is None:
        pytest.skip("not run: the stack is run by someone else, its containers are out of reach")
    return stack.project


@pytest.fixture
def add_table(pytestconfig: pytest.Config) -> Callable[[Table], None]:
    """Puts a table of figures into the report."""
    return pytestconfig.stash[RESULTS].figures.append


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "destructive: breaks the stack on purpose; runs last, and only on a stack of ours"
    )
    config.stash[RESULTS] = Results()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("destructive") is not None)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        item.config.stash[RESULTS].checks.append(_check(item, Outcome.NOT_RUN, 0.0, "deselected on the command line"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    check = _check_of_phase(item, call, report)
    if check is not None:
        item.config.stash[RESULTS].checks.append(check)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash[RESULTS]
    if not results.checks:
        return
    results.seconds = time.time() - results.started
    write_report(results, REPORT_DIRECTORY)
    terminalreporter.section("frontend against reference")
    for line in terminal_lines(results):
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"report: {REPORT_DIRECTORY.relative_to(ROOT)}/report.html")


def _check_of_phase(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Check | None:
    """The check that this phase of a test decides: the call, or a set-up or tear-down that went wrong."""
    if report.skipped:
        assert isinstance(report.longrepr, tuple)
        reason = str(report.longrepr[2]).removeprefix("Skipped: ").removeprefix("not run: ")
        return _check(item, Outcome.NOT_RUN, call.duration, reason)
    if report.passed and report.when == "call":
        recorded = dict(report.user_properties)
        sides = recorded.get("sides")
        assert sides is None or isinstance(sides, Sides)
        return replace(_check(item, Outcome.OK, call.duration, str(recorded.get("note", ""))), sides=sides)
    if report.failed:
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, AnswersDifferError):
            return _check(item, Outcome.DIFF, call.duration, "", error)
        return _check(item, Outcome.FAILED, call.duration, str(error) or type(error).__name__)
    return None


def _check(
    item: pytest.Item, outcome: Outcome, seconds: float, reason: str = "", error: AnswersDifferError | None = None
) -> Check:
    """Reads group, name and mode off a test: its function, and what it is parametrized with."""
    assert isinstance(item, pytest.Function)
    parameters = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    mode = str(parameters.pop("mode", ""))
    names = [str(getattr(value, "name", value)) for value in parameters.values()]
    return Check(
        file=item.path.stem,
        group=item.originalname.removeprefix("test_").replace("_", " "),
        name=", ".join(names),
        mode=mode,
        outcome=outcome,
        seconds=seconds,
        reason=reason,
        differences=error.differences if error else (),
    )
