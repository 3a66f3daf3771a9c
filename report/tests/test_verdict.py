"""A pass is a pass of everything: whatever failed, is missing, outdated or unreadable is in the verdict, by name."""

from __future__ import annotations

import ast
import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from report.parts import read_parts
from report.parts.bills import IMAGES
from report.parts.loaded import NOT_APPLICABLE, load
from report.parts.recorded import FIXTURE_LIST, fixture_list
from report.parts.tested import scope_of
from report.steps import read_record, write_record
from report.verdict import Report, Verdict
from stand.evidence import Check, Part, State
from stand.repository import ROOT

from .folder import (
    BILL,
    BUDGET,
    COMMIT,
    FAULT,
    FUZZED_OUTPUTS,
    FUZZED_REQUESTS,
    HOSTILE,
    LOAD,
    NOTHING_ACCEPTED,
    SOAK,
    live_check,
    live_results,
    load_step,
    whole_folder,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stand.repository import Commit


def report_of(results: Path, commit: Commit = COMMIT) -> Report:
    return Report("now", str(commit), scope_of(results), tuple(read_parts(results, commit)))


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        ([], Verdict.NOT_PROVEN),
        ([State.PASSED], Verdict.PASS),
        ([State.PASSED, State.NOT_RUN], Verdict.NOT_PROVEN),
        ([State.NOT_RUN], Verdict.NOT_PROVEN),
        ([State.PASSED, State.FAILED], Verdict.FAIL),
        ([State.NOT_RUN, State.FAILED], Verdict.FAIL),
    ],
)
def test_the_worst_check_decides(states: list[State], verdict: Verdict) -> None:
    checks = tuple(Check(str(number), state) for number, state in enumerate(states))
    assert Report("now", "commit", "scope", (Part("part", checks=checks),)).verdict is verdict


def test_a_whole_folder_is_a_pass(tmp_path: Path) -> None:
    whole_folder(tmp_path)
    report = report_of(tmp_path)
    assert [(part.title, check) for part, check in report.of(State.NOT_RUN)] == []
    assert report.verdict is Verdict.PASS


def test_an_empty_folder_names_all_that_is_missing(tmp_path: Path) -> None:
    missing = {check.why for _, check in report_of(tmp_path).of(State.NOT_RUN) if check.why.startswith("missing")}
    assert missing == {
        "missing: `make test` writes test/junit.xml",
        "missing: `make contract` writes contract/junit.xml",
        "missing: `make fuzz` writes fuzz/report.json",
        "missing: `make fuzz-outputs` writes fuzz/outputs.json",
        "missing: `make e2e` writes e2e/results.json",
        "missing: `make faults` writes faults/results.json",
        "missing: `make hostile` writes hostile/results.json",
        "missing: `make bench` writes bench/results.json",
        "missing: `make load` writes load/run.json",
        "missing: `make sbom` writes sbom/engine.cdx.json",
        "missing: `make soak` writes soak/results.json",
    }


@dataclass(frozen=True)
class Spoiled:
    """A folder that is whole but for one thing: what it is, and the one check that then is no pass."""

    name: str
    spoil: Callable[[Path], None]
    part: str
    check: str
    state: State
    why: str


def overwrite(file: str, content: object) -> Callable[[Path], None]:
    return lambda results: write_json(results / file, content)


def live(outcome: str, reason: str = "", **fields: Any) -> Callable[[Path], None]:
    """The live tests, with the check of live parity so."""
    found = live_results()
    kept = [check for check in found["checks"] if check["group"] != "parity"]
    return overwrite(
        "e2e/results.json",
        {**found, "checks": [*kept, {**live_check("test_parity", "parity", outcome, reason), **fields}]},
    )


def live_without(file: str) -> Callable[[Path], None]:
    found = live_results()
    checks = [check for check in found["checks"] if check["file"] != file]
    return overwrite("e2e/results.json", {**found, "checks": checks})


def live_version(what: str, value: str) -> Callable[[Path], None]:
    found = live_results()
    versions = [each for each in found["versions"] if each["what"] != what]
    return overwrite("e2e/results.json", {**found, "versions": [*versions, {"what": what, "value": value}]})


def test_case(tag: str, **attributes: str) -> Callable[[Path], None]:
    """The first contract test ends so."""

    def spoil(results: Path) -> None:
        path = results / "contract" / "junit.xml"
        tree = ElementTree.parse(path)
        case = next(tree.getroot().iter("testcase"))
        ElementTree.SubElement(case, tag, attributes)
        tree.write(path)

    return spoil


test_case.__test__ = False  # type: ignore[attr-defined]


def without_one_render_test(results: Path) -> None:
    path = results / "test" / "junit.xml"
    tree = ElementTree.parse(path)
    suite = tree.getroot()
    suite.remove(next(suite.iter("testcase")))
    tree.write(path)


def step(target: str, **fields: Any) -> Callable[[Path], None]:
    def spoil(results: Path) -> None:
        record = read_record(results)
        write_record(results, {**record, target: replace(record[target], **fields)})

    return spoil


def without_step(target: str) -> Callable[[Path], None]:
    def spoil(results: Path) -> None:
        record = read_record(results)
        record.pop(target)
        write_record(results, record)

    return spoil


def written(file: str, when: float) -> Callable[[Path], None]:
    return lambda results: os.utime(results / file, (when, when))


DIFFERENCE = {"field": "content", "reference": "'a'", "frontend": "'b'"}
LIVE_CASE = "parity · case · stream"
SPOILED = (
    Spoiled(
        "a command failed",
        step("lint", status=2),
        "Every command",
        "make lint",
        State.FAILED,
        "exit status 2 after 2 s",
    ),
    Spoiled(
        "a command took too long",
        step("faults", status=None),
        "Every command",
        "make faults",
        State.FAILED,
        "was ended after 2 s",
    ),
    Spoiled(
        "a command was not run",
        without_step("fixtures"),
        "Every command",
        "make fixtures CHECK=1",
        State.NOT_RUN,
        "`make validate` has not run it",
    ),
    Spoiled(
        "a command ran on another commit",
        step("test", commit="feed" * 10),
        "What was tested",
        "all results are of the commit that is checked out",
        State.NOT_RUN,
        "`make test` ran on " + "feed" * 10,
    ),
    Spoiled(
        "the live tests ran on another commit",
        live_version("git commit", "feed and changes"),
        "What was tested",
        "all results are of the commit that is checked out",
        State.NOT_RUN,
        "`make e2e` ran on feed and changes",
    ),
    Spoiled(
        "the load ran on another commit",
        overwrite("load/run.json", {**LOAD, "commit": "feed"}),
        "What was tested",
        "all results are of the commit that is checked out",
        State.NOT_RUN,
        "`make load` ran on feed",
    ),
    Spoiled(
        "the soak does not say what it ran on",
        overwrite("soak/results.json", {key: value for key, value in SOAK.items() if key != "commit"}),
        "What was tested",
        "all results are of the commit that is checked out",
        State.NOT_RUN,
        "`make soak` ran on a commit that it does not name",
    ),
    Spoiled(
        "a version is not known",
        live_version("CPU", "unknown: no /proc"),
        "What was tested",
        "CPU",
        State.NOT_RUN,
        "unknown: no /proc",
    ),
    Spoiled(
        "a file is older than the command that should have written it",
        written("fuzz/report.json", 1500.0),
        "Generated requests",
        "fuzz/report.json",
        State.NOT_RUN,
        "outdated: make fuzz did not write it anew",
    ),
    Spoiled(
        "a file is older than the commit",
        written("soak/results.json", 999.0),
        "Soak",
        "soak/results.json",
        State.NOT_RUN,
        "outdated: older than commit c0ffee00",
    ),
    Spoiled(
        "a file with a commit is of another form",
        overwrite("soak/results.json", []),
        "Soak",
        "soak/results.json",
        State.NOT_RUN,
        "cannot be read: TypeError('list indices must be integers or slices, not str')",
    ),
    Spoiled(
        "a file is of another form",
        overwrite("faults/results.json", {"lines": []}),
        "Faults",
        "faults/results.json",
        State.NOT_RUN,
        "cannot be read: KeyError('not_run')",
    ),
    Spoiled(
        "a test failed",
        test_case("failure", message="assert 1 == 2"),
        "Inside a real Dynamo",
        "processor.contract.test_contract::test_start",
        State.FAILED,
        "assert 1 == 2",
    ),
    Spoiled(
        "a test was skipped",
        test_case("skipped", message="not run: no Dynamo"),
        "Inside a real Dynamo",
        "processor.contract.test_contract::test_start",
        State.NOT_RUN,
        "not run: no Dynamo",
    ),
    Spoiled(
        "a recorded case was not replayed",
        without_one_render_test,
        "Recorded parity",
        "every case: prompts and refusals",
        State.NOT_RUN,
        "415 of 416 were found equal",
    ),
    Spoiled(
        "a generated request differs",
        overwrite("fuzz/report.json", {**FUZZED_REQUESTS, "mismatches": 1}),
        "Generated requests",
        "no differences",
        State.FAILED,
        "1 differences",
    ),
    Spoiled(
        "few outputs were generated",
        overwrite("fuzz/outputs.json", {**FUZZED_OUTPUTS, "outputs": 1000}),
        "Generated outputs",
        "20000 outputs",
        State.NOT_RUN,
        "only 1000",
    ),
    Spoiled(
        "the two servers answer differently",
        live("DIFF", differences=[DIFFERENCE]),
        "Live parity",
        LIVE_CASE,
        State.FAILED,
        "content\n  reference: 'a'\n  frontend:  'b'",
    ),
    Spoiled("a live test failed", live("FAILED", "boom"), "Live parity", LIVE_CASE, State.FAILED, "boom"),
    Spoiled("a live test was not run", live("not run", "no GPU"), "Live parity", LIVE_CASE, State.NOT_RUN, "no GPU"),
    Spoiled(
        "a file of live tests was not run",
        live_without("test_errors"),
        "Errors and headers",
        "e2e/test_errors.py",
        State.NOT_RUN,
        "none of its tests is in the results",
    ),
    Spoiled(
        "a fault was not mended",
        overwrite("faults/results.json", {"rows": [{**FAULT, "objections": ["1 wrong"]}], "not_run": []}),
        "Faults",
        "worker killed",
        State.FAILED,
        "1 wrong",
    ),
    Spoiled(
        "a fault was left out",
        overwrite("faults/results.json", {"rows": [FAULT], "not_run": ["frontend killed"]}),
        "Faults",
        "frontend killed",
        State.NOT_RUN,
        "not run",
    ),
    Spoiled(
        "a hostile request was answered as it must not be",
        overwrite(
            "hostile/results.json", {**HOSTILE, "violations": 1, "against it": [{"violation": "request 7: 500"}]}
        ),
        "Hostile requests",
        "no violations",
        State.FAILED,
        "request 7: 500",
    ),
    Spoiled(
        "few hostile requests were sent",
        overwrite("hostile/results.json", {**HOSTILE, "requests": 500}),
        "Hostile requests",
        "10000 requests",
        State.NOT_RUN,
        "only 500: a run of part of them is not the full one",
    ),
    Spoiled(
        "a load run does not count",
        overwrite("load/run.json", {**LOAD, "valid": False, "invalid_because": ["it was stopped", "others ran"]}),
        "Load and budgets",
        "the run counts",
        State.NOT_RUN,
        "it was stopped; others ran",
    ),
    Spoiled(
        "a limit of the load did not hold",
        overwrite("load/run.json", {**LOAD, "budgets": [{**BUDGET, "measured": "0.25", "ok": False}]}),
        "Load and budgets",
        "failed requests, the worse server",
        State.FAILED,
        "0.25; at most 0.005",
    ),
    Spoiled(
        "a limit of the load was not checked",
        overwrite("load/run.json", {**LOAD, "budgets": [{**BUDGET, "measured": "no step was run", "ok": None}]}),
        "Load and budgets",
        "failed requests, the worse server",
        State.NOT_RUN,
        "no step was run; at most 0.005",
    ),
    Spoiled(
        "a load run is beside an accepted one of another kind",
        overwrite(
            "load/run.json",
            {**LOAD, "budgets": [{**NOTHING_ACCEPTED, "measured": "the accepted run had another load"}]},
        ),
        "Load and budgets",
        "the same TTFT ratio over the last accepted run's",
        State.NOT_RUN,
        "the accepted run had another load; at most 2",
    ),
    Spoiled(
        "an image has no bill of materials",
        lambda results: (results / "sbom" / "frontend.cdx.json").unlink(),
        "Software bill of materials",
        "software bill of materials: frontend",
        State.NOT_RUN,
        "missing: sbom/frontend.cdx.json",
    ),
    Spoiled(
        "a bill of materials is empty",
        overwrite("sbom/engine.cdx.json", {**BILL, "components": []}),
        "Software bill of materials",
        "software bill of materials: engine",
        State.NOT_RUN,
        "0 packages",
    ),
    Spoiled(
        "something grew",
        overwrite("soak/results.json", {**SOAK, "checks": [{"name": "memory", "ok": False, "said": "1, then 9"}]}),
        "Soak",
        "memory",
        State.FAILED,
        "1, then 9",
    ),
    Spoiled(
        "the soak was short",
        overwrite("soak/results.json", {**SOAK, "minutes": 2.5}),
        "Soak",
        "30 minutes",
        State.NOT_RUN,
        "only 2.5",
    ),
)


@pytest.mark.parametrize("case", SPOILED, ids=[case.name for case in SPOILED])
def test_one_thing_amiss_is_named_and_no_pass(tmp_path: Path, case: Spoiled) -> None:
    whole_folder(tmp_path)
    case.spoil(tmp_path)
    report = report_of(tmp_path)
    amiss = [(part.title, check) for state in (State.FAILED, State.NOT_RUN) for part, check in report.of(state)]
    assert amiss == [(case.part, Check(case.check, case.state, case.why))]


def test_a_change_that_is_not_committed_is_no_pass(tmp_path: Path) -> None:
    whole_folder(tmp_path)
    report = report_of(tmp_path, replace(COMMIT, changed=("Makefile",)))
    assert [check.why for _, check in report.of(State.NOT_RUN)] == ["1 files are not as committed: Makefile"]


@pytest.mark.parametrize(
    ("versions", "scope"),
    [
        ({}, "No live test has run: nothing was asked of a server."),
        (
            {"model": "stand-in"},
            "Of the stand-in checkpoint: the tokenizer of deepseek-ai/DeepSeek-V4-Flash-0731 and no weights. "
            "Its weights were not served.",
        ),
        ({"model": "a/b", "GPUs": "8 x H200"}, "Of a/b on 8 x H200."),
    ],
)
def test_the_scope_is_the_model_that_answered(tmp_path: Path, versions: dict[str, str], scope: str) -> None:
    listed = [{"what": what, "value": value} for what, value in versions.items()]
    if versions:
        write_json(tmp_path / "e2e" / "results.json", {"versions": listed})
    assert scope_of(tmp_path) == scope


def test_every_raw_file_is_in_the_folder(tmp_path: Path) -> None:
    whole_folder(tmp_path)
    write_json(tmp_path / FIXTURE_LIST, fixture_list())
    files = {file for part in report_of(tmp_path).parts for file in part.raw}
    assert [file for file in sorted(files) if not (tmp_path / file).is_file()] == []


def test_host_gaps_stand_apart_with_both_sides(tmp_path: Path) -> None:
    whole_folder(tmp_path)
    (gaps,) = (part for part in report_of(tmp_path).parts if part.title == "Host gaps")
    said = "SGLang: takes it; Dynamo: refuses it"
    assert gaps.checks == (Check("host gap in the request · case · stream", State.PASSED, said),)


def test_a_limit_with_nothing_to_hold_against_is_shown_and_no_check(tmp_path: Path) -> None:
    whole_folder(tmp_path)
    (part,) = (part for part in report_of(tmp_path).parts if part.title == "Load and budgets")
    assert [check.name for check in part.checks] == ["the run counts", "failed requests, the worse server"]
    limits, _ = part.tables
    assert [row[-1] for row in limits.rows] == ["yes", "–"]
    said = (ROOT / "loadtest" / "budgets.py").read_text(encoding="utf-8")
    assert [reason for reason in NOT_APPLICABLE if reason not in said] == []


def test_what_was_measured_in_a_load_run_that_does_not_count_is_not_judged(tmp_path: Path) -> None:
    broken = {**BUDGET, "measured": "0.25", "ok": False}
    write_json(tmp_path / "run.json", {**LOAD, "valid": False, "budgets": [broken]})
    (part,) = load(tmp_path / "run.json")
    assert [check.name for check in part.checks] == ["the run counts"]
    assert part.tables[0].rows == ((*list(broken.values())[:3], "the run does not count"),)


def test_each_step_of_a_load_run_is_a_row_with_a_name_of_its_own(tmp_path: Path) -> None:
    turns = [load_step(0, "frontend", 1), load_step(1, "reference", 4), load_step(2, "frontend", 1)]
    silent = {**load_step(3, "frontend", 2.5), "unit": "requests/s", "itl_p50": None}
    write_json(tmp_path / "run.json", {**LOAD, "steps": [*turns, silent]})
    (part,) = load(tmp_path / "run.json")
    table = part.tables[1]
    assert table.head[0] == "server and load"
    assert len(table.head) == 7
    assert [row[0] for row in table.rows] == [
        "frontend, 1 user",
        "reference, 4 users",
        "frontend, 1 user, turn 2",
        "frontend, 2.5 requests/s",
    ]
    assert table.rows[0][1:] == ("141", "0", "246.9", "130", "246.9", "415.5")
    assert table.rows[3][5] == "–"
    assert part.raw[0] == "load/report.html"


def test_every_image_with_a_bill_of_materials_is_in_the_report() -> None:
    source = ast.parse((ROOT / "stack" / "sbom.py").read_text(encoding="utf-8"))
    (images,) = (
        ast.literal_eval(each.value)
        for each in source.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "IMAGES"
    )
    assert tuple(images) == IMAGES


def test_figures_of_a_command_that_judges_itself(tmp_path: Path) -> None:
    rows = [{"measure": "prefill", "ours": 1.23456, "theirs": None}, {"measure": "stream"}]
    whole_folder(tmp_path)
    write_json(tmp_path / "bench" / "results.json", {"seconds": 9, "rows": rows, "machine": {"cores": 2}})
    (bench,) = (part for part in report_of(tmp_path).parts if part.title == "Benchmarks")
    assert [(figure.name, figure.value) for figure in bench.figures] == [("seconds", "9")]
    (table,) = bench.tables
    assert (table.head, table.rows) == (
        ("measure", "ours", "theirs"),
        (("prefill", "1.235", "null"), ("stream", "", "")),
    )


def test_fixtures_are_listed_with_digest_and_count() -> None:
    listed = {each["file"]: each for each in fixture_list()}
    parity = listed["fixtures/parity/deepseek-v4-flash-0731.json"]
    assert (parity["sglang"], parity["cases"], len(parity["sha256"])) == ("0.5.21", 416, 64)
    assert json.dumps(fixture_list())
