"""Runs every check in order, goes on after a failure, and assembles the report: ``python -m report.validate``.

Each step's output is kept in ``results/validate``, beside a record of how it ended. An interrupt ends the steps that
run, and the report is of those before.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures
from typing import TYPE_CHECKING

from stand.repository import ROOT, current_commit

from .assemble import RESULTS, assemble, exit_status, terminal_lines, write
from .steps import ROUNDS, Ended, Step, has_target, log_of, write_record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR = 3600.0  # what has not begun by then is not run
SHOWN = 15  # lines of a failed step
GLANCE = 0.2  # seconds between two looks for an interrupt


def main() -> None:
    # Started in the background of a script, this and all that it starts would be deaf to the signal that ends a step.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    commit = str(current_commit())
    ended: dict[str, Ended] = {}
    write_record(RESULTS, ended)  # the record of an earlier validation is none of this one
    interrupted = threading.Event()
    for steps in ROUNDS:
        left = HOUR - (time.monotonic() - began)
        there = [step for step in steps if has_target(step.target)]
        if left > 0 and there and not interrupted.is_set():
            ended |= {each.target: each for each in at_once(there, left, commit, interrupted)}
            write_record(RESULTS, ended)
    print(f"\n{(time.monotonic() - began) / 60:.0f} minutes")
    report = assemble(RESULTS, base=None)
    write(report, RESULTS)
    print("\n".join(terminal_lines(report)))
    sys.exit(exit_status(report))


def at_once(steps: list[Step], left: float, commit: str, interrupted: threading.Event) -> Iterator[Ended]:
    """Runs the steps of a round; what an interrupt ends is left out, and the event set."""
    with futures.ThreadPoolExecutor(len(steps)) as pool:
        running = [pool.submit(run, step, left, commit, interrupted) for step in steps]
        try:
            futures.wait(running)
        except KeyboardInterrupt:
            print("\ninterrupted: what runs is ended, the report is of what has run", flush=True)
            interrupted.set()
        for each in running:
            if (ended := each.result()) is not None:
                yield ended


def run(step: Step, left: float, commit: str, interrupted: threading.Event) -> Ended | None:
    """Runs one step, for at most its own time and the seconds that are ``left``; None where it was interrupted."""
    log = RESULTS / log_of(step.target)
    print(f"{step.command:<24}begins", flush=True)
    began, started = time.time(), time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["make", "--no-print-directory", step.target, *step.options],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status = wait(process, min(60 * step.minutes, left), interrupted)
    if status is None and interrupted.is_set():
        return None
    ended = Ended(step.target, step.command, began, round(time.monotonic() - started, 1), status, commit)
    said = [f"{step.command:<24}{'ok' if status == 0 else 'FAILED':<8}{ended.seconds:5.0f} s"]
    if status != 0:
        said += [f"    {line}" for line in last_lines(log)]
    print("\n".join(said), flush=True)
    return ended


def wait(process: subprocess.Popen[bytes], limit: float, interrupted: threading.Event) -> int | None:
    """The exit status; None where the process and its children had to be ended."""
    until = time.monotonic() + limit
    while time.monotonic() < until and not interrupted.is_set():
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(GLANCE)
    for sent in (signal.SIGINT, signal.SIGKILL):  # the first lets a step put the stack in order again
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sent)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
    return None


def last_lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN:]


if __name__ == "__main__":
    main()
