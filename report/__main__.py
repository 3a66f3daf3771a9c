"""Assembles what has run into ``results/report``: ``python -m report [--base RESULTS]``.

Exit status 0 where the verdict is a pass.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stand.repository import ROOT

from .assemble import RESULTS, NoReportError, assemble, exit_status, terminal_lines, write


def main() -> None:
    parser = argparse.ArgumentParser(prog="report", description="Assembles what has run into results/report.")
    parser.add_argument("--base", type=Path, metavar="RESULTS", help="an earlier results folder: what changed since")
    try:
        report = assemble(RESULTS, parser.parse_args().base)
    except NoReportError as error:
        sys.exit(f"error: {error}")
    write(report, RESULTS)
    print("\n".join(terminal_lines(report)))
    print(f"report: {(RESULTS / 'report' / 'report.html').relative_to(ROOT)}")
    sys.exit(exit_status(report))


if __name__ == "__main__":
    main()
