"""A results folder in which everything has run and is well, to be spoiled in one place."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from report.parts.bills import IMAGES
from report.parts.loaded import FILES as LOAD_FILES
from report.parts.recorded import FAMILIES, FIXTURES
from report.steps import STEPS, Ended, log_of, write_record
from stand.repository import ROOT, Commit

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
    for name in IMAGES:
        write_json(results / "sbom" / f"{name}.cdx.json", BILL)
    write_json(results / "hostile" / "results.json", HOSTILE)
    write_json(results / "bench" / "results.json", {"seed": 0, "rows": [{"measure": "prefill", "ours": 1.25}]})
    write_json(results / "load" / "run.json", LOAD)
    for file in LOAD_FILES:
        (results / file).touch()


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
    "commit": COMMIT.id,
    "minutes": 30.0,
    "checks": [{"name": "memory of frontend is flat", "ok": True, "said": "150, then 151 MiB; at most 160"}],
    "rows": [{"kind": "short answer", "sent": 7, "right": 7, "wrong": ""}],
}
HOSTILE = {
    "seed": 0,
    "requests": 10_000,
    "violations": 0,
    "seconds": 268,
    "frontend, MiB, highest": 1016,
    "against it": [],
    "rows": [
        {"number": 0, "kind": "deep nesting", "outcome": "refused", "status": 400, "objection": ""},
        {"number": 1, "kind": "deep nesting", "outcome": "answered", "status": 200, "objection": ""},
        {"number": 2, "kind": "no UTF-8", "outcome": "refused", "status": 400, "objection": ""},
    ],
}


def load_step(number: int, server: str, users: float) -> dict[str, Any]:
    latencies = {
        f"{measure}_p{percent}": 12345.678901 * users / percent
        for measure in ("ttft", "ttst", "itl", "tpot", "e2e")
        for percent in (50, 95, 99)
    }
    return {
        "step": number,
        "server": server,
        "load": users,
        "unit": "users",
        "began": 18.76 * number,
        "ended": 18.76 * (number + 1),
        "requests": 141,
        "failures": 0,
        **latencies,
        "output_tokens_per_s": 415.4920634920635,
        "output_tokens_per_s_per_user": 415.4920634920635 / users,
        "prompt_tokens_per_s": 2969.5873015873017,
        "knee": False,
    }


BILL = {
    "metadata": {"component": {"type": "container", "name": "frontend:latest", "version": "sha256:12"}},
    "components": [{"type": "library", "name": "httpx", "version": "0.28.1", "purl": "pkg:pypi/httpx@0.28.1"}],
}
BUDGET = {"limit": "failed requests, the worse server", "allowed": "at most 0.005", "measured": "0", "ok": True}
NOTHING_ACCEPTED = {
    "limit": "the same TTFT ratio over the last accepted run's",
    "allowed": "at most 2",
    "measured": "no run was accepted yet: make load ACCEPT=1",
    "ok": None,
}
LOAD = {
    "commit": COMMIT.id,
    "model": "stand-in",
    "workload": "mixed",
    "loop": "closed",
    "seconds": 150.0,
    "seed": 0,
    "valid": True,
    "invalid_because": [],
    "steps": [
        load_step(number, server, users)
        for number, (users, server) in enumerate(product((1.0, 4.0, 16.0, 32.0), ("frontend", "reference")))
    ],
    "budgets": [BUDGET, NOTHING_ACCEPTED],
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
