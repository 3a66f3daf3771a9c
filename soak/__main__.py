"""Soaks the running stack: ``python -m soak [--minutes M] [--clients N] [--seed S]``.

Exit status 1 where memory, file descriptors or latency are not flat, or an answer was not as it should be.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from e2e.stack import ROOT, Project, Stack, StackError, open_stack
from faults.traffic import Outcome

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
    try:
        with open_stack() as stack:
            if stack.project is None:
                sys.exit("not run: the stack is run by someone else, its containers are out of reach")
            soak = run(stack, stack.project, options)
    except StackError as error:
        sys.exit(f"nothing was run: {error}")
    write(soak, RESULTS)
    print("\n".join(terminal_lines(soak)))
    print(f"report: {report_in(RESULTS)}")
    sys.exit(0 if all(check.ok for check in soak.checks) else 1)


def run(stack: Stack, project: Project, options: argparse.Namespace) -> Soak:
    seconds = 60.0 * options.minutes
    period = max(SHORTEST, seconds / SAMPLES)
    with Traffic(stack.frontend, options.clients, options.seed) as traffic:
        samples = Samples()
        said = 0.0
        while (now := time.monotonic() - samples.started) < seconds:
            samples.take(project, traffic)
            if now >= said + SAID_EVERY:
                said = now
                wrong = sum(each.sent.outcome is not Outcome.RIGHT for each in traffic.done)
                print(f"{now / 60:4.0f} min  {len(traffic.done)} requests, {wrong} not as they should be", flush=True)
            time.sleep(max(0.0, samples.started + now + period - time.monotonic()))
    return soaked(stack.frontend.model, seconds, traffic.done, list(samples.series()))


def report_in(results: Path) -> str:
    return f"{results.relative_to(ROOT)}/report.html"


if __name__ == "__main__":
    main()
