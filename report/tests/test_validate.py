"""A validation runs every step that there is, goes on after a failure, and keeps what each said."""

from __future__ import annotations

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
\t@trap 'echo put in order; exit 1' INT; sleep 60 & wait
optional:
\t@echo "$(CHECK)"
"""
TRIED = (
    (Step("bad", 1),),
    (Step("absent", 1),),
    (Step("slow", 0.02), Step("optional", 1, ("CHECK=1",))),
    (Step("good", 1),),
)


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The folder of a validation with these steps; what it printed."""
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    monkeypatch.setattr(steps, "ROOT", tmp_path)
    monkeypatch.setattr(validate, "ROOT", tmp_path)
    monkeypatch.setattr(validate, "RESULTS", tmp_path)
    monkeypatch.setattr(validate, "ROUNDS", TRIED)
    with pytest.raises(SystemExit) as ended:
        validate.main()
    assert ended.value.code == 1
    return capsys.readouterr().out


def test_every_step_that_there_is_has_run(tmp_path: Path, ran: str) -> None:
    record = read_record(tmp_path)
    assert {target: ended.status for target, ended in record.items()} == {
        "bad": 2,
        "slow": None,
        "optional": 0,
        "good": 0,
    }
    assert "verdict: FAIL" in ran
    assert "  fail: Every command: make bad: exit status 2 after 0 s" in ran.splitlines()


def test_what_a_step_said_is_kept(tmp_path: Path, ran: str) -> None:
    logs = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in (tmp_path / "validate").glob("*.log")}
    assert logs["good"] == ["all is well"]
    assert logs["optional"] == ["1"]
    assert logs["slow"][0] == "put in order", "a step that takes too long may put things in order"
    assert "    words of the failure" in ran.splitlines()


def test_the_report_is_written(tmp_path: Path, ran: str) -> None:
    assert ran
    assert {path.name for path in (tmp_path / "report").iterdir()} == {
        "report.html",
        "report.json",
        "junit.xml",
        "fixtures.json",
    }
