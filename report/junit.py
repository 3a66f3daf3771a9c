"""The report as JUnit: a suite for each part, a case for each check."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from stand.evidence import State

if TYPE_CHECKING:
    from stand.evidence import Check, Part

    from .verdict import Report

ILLEGAL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], "\ufffd")


def junit_of(report: Report) -> bytes:
    suites = ElementTree.Element("testsuites", name=f"release report: {report.verdict}")
    for part in report.parts:
        if part.checks:
            suites.append(_suite(part))
    ElementTree.indent(suites)
    written: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written


def _suite(part: Part) -> ElementTree.Element:
    counts = part.counts()
    suite = ElementTree.Element(
        "testsuite",
        name=part.title,
        tests=str(len(part.checks)),
        failures=str(counts[State.FAILED]),
        skipped=str(counts[State.NOT_RUN]),
        errors="0",
    )
    suite.extend(_case(part, check) for check in part.checks)
    return suite


def _case(part: Part, check: Check) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=part.title, name=_legal(check.name))
    if check.state is State.FAILED:
        summary, _, rest = check.why.partition("\n")
        ElementTree.SubElement(case, "failure", message=_legal(summary)).text = _legal(rest)
    elif check.state is State.NOT_RUN:
        ElementTree.SubElement(case, "skipped", message=_legal(f"not run: {check.why}"))
    return case


def _legal(text: str) -> str:
    """Without the characters that XML 1.0 has no way to write."""
    return text.translate(ILLEGAL)
