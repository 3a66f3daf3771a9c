"""The repository: where it is, and the commit that the working tree is at."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Commit:
    """What is checked out.

    Attributes:
        id: the full hash.
        time: when it was committed, in seconds since the epoch.
        changed: tracked or new files that it does not hold as they are.
    """

    id: str
    time: float
    changed: tuple[str, ...]

    def __str__(self) -> str:
        return self.id + (" and changes" if self.changed else "")


def current_commit() -> Commit:
    head, time = _git("log", "-1", "--format=%H %ct").split()
    changed = tuple(line[3:] for line in _git("status", "--porcelain").splitlines())
    return Commit(head, float(time), changed)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
