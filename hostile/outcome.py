"""What a run found, as JSON and for the terminal."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .answers import Outcome
from .bodies import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .verdict import Verdict

SAID_SHOWN, AGAIN_SHOWN = 300, 10


@dataclass(frozen=True, slots=True)
class Memory:
    """Of the frontend, in MiB: before, at its highest, and a while after the last request."""

    before: float
    highest: float
    after: float


@dataclass(frozen=True, slots=True)
class Run:
    """All that a run found.

    Attributes:
        again: numbers of the requests that were sent again alone, see ``is_unsettled``; their verdict is of that.
        memory: None where the containers are out of reach.
        objections: what may not be and concerns no one request.
    """

    seed: int
    seconds: float
    verdicts: Sequence[Verdict]
    again: tuple[int, ...]
    memory: Memory | None
    objections: tuple[str, ...]

    @property
    def violations(self) -> list[str]:
        """Each request that was not answered as it must be, and what concerns all of them."""
        found = [f"request {v.number}, {v.kind}: {v.objection}" for v in self.verdicts if v.objection]
        return [*found, *self.objections]


def terminal_lines(run: Run) -> Iterator[str]:
    outcomes = tuple(Outcome)
    yield f"{'what was sent':<32}{'sent':>7}" + "".join(f"{outcome:>10}" for outcome in outcomes) + "  against it"
    for kind in Kind:
        of_kind = [each for each in run.verdicts if each.kind is kind]
        counts = Counter(each.frontend.outcome for each in of_kind)
        cells = "".join(f"{counts[outcome]:>10}" for outcome in outcomes)
        yield f"{kind:<32}{len(of_kind):>7}{cells}  {sum(bool(each.objection) for each in of_kind) or 'nothing'}"
    yield ""
    asked = [each for each in run.verdicts if each.reference]
    alike = sum(each.reference is not None and each.frontend.status == each.reference.status for each in asked)
    yield f"the reference was asked {len(asked)} times, and answered with the same status {alike} times"
    if run.again:
        numbers = ", ".join(map(str, run.again[:AGAIN_SHOWN]))
        more = f", … and {len(run.again) - AGAIN_SHOWN} more" if len(run.again) > AGAIN_SHOWN else ""
        yield f"sent again alone, since one of the servers did not answer in time: {numbers}{more}"
    if run.memory:
        memory = run.memory
        yield (
            f"memory of the frontend: {memory.before:.0f} MiB before, {memory.highest:.0f} at most, "
            f"{memory.after:.0f} after"
        )
    else:
        yield "memory of the frontend: not run: its container is out of reach"
    yield f"{len(run.verdicts)} requests of seed {run.seed} in {run.seconds:.0f} s, {len(run.violations)} violations"


def write(run: Run, results: Path) -> None:
    """Writes ``results.json``."""
    results.mkdir(parents=True, exist_ok=True)
    found = {
        "seed": run.seed,
        "requests": len(run.verdicts),
        "violations": len(run.violations),
        "seconds": round(run.seconds),
        **(
            {f"frontend, MiB, {name}": round(value) for name, value in asdict(run.memory).items()} if run.memory else {}
        ),
        "sent again alone": list(run.again),
        "against it": [{"violation": each} for each in run.violations],
        "rows": [_row(each) for each in run.verdicts],
    }
    (results / "results.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _row(verdict: Verdict) -> dict[str, Any]:
    row = {
        "number": verdict.number,
        "kind": verdict.kind,
        "bytes": verdict.size,
        "outcome": verdict.frontend.outcome,
        "status": verdict.frontend.status,
        "seconds": round(verdict.frontend.seconds, 3),
        "reference": verdict.reference and f"{verdict.reference.outcome} {verdict.reference.status}",
        "objection": verdict.objection,
    }
    answered = verdict.frontend.outcome is Outcome.ANSWERED
    return row if answered else {**row, "said": verdict.frontend.said[:SAID_SHOWN]}
