"""What changed between two reports is named once, with both values, and worse apart from better."""

from __future__ import annotations

import pytest

from report.assemble import content_of
from report.changes import changes
from report.verdict import Report
from stand.evidence import Check, Figure, Part, State, Table

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


def report_with(value: str, *, figure: str = "", column: str = "", row: str = "row") -> Report:
    """One value: of a figure, or of a table's cell."""
    figures = (Figure(figure, value),) if figure else ()
    tables = () if figure else (Table("", ("", column), ((row, value),)),)
    return Report("now", "a" * 40, "scope", (Part("Part", figures=figures, tables=tables),))


@pytest.mark.parametrize(
    ("before", "now", "shown"),
    [
        (report_with("9", figure="seconds"), report_with("8", figure="seconds"), ()),
        (report_with("33 s", column="recovery"), report_with("34 s", column="recovery"), ()),
        (
            report_with("33 s", column="recovery"),
            report_with("none", column="recovery"),
            (("Part: row: recovery", "33 s", "none"),),
        ),
        (report_with("1.50 ms", column="ours"), report_with("1.60 ms", column="ours"), ()),
        (report_with("15", column="TTFT p50 [ms]"), report_with("16", column="TTFT p50 [ms]"), ()),
        (
            report_with("415", column="output tokens/s", row="frontend, 1 user"),
            report_with("300", column="output tokens/s", row="frontend, 1 user"),
            (("Part: frontend, 1 user: output tokens/s", "415", "300"),),
        ),
    ],
    ids=["seconds", "recovery", "no recovery", "ms", "latency", "throughput"],
)
def test_how_long_something_took_is_no_change(
    before: Report, now: Report, shown: tuple[tuple[str, str, str], ...]
) -> None:
    assert changes(content_of(before), content_of(now)).tables[-1].rows == shown


def test_rows_of_one_name_in_two_tables_are_two() -> None:
    before, now = (
        Report(
            "now",
            "a" * 40,
            "scope",
            (Part("Part", tables=tuple(Table(title, ("", "x"), (("row", value),)) for title in ("One", "Two"))),),
        )
        for value in ("1", "2")
    )
    assert changes(content_of(before), content_of(now)).tables[-1].rows == (
        ("Part: One: row: x", "1", "2"),
        ("Part: Two: row: x", "1", "2"),
    )


def test_a_report_and_itself_have_no_change() -> None:
    assert [table.rows for table in changes(content_of(NOW), content_of(NOW)).tables] == [(), (), (), ()]
