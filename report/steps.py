"""The commands of a whole validation, in order, and the record that is kept of how each ended."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from stand.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RECORD = "validate/steps.json"


@dataclass(frozen=True, slots=True)
class Step:
    """One command of ``make``.

    Attributes:
        minutes: it is ended after so long, and has failed.
        options: variables of the command.
    """

    target: str
    minutes: float
    options: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        return " ".join(("make", self.target, *self.options))


# One round after another, the steps of a round at once. `up` comes before `fixtures` and `sbom`: it builds the images,
# and SGLang's code is in one. The two searches need neither the stack nor each other, and each one core for minutes.
ROUNDS = (
    (Step("lint", 5),),
    (Step("test", 10),),
    (Step("contract", 5),),
    (Step("up", 10),),
    (Step("fixtures", 10, ("CHECK=1",)), Step("sbom", 5)),
    (Step("equal-tokens", 10),),
    (Step("fuzz", 25), Step("fuzz-outputs", 25)),
    (Step("e2e", 15),),
    (Step("faults", 20),),
    (Step("hostile", 10),),
    (Step("bench", 10),),
    (Step("load", 10),),
)
STEPS = tuple(step for steps in ROUNDS for step in steps)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a step ended.

    Attributes:
        command: as typed.
        began: seconds since the epoch.
        seconds: how long it took.
        status: its exit status; None where it was ended for taking too long.
        commit: what it ran on.
    """

    target: str
    command: str
    began: float
    seconds: float
    status: int | None
    commit: str


def has_target(target: str) -> bool:
    """Whether this version has such a command."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE) is not None


def log_of(target: str) -> str:
    """Where a step's output is kept, relative to the results folder."""
    return f"validate/{target}.log"


def read_record(results: Path) -> dict[str, Ended]:
    """How the steps ended when ``make validate`` last ran them, by target."""
    path = results / RECORD
    entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {entry["target"]: Ended(**entry) for entry in entries}


def write_record(results: Path, ended: dict[str, Ended]) -> None:
    path = results / RECORD
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(each) for each in ended.values()], indent=1) + "\n", encoding="utf-8")
