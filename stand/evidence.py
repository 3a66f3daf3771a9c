"""What a report is made of: parts with checks and figures, each with the raw files that it was read from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class State(StrEnum):
    PASSED = "pass"
    FAILED = "fail"
    NOT_RUN = "not run"


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    NOT_PROVEN = "not proven"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: unique in its part.
        why: how it failed, or why it was not run; a note where it passed.
    """

    name: str
    state: State
    why: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Table:
    """``head`` and every row are of one length."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One section of the report.

    Attributes:
        title: unique in the report.
        raw: the files that it was read from, relative to the results folder.
        listed: whether each of its checks is shown, where it passed too.
    """

    title: str
    raw: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    listed: bool = False

    def counts(self) -> dict[State, int]:
        counted = Counter(check.state for check in self.checks)
        return {state: counted[state] for state in State}


@dataclass(frozen=True, slots=True)
class Report:
    """All that is known of one results folder.

    Attributes:
        assembled: when, in UTC.
        commit: the commit of the working tree that it was assembled in.
        scope: what the verdict is about.
        changes: what differs from an earlier report; None where none was named.
    """

    assembled: str
    commit: str
    scope: str
    parts: tuple[Part, ...]
    changes: Part | None = field(default=None)

    def of(self, state: State) -> Iterator[tuple[Part, Check]]:
        for part in self.parts:
            for check in part.checks:
                if check.state is state:
                    yield part, check

    def counts(self) -> dict[State, int]:
        return {state: sum(part.counts()[state] for part in self.parts) for state in State}

    @property
    def verdict(self) -> Verdict:
        """Fail where a check failed; not proven where one was not run, or where there is none."""
        counts = self.counts()
        if counts[State.FAILED]:
            return Verdict.FAIL
        if counts[State.NOT_RUN] or not counts[State.PASSED]:
            return Verdict.NOT_PROVEN
        return Verdict.PASS
