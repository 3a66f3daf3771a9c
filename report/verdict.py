"""The verdict on all parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from stand.evidence import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stand.evidence import Check, Part


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    NOT_PROVEN = "not proven"


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
