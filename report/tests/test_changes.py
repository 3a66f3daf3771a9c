"""What changed between two reports is named once, with both values, and worse apart from better."""

from __future__ import annotations

from report.assemble import content_of
from report.changes import changes
from report.evidence import Check, Figure, Part, Report, State, Table

BEFORE = Report(
    "2026-11-01",
    "a" * 40,
    "scope",
    (
        Part(
            "Part",
            checks=(
                Check("stays", State.PASSED, "2 s"),
                Check("breaks", State.PASSED),
                Check("is mended", State.FAILED),
                Check("goes", State.PASSED),
                Check("is missed no more", State.NOT_RUN),
            ),
            figures=(Figure("count", "1"), Figure("same", "7")),
            tables=(Table("", ("row", "x", "y"), (("first", "1", "2"), ("last", "3", "4"))),),
        ),
    ),
)
NOW = Report(
    "2026-12-01",
    "b" * 40,
    "scope",
    (
        Part(
            "Part",
            checks=(
                Check("stays", State.PASSED, "3 s"),
                Check("breaks", State.FAILED),
                Check("is mended", State.PASSED),
                Check("comes", State.NOT_RUN),
            ),
            figures=(Figure("count", "2"), Figure("same", "7")),
            tables=(Table("", ("row", "x", "y"), (("first", "1", "5"), ("new", "6", "7"))),),
        ),
    ),
)


def test_what_changed() -> None:
    part = changes(content_of(BEFORE), content_of(NOW))
    assert part.title == "What changed since aaaaaaaaaaaa, 2026-11-01"
    assert {table.title: table.rows for table in part.tables} == {
        "Verdict": (),
        "Worse, or gone": (
            ("Part: breaks", "pass", "fail"),
            ("Part: goes", "pass", "–"),
            ("Part: comes", "–", "not run"),
        ),
        "Better, or new": (("Part: is mended", "fail", "pass"), ("Part: is missed no more", "not run", "–")),
        "Figures": (
            ("Part: count", "1", "2"),
            ("Part: first: y", "2", "5"),
            ("Part: last: x", "3", "–"),
            ("Part: last: y", "4", "–"),
            ("Part: new: x", "–", "6"),
            ("Part: new: y", "–", "7"),
        ),
    }


def test_a_report_and_itself_have_no_change() -> None:
    assert [table.rows for table in changes(content_of(NOW), content_of(NOW)).tables] == [(), (), (), ()]
