"""Soaks the running stack: ``python -m soak [--minutes M] [--clients N] [--seed S]``.

Exit status 1 where memory, file descriptors or latency are not flat, an answer was not as it should be, a sample is
missing, a service restarted, or it was interrupted. What was found until then is written all the same.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from stand.repository import ROOT, current_commit
from stand.stack import Project, Stack, StackError, open_stack
from stand.traffic import Outcome

from .outcome import Soak, soaked, terminal_lines, write
from .samples import Samples
from .traffic import Traffic

if TYPE_CHECKING:
    from pathlib import Path

RESULTS = ROOT / "results" / "soak"
SAMPLES = 240
SHORTEST = 2.0  # seconds between two samples: one takes nearly as long
SAID_EVERY = 60.0  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30, help="how long (default: 30)")
    parser.add_argument("--clients", type=int, default=6, help="requests at any time, at most (default: 6)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same requests (default: 0)")
    options = parser.parse_args()
    shutil.rmtree(RESULTS, ignore_errors=True)  # what an earlier soak found is none of this one
    try:
        with open_stack() as stack:
            if stack.project is None:
                sys.exit("not run: the stack is run by someone else, its containers are out of reach")
            soak = run(stack, stack.project, options)
    except StackError as error:
        sys.exit(f"nothing was run: {error}")
    print("\n".join(terminal_lines(soak)))
    print(f"report: {report_in(RESULTS)}")
    sys.exit(0 if all(check.ok for check in soak.checks) else 1)


def run(stack: Stack, project: Project, options: argparse.Namespace) -> Soak:
    """Soaks the stack, and writes what was found, also of a soak that is interrupted or breaks."""
    commit = str(current_commit())
    wanted = 60.0 * options.minutes
    samples = Samples()
    traffic = Traffic(stack.frontend, options.clients, options.seed)
    try:
        with traffic, suppress(KeyboardInterrupt):
            sample(samples, project, traffic, wanted)
    finally:
        soak = soaked(commit, stack.frontend.model, wanted, samples.seconds, traffic.done, samples)
        write(soak, RESULTS)
    return soak


def sample(samples: Samples, project: Project, traffic: Traffic, seconds: float) -> None:
    """Takes samples for so many ``seconds``, and says how far it has come."""
    period = max(SHORTEST, seconds / SAMPLES)
    said = 0.0
    try:
        while (now := time.monotonic() - samples.started) < seconds:
            samples.take(project, traffic.done)
            if now >= said + SAID_EVERY:
                said = now
                wrong = sum(each.sent.outcome is not Outcome.RIGHT for each in traffic.done)
                print(f"{now / 60:4.0f} min  {len(traffic.done)} requests, {wrong} not as they should be", flush=True)
            time.sleep(max(0.0, samples.started + now + period - time.monotonic()))
    finally:
        samples.seconds = min(seconds, time.monotonic() - samples.started)


def report_in(results: Path) -> str:
    return f"{results.relative_to(ROOT)}/report.html"


if __name__ == "__main__":
    main()
