"""Breaks the running stack in every way it knows, under traffic: ``python -m faults [NAME...]``.

Exit status 1 where an answer was wrong or never came, or the stack did not recover.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from statistics import median

from stand.repository import ROOT
from stand.stack import Project, Stack, StackError, open_stack
from stand.traffic import LOST, Outcome, Sent, Traffic, count, kinds

from .breakage import FAULTS, Fault
from .overload import flood, slow_readers

RESULTS = ROOT / "results" / "faults"
CLIENTS = 8
CALM = 6.0  # seconds of traffic before a fault, and after it
RECOVERY_LIMIT = 180.0

# A fault is noticed within seconds here, so that the run does not wait for the minutes that a long prefill may take.
QUICK = {"WORKER_SILENCE_TIMEOUT": "15"}
CROWDED_CLIENTS, CROWDED_REQUESTS = 200, 600
SLOW_READERS, CROWD = "slow readers", "E10"
CROWDED = {**QUICK, "MAX_RUNNING_REQUESTS": "4", "MAX_QUEUED_REQUESTS": "16"}
SLOW_CLIENTS = 48
SLOW_GROWTH_LIMIT = 1.0  # MiB of the frontend for each client that does not read


@dataclass(slots=True)
class Row:
    """One line of the table.

    Attributes:
        fault: what was broken.
        counts: requests by outcome.
        errors: what the errors were.
        before, after: median latency of the right answers, in milliseconds.
        recovery: seconds from the mend, or from the fault where it mends itself, until all answers were right again.
        objections: why the row fails; empty where it does not.
    """

    fault: str
    counts: dict[Outcome, int]
    errors: str
    before: float | None
    after: float | None
    recovery: float | None
    objections: list[str] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the faults whose names begin so")
    names = parser.parse_args().names
    try:
        with open_stack() as stack:
            if stack.project is None:
                sys.exit("not run: the stack is run by someone else, its containers are out of reach")
            rows = run(stack, stack.project, names)
    except StackError as error:
        sys.exit(f"nothing was run: {error}")
    failed = [f"{row.fault}: {objection}" for row in rows for objection in row.objections]
    print(f"\n{len(rows)} rows, {len(failed)} objections; all of it in {RESULTS.relative_to(ROOT)}/results.json")
    sys.exit("\n".join(failed) if failed else 0)


def run(stack: Stack, project: Project, names: list[str]) -> list[Row]:
    """All faults, in order; the results file says after each what is done, and what is not."""
    rows: list[Row] = []
    not_run = [*(fault.name for fault in FAULTS), SLOW_READERS, CROWD]

    def wanted(name: str) -> bool:
        return not names or any(name.startswith(each) for each in names)

    def done(name: str, row: Row) -> None:
        rows.append(row)
        not_run.remove(name)
        print(line(row), flush=True)
        RESULTS.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"rows": [asdict(each) for each in rows], "not_run": not_run}, indent=2)
        (RESULTS / "results.json").write_text(content + "\n", encoding="utf-8")

    print(HEAD, flush=True)
    try:
        project.up(QUICK)
        for fault in FAULTS:
            if wanted(fault.name):
                project.up(QUICK, fault.workers)
                done(fault.name, under_fault(stack, project, fault))
        if wanted(SLOW_READERS):
            project.up(QUICK)
            done(SLOW_READERS, with_slow_readers(stack, project))
        if wanted(CROWD):
            project.up(CROWDED)
            done(CROWD, overloaded(stack))
    finally:
        project.up({})
    return rows


def under_fault(stack: Stack, project: Project, fault: Fault) -> Row:
    with Traffic(stack.frontend, CLIENTS) as traffic:
        time.sleep(CALM)
        broken = time.monotonic()
        with fault.broken(project):
            time.sleep(fault.seconds)
        since = time.monotonic() if fault.seconds else broken
        recovery = traffic.wait_until_right(since, RECOVERY_LIMIT)
        again = time.monotonic()
        time.sleep(CALM)
    row = Row(
        fault.name,
        count(traffic.sent),
        kinds(traffic.sent),
        latency([each for each in traffic.sent if each.started + each.seconds < broken]),
        latency([each for each in traffic.sent if each.started > again]),
        recovery,
    )
    row.objections += objections(row)
    lost = sum(each.detail.startswith(LOST) for each in traffic.sent)
    if lost and not fault.cuts:
        row.objections.append(f"{lost} connections lost, and the frontend was there")
    if fault.harmless and row.counts[Outcome.ERROR]:
        row.objections.append("it must not be felt, and was")
    return row


def overloaded(stack: Stack) -> Row:
    """Many clients on a worker that takes few."""
    calm = flood(stack.frontend, 4, 12)
    sent = flood(stack.frontend, CROWDED_CLIENTS, CROWDED_REQUESTS)
    end = time.monotonic()
    with Traffic(stack.frontend, 4) as traffic:
        recovery = traffic.wait_until_right(end, RECOVERY_LIMIT)
    name = f"E10: {CROWDED_CLIENTS} clients, a worker takes {CROWDED['MAX_RUNNING_REQUESTS']}"
    row = Row(name, count(sent), kinds(sent), latency(calm), latency(traffic.sent), recovery)
    row.objections += objections(row)
    unexpected = {each.detail for each in sent if each.outcome is Outcome.ERROR} - {"503"}
    row.objections += [f"refused with {kind}, not with 503" for kind in unexpected]
    if not row.counts[Outcome.ERROR]:
        row.objections.append("nobody was refused: it was no overload")
    return row


def with_slow_readers(stack: Stack, project: Project) -> Row:
    with Traffic(stack.frontend, CLIENTS) as traffic:
        time.sleep(CALM)
        start = time.monotonic()
        read = slow_readers(stack.frontend, project.service("frontend"), SLOW_CLIENTS, seconds=25)
        end = time.monotonic()
        recovery = traffic.wait_until_right(end, RECOVERY_LIMIT)
    note = f"frontend {read.before:.0f} MiB before, {read.highest:.0f} at most, {read.after:.0f} after"
    row = Row(
        f"{SLOW_CLIENTS} clients that read 1 kB/s",
        count(traffic.sent),
        ", ".join(filter(None, [kinds(traffic.sent), note])),
        latency([each for each in traffic.sent if each.started + each.seconds < start]),
        latency([each for each in traffic.sent if each.started > end]),
        recovery,
    )
    row.objections += objections(row)
    if read.highest - read.before > SLOW_GROWTH_LIMIT * SLOW_CLIENTS:
        row.objections.append(f"more than {SLOW_GROWTH_LIMIT} MiB for each slow client: {note}")
    return row


def objections(row: Row) -> list[str]:
    found = [f"{row.counts[each]} {each}" for each in (Outcome.HUNG, Outcome.WRONG) if row.counts[each]]
    if row.recovery is None:
        found.append(f"no recovery in {RECOVERY_LIMIT:.0f} s")
    if not row.counts[Outcome.RIGHT]:
        found.append("no right answer at all")
    return found


def latency(sent: list[Sent]) -> float | None:
    seconds = [each.seconds for each in sent if each.outcome is Outcome.RIGHT]
    return round(median(seconds) * 1000) if seconds else None


HEAD = (
    f"{'fault':<42}{'sent':>6}{'right':>7}{'error':>7}{'hung':>6}{'wrong':>7}"
    f"{'p50 before':>12}{'p50 after':>11}{'recovery':>10}  errors"
)


def line(row: Row) -> str:
    def shown(value: float | None, unit: str) -> str:
        return "–" if value is None else f"{value:.0f} {unit}"

    right, error, hung, wrong = (row.counts[outcome] for outcome in Outcome)
    return (
        f"{row.fault:<42}{sum(row.counts.values()):>6}{right:>7}{error:>7}{hung:>6}{wrong:>7}"
        f"{shown(row.before, 'ms'):>12}{shown(row.after, 'ms'):>11}{shown(row.recovery, 's'):>10}  {row.errors}"
    )


if __name__ == "__main__":
    main()
