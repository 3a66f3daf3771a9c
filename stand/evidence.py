"""What a check leaves for the report: parts with checks, figures and tables, in one shape for all.

``results/<check>/evidence.json`` holds it. It needs the standard library alone, so that a check that runs inside the
engine image writes the same.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "evidence.json"


class State(StrEnum):
    PASSED = "pass"
    FAILED = "fail"
    NOT_RUN = "not run"


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
class Evidence:
    """All that one check found.

    Attributes:
        commit: what it ran on; empty where it does not know.
        versions: what it found running, by name; empty where it asked no server.
    """

    commit: str
    parts: tuple[Part, ...]
    versions: Mapping[str, str] = field(default_factory=dict)


def write_evidence(folder: Path, evidence: Evidence) -> None:
    """Writes ``evidence.json`` into the folder of a check."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(evidence), indent=1, ensure_ascii=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read_evidence(file: Path) -> Evidence:
    """Reads what ``write_evidence`` wrote.

    Raises:
        FileNotFoundError: the check has not run.
        ValueError, LookupError, TypeError: the file holds something else.
    """
    content = json.loads(file.read_text(encoding="utf-8"))
    return Evidence(content["commit"], tuple(map(_part, content["parts"])), content["versions"])


def _part(content: dict[str, Any]) -> Part:
    return Part(
        content["title"],
        tuple(content["raw"]),
        tuple(Check(each["name"], State(each["state"]), each["why"]) for each in content["checks"]),
        tuple(Figure(each["name"], each["value"]) for each in content["figures"]),
        tuple(
            Table(each["title"], tuple(each["head"]), tuple(map(tuple, each["rows"])), each["note"])
            for each in content["tables"]
        ),
        content["listed"],
    )
