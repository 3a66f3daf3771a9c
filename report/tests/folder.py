"""A results folder in which everything has run and is well, to be spoiled in one place."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from report.commit import Commit
from report.parts.recorded import FAMILIES, FIXTURES
from report.steps import ROOT, STEPS, Ended, log_of, write_record

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = Commit("c0ffee" + "0" * 34, time=1000.0, changed=())


def whole_folder(results: Path) -> None:
    """Fills ``results`` with what the commands write, as far as it is read."""
    write_record(results, {step.target: Ended(step.target, step.command, 2000.0, 2.0, 0, COMMIT.id) for step in STEPS})
    for step in STEPS:
        (results / log_of(step.target)).touch()
    write_junit(results / "test" / "junit.xml", replayed_tests())
    write_junit(results / "contract" / "junit.xml", ["processor.contract.test_contract::test_start"])
    write_json(results / "fuzz" / "report.json", FUZZED_REQUESTS)
    write_json(results / "fuzz" / "outputs.json", FUZZED_OUTPUTS)
    write_json(results / "e2e" / "results.json", live_results())
    write_json(results / "faults" / "results.json", {"rows": [FAULT], "not_run": []})
    write_json(results / "soak" / "results.json", SOAK)
    (results / "soak" / "report.html").touch()
    for name in ("hostile", "bench", "load"):
        write_json(results / name / "results.json", {"seed": 0, "rows": [{"measure": f"{name} measure", "ours": 1.25}]})


FUZZED_REQUESTS = {
    "mismatches": 0,
    "requests": 20_000,
    "accepted": 15_000,
    "checkpoints": 1000,
    "coverage": {"percent": 99.5},
    "seed": 0,
}
FUZZED_OUTPUTS = {"seed": 0, "outputs": 20_000, "readings": 140_000, "texts": 5000, "repeated_by_sglang": 0}
FAULT = {
    "fault": "worker killed",
    "counts": {"right": 170, "error": 528, "hung": 0, "wrong": 0},
    "errors": "503: 528",
    "before": 687,
    "after": 690,
    "recovery": 33.4,
    "objections": [],
}
SOAK = {
    "minutes": 30.0,
    "checks": [{"name": "memory of frontend is flat", "ok": True, "said": "150, then 151 MiB; at most 160"}],
    "rows": [{"kind": "short answer", "sent": 7, "right": 7, "wrong": ""}],
}
VERSIONS = {"model": "stand-in", "git commit": COMMIT.id, "image of frontend": "frontend sha256:12", "CPU": "2 cores"}
STOCK = {"title": "Stock processors", "note": "", "head": ["processor", "as SGLang"], "rows": [["dynamo", "9 of 10"]]}


def live_check(file: str, group: str, outcome: str = "ok", reason: str = "") -> dict[str, Any]:
    return {
        "file": file,
        "group": group,
        "name": "case",
        "mode": "stream",
        "outcome": outcome,
        "reason": reason,
        "differences": [],
    }


def live_results() -> dict[str, Any]:
    files = sorted(path.stem for path in (ROOT / "e2e").glob("test_*.py"))
    gap = live_check("test_parity", "host gap in the request", reason="SGLang: takes it; Dynamo: refuses it")
    return {
        "checks": [*(live_check(file, file.removeprefix("test_")) for file in files), gap],
        "figures": [STOCK],
        "versions": [{"what": what, "value": value} for what, value in VERSIONS.items()],
    }


@cache
def replayed_tests() -> list[str]:
    """A test for every recorded case, in each mode."""
    return [
        f"processor.tests.{family.module}::{test}[{number}]"
        for family in FAMILIES
        for path in (FIXTURES / family.folder).glob("*.json")
        for number, _ in enumerate(json.loads(path.read_text(encoding="utf-8"))[family.key])
        for test in (family.unary, family.stream)
        if test
    ]


def write_junit(path: Path, tests: list[str]) -> None:
    suite = ElementTree.Element("testsuite")
    for test in tests:
        classname, _, name = test.partition("::")
        ElementTree.SubElement(suite, "testcase", classname=classname, name=name)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(path)


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
