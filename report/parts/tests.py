"""Tests that pytest ran: from its JUnit files."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from stand.evidence import Check, Figure, Part, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def tests_of(title: str) -> Callable[[Path], Iterator[Part]]:
    def read(path: Path) -> Iterator[Part]:
        checks = tuple(cases_of(path))
        passed = sum(check.state is State.PASSED for check in checks)
        figures = (Figure("tests passed", f"{passed} of {len(checks)}"),)
        yield Part(title, (f"{path.parent.name}/{path.name}",), checks, figures)

    return read


def cases_of(path: Path) -> Iterator[Check]:
    """The test cases of a JUnit file as pytest writes it."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        ends = {child.tag: f"{child.get('message', '')}\n{child.text or ''}".strip() for child in case}
        if "failure" in ends or "error" in ends:
            yield Check(name, State.FAILED, ends.get("failure", ends.get("error", "")))
        elif "skipped" in ends:
            yield Check(name, State.NOT_RUN, ends["skipped"].splitlines()[0])
        else:
            yield Check(name, State.PASSED)
