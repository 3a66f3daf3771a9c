"""A validation runs every step that there is, goes on after a failure, and keeps what each said."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from report import steps, validate
from report.steps import Step, read_record

if TYPE_CHECKING:
    from pathlib import Path

MAKEFILE = """
good:
\t@echo all is well
bad:
\t@echo words of the failure; exit 3
slow:
\t@trap 'echo put in order; exit 1' INT; touch begun; sleep 60 & wait
optional:
\t@echo "$(CHECK)"
"""
TRIED = (
    (Step("bad", 1),),
    (Step("absent", 1),),
    (Step("slow", 0.1), Step("optional", 1, ("CHECK=1",))),
    (Step("good", 1),),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def validated(results: Path, rounds: tuple[tuple[Step, ...], ...]) -> list[str]:
    """What a validation of these steps prints, which is no pass."""
    (results / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.setattr(steps, "ROOT", results)
        patch.setattr(validate, "ROOT", results)
        patch.setattr(validate, "RESULTS", results)
        patch.setattr(validate, "ROUNDS", rounds)
        with pytest.raises(SystemExit) as ended:
            validate.main()
    assert ended.value.code == 1
    return output.getvalue().splitlines()


@pytest.fixture(scope="module")
def printed(results: Path) -> list[str]:
    return validated(results, TRIED)


def test_every_step_that_there_is_has_run(results: Path, printed: list[str]) -> None:
    record = read_record(results)
    assert {target: ended.status for target, ended in record.items()} == {
        "bad": 2,
        "slow": None,
        "optional": 0,
        "good": 0,
    }
    assert "verdict: FAIL" in printed
    assert any(line.startswith("  fail: Every command: make bad: exit status 2") for line in printed), printed


def test_what_a_step_said_is_kept(results: Path, printed: list[str]) -> None:
    logs = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in (results / "validate").glob("*.log")}
    assert logs["good"] == ["all is well"]
    assert logs["optional"] == ["1"]
    assert logs["slow"][0] == "put in order", "a step that takes too long may put things in order"
    assert "    words of the failure" in printed


def test_the_report_is_written(results: Path, printed: list[str]) -> None:
    assert printed
    assert {path.name for path in (results / "report").iterdir()} == {
        "report.html",
        "report.json",
        "junit.xml",
        "fixtures.json",
    }


def test_an_interrupt_ends_what_runs_and_reports_what_has_run(tmp_path: Path) -> None:
    def interrupt() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    threading.Thread(target=interrupt, daemon=True).start()
    printed = validated(tmp_path, ((Step("good", 1),), (Step("slow", 1),), (Step("optional", 1),)))
    assert time.monotonic() - began < 30
    assert list(read_record(tmp_path)) == ["good"]
    assert (tmp_path / "validate" / "slow.log").read_text(encoding="utf-8").startswith("put in order")
    assert any(line.startswith("interrupted: ") for line in printed), printed
    assert (tmp_path / "report" / "report.html").is_file()
