"""Reads what each check left in the results folder, and names what is not there."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from .evidence import Check, Figure, Part, State, Table
from .steps import RECORD, ROOT, STEPS, Ended, log_of, read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .commit import Commit

FIXTURES = ROOT / "fixtures"
ROWS_SHOWN = 60
WANTED = 20_000  # requests, and outputs, of a differential run
UNTIMED = "soak"  # the one check that `make validate` leaves out: it takes 30 minutes


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a command leaves, and what is read from it."""

    title: str
    target: str
    file: str
    read: Callable[[Path], Iterable[Part]]


def read_parts(results: Path, commit: Commit) -> Iterator[Part]:
    """All parts, whether their files are there or not."""
    record = read_record(results)
    yield _what_was_tested(results, commit, record)
    yield from _commands(record)
    for source in SOURCES:
        ended = record.get(source.target)
        path = results / source.file
        try:
            parts = list(source.read(path))
        except FileNotFoundError:
            why = f"missing: `make {source.target}` writes {source.file}"
            yield Part(source.title, checks=(Check(source.file, State.NOT_RUN, why),))
            continue
        except (ElementTree.ParseError, ValueError, LookupError, TypeError, AttributeError) as error:
            why = f"cannot be read: {error!r}"
            yield Part(source.title, (source.file,), (Check(source.file, State.NOT_RUN, why),))
            continue
        if old := _outdated(path.stat().st_mtime, commit, ended):
            parts[0] = replace(parts[0], checks=(Check(source.file, State.NOT_RUN, old), *parts[0].checks))
        yield from parts


def _outdated(written: float, commit: Commit, ended: Ended | None) -> str:
    """Why a file tells nothing of what is checked out; empty where it does."""
    if ended is not None and written < ended.began:
        return f"outdated: {ended.command} did not write it anew"
    if written < commit.time:
        return f"outdated: older than commit {commit.id[:8]}"
    return ""


# ------------------------------------------------------------------------------------------ what was tested, and how


def _what_was_tested(results: Path, commit: Commit, record: dict[str, Ended]) -> Part:
    """Versions, digests and hardware, as the live tests found them, and whether all is of one commit."""
    versions: dict[str, str] = {}
    live = results / LIVE_FILE
    if live.exists():
        versions = {each["what"]: each["value"] for each in _json(live)["versions"]}
    fixtures = _json(next((FIXTURES / "parity").glob("*.json")))
    seen = {f"`{ended.command}`": ended.commit for ended in record.values()}
    if tested := versions.pop("git commit", ""):
        seen["`make e2e`"] = tested
    return Part(
        "What was tested",
        (LIVE_FILE,) if live.exists() else (),
        (_one_commit(commit, seen), *_learned(versions)),
        (
            Figure("git commit", str(commit)),
            Figure("checkpoint", f"{fixtures['model']} @ {fixtures['revision']}"),
            *(Figure(what, value) for what, value in versions.items()),
        ),
    )


def _one_commit(commit: Commit, seen: dict[str, str]) -> Check:
    others = [f"{who} ran on {other}" for who, other in seen.items() if other != commit.id]
    if commit.changed:
        others.append(f"{len(commit.changed)} files are not as committed: {', '.join(commit.changed[:3])}")
    state = State.NOT_RUN if others else State.PASSED
    return Check("all results are of the commit that is checked out", state, "; ".join(others))


def _learned(versions: dict[str, str]) -> Iterator[Check]:
    for what, value in versions.items():
        if value.startswith("unknown"):
            yield Check(what, State.NOT_RUN, value)


def _commands(record: dict[str, Ended]) -> Iterator[Part]:
    """How each step of ``make validate`` ended."""
    checks = []
    for step in STEPS:
        ended = record.get(step.target)
        if ended is None:
            checks.append(Check(step.command, State.NOT_RUN, "`make validate` has not run it"))
        elif ended.status is None:
            checks.append(Check(step.command, State.FAILED, f"was ended after {ended.seconds:.0f} s"))
        elif ended.status:
            checks.append(Check(step.command, State.FAILED, f"exit status {ended.status} after {ended.seconds:.0f} s"))
        else:
            checks.append(Check(step.command, State.PASSED, f"{ended.seconds:.0f} s"))
    raw = (RECORD, *(log_of(target) for target in record)) if record else ()
    yield Part("Every command", raw, tuple(checks), listed=True)


# ------------------------------------------------------------------------------------------------ tests and fixtures


def _tests(title: str) -> Callable[[Path], Iterator[Part]]:
    def read(path: Path) -> Iterator[Part]:
        checks = tuple(_cases(path))
        passed = sum(check.state is State.PASSED for check in checks)
        figures = (Figure("tests passed", f"{passed} of {len(checks)}"),)
        yield Part(title, (f"{path.parent.name}/{path.name}",), checks, figures)

    return read


def _cases(path: Path) -> Iterator[Check]:
    """The test cases of a JUnit file as pytest writes it."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        ends = {child.tag: f"{child.get('message', '')}\n{child.text or ''}".strip() for child in case}
        if "failure" in ends or "error" in ends:
            yield Check(name, State.FAILED, ends.get("failure", ends.get("error", "")))
        elif "skipped" in ends:
            yield Check(name, State.NOT_RUN, ends["skipped"].splitlines()[0])
        else:
            yield Check(name, State.PASSED)


@dataclass(frozen=True, slots=True)
class Family:
    """A family of fixtures, and the tests that replay every case of it."""

    name: str
    folder: str
    cases: tuple[str, ...]
    tests: tuple[str, ...]


_TESTS = "processor.tests."
FAMILIES = (
    Family("render", "parity", ("cases",), (f"{_TESTS}test_render_parity::test_processor_does_what_sglang_does",)),
    Family(
        "reasoning",
        "reasoning_parity",
        ("cases",),
        (
            f"{_TESTS}test_parse_reasoning::test_unary_output_splits_as_recorded",
            f"{_TESTS}test_parse_reasoning::test_streamed_output_splits_as_recorded_for_every_cut",
        ),
    ),
    Family(
        "tool calls",
        "tool_parity",
        ("cases",),
        (
            f"{_TESTS}test_parse_tools::test_unary_calls_as_recorded",
            f"{_TESTS}test_parse_tools::test_streamed_calls_as_recorded_for_every_cut",
        ),
    ),
    Family(
        "reasoning and tool calls",
        "tool_parity",
        ("combined",),
        (
            f"{_TESTS}test_parse_tools::test_unary_message_as_the_server_recorded_it",
            f"{_TESTS}test_parse_tools::test_streamed_message_as_the_server_recorded_it_for_every_cut",
        ),
    ),
    Family(
        "OpenAI answers",
        "openai_parity",
        ("cases",),
        (f"{_TESTS}test_openai_parity::test_unary", f"{_TESTS}test_openai_parity::test_stream"),
    ),
)


def _recorded(junit: Path) -> Iterator[Part]:
    """How many recorded cases there are, and how many the tests found equal."""
    equal = Counter(check.name.partition("[")[0] for check in _cases(junit) if check.state is State.PASSED)
    checks, rows, known = [], [], []
    for family in FAMILIES:
        recorded = [case for path in _files(family.folder) for key in family.cases for case in _json(path)[key]]
        known += [case for case in recorded if "known_gap" in case]
        found = [equal[test] for test in family.tests]
        lacking = min(found) < len(recorded)
        why = f"{min(found)} of {len(recorded)} were found equal" if lacking else ""
        checks.append(Check(f"every recorded case: {family.name}", State.NOT_RUN if lacking else State.PASSED, why))
        modes = [str(count) for count in found] if len(found) == 2 else [str(found[0]), "–"]
        rows.append((family.name, str(len(recorded)), *modes))
    yield Part(
        "Recorded parity",
        (f"{junit.parent.name}/{junit.name}", FIXTURE_LIST),
        tuple(checks),
        tables=(
            Table("Cases equal to SGLang's", ("family", "recorded", "equal, unary", "equal, streamed"), tuple(rows)),
            Table("Known gaps", ("case", "why"), tuple((case["name"], case["known_gap"]) for case in known), KNOWN),
        ),
    )


KNOWN = "Recorded cases in which the processor differs, for a reason that is out of its reach."
FIXTURE_LIST = "report/fixtures.json"


def fixture_list() -> list[dict[str, Any]]:
    """Each fixture file with its digest, what recorded it, and how many cases it has."""
    listed = []
    for path in sorted(FIXTURES.glob("*/*.json")):
        content = _json(path)
        cases = sum(len(content[key]) for key in ("cases", "combined", "refusals") if key in content)
        listed.append(
            {
                "file": str(path.relative_to(ROOT)),
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "sglang": content.get("sglang"),
                "cases": cases or len(content),
            }
        )
    return listed


def _files(folder: str) -> list[Path]:
    return sorted((FIXTURES / folder).glob("*.json"))


# ---------------------------------------------------------------------------------------------------- differential


def _requests(path: Path) -> Iterator[Part]:
    found = _json(path)
    yield Part(
        "Generated requests",
        (f"fuzz/{path.name}",),
        (
            _none("differences", found["mismatches"]),
            _enough("requests", found["requests"]),
        ),
        (
            Figure("requests compared", str(found["requests"])),
            Figure("of them accepted", str(found["accepted"])),
            Figure("checkpoints compared", str(found["checkpoints"])),
            Figure("differences", str(found["mismatches"])),
            Figure("of the renderer's lines and branches reached", f"{found['coverage']['percent']} %"),
            Figure("seed", str(found["seed"])),
        ),
    )


def _outputs(path: Path) -> Iterator[Part]:
    found = _json(path)  # it is written where no difference was found
    yield Part(
        "Generated outputs",
        (f"fuzz/{path.name}",),
        (_enough("outputs", found["outputs"]),),
        (
            Figure("outputs compared", str(found["outputs"])),
            Figure("readings of them, unary and streamed", str(found["readings"])),
            Figure("texts compared", str(found["texts"])),
            Figure("texts in which SGLang repeats itself", str(found["repeated_by_sglang"])),
            Figure("seed", str(found["seed"])),
        ),
    )


def _none(what: str, count: int) -> Check:
    return Check(f"no {what}", State.FAILED if count else State.PASSED, f"{count} {what}" if count else "")


def _enough(what: str, count: int) -> Check:
    why = "" if count >= WANTED else f"only {count}"
    return Check(f"{WANTED} {what}", State.NOT_RUN if why else State.PASSED, why)


# ---------------------------------------------------------------------------------------------------------- live

LIVE_FILE = "e2e/results.json"
LIVE_TITLES = {
    "test_parity": "Live parity",
    "test_recorded": "Live parity",
    "test_errors": "Errors and headers",
    "test_headers": "Errors and headers",
}
LIVE_REST = "The rest of the live tests"
GAPS = "Host gaps"
_LIVE_STATES = {"ok": State.PASSED, "DIFF": State.FAILED, "FAILED": State.FAILED, "not run": State.NOT_RUN}


def _live(path: Path) -> Iterator[Part]:
    """The live tests by what they show, host gaps apart; the figures that they found."""
    found = _json(path)
    parts: defaultdict[str, list[Check]] = defaultdict(list)
    rows: defaultdict[str, Counter[tuple[str, State]]] = defaultdict(Counter)
    for each in found["checks"]:
        title = GAPS if "host gap" in each["group"] else LIVE_TITLES.get(each["file"], LIVE_REST)
        name = " · ".join(part for part in (each["group"], each["name"], each["mode"]) if part)
        check = Check(name, _LIVE_STATES[each["outcome"]], _live_reason(each))
        parts[title].append(check)
        rows[title][each["group"], check.state] += 1
    ran = {each["file"] for each in found["checks"]}
    for file in sorted((ROOT / "e2e").glob("test_*.py")):
        if file.stem not in ran:
            title = LIVE_TITLES.get(file.stem, LIVE_REST)
            parts[title].append(Check(f"e2e/{file.name}", State.NOT_RUN, "none of its tests is in the results"))
    for title in dict.fromkeys((*LIVE_TITLES.values(), LIVE_REST, GAPS)):
        groups = dict.fromkeys(group for group, _ in rows[title])
        counts = tuple((group, *(str(rows[title][group, state]) for state in State)) for group in groups)
        table = Table("", ("test", *State), counts)
        yield Part(title, (LIVE_FILE,), tuple(parts[title]), tables=(table,), listed=title == GAPS)
    for figure in found["figures"]:
        rows_of = tuple(tuple(row) for row in figure["rows"])
        table = Table("", tuple(figure["head"]), rows_of, figure["note"])
        yield Part(figure["title"], (LIVE_FILE,), tables=(table,))


def _live_reason(check: dict[str, Any]) -> str:
    lines = [check["reason"]] if check["reason"] else []
    for each in check["differences"]:
        lines += [each["field"], f"  reference: {each['reference']}", f"  frontend:  {each['frontend']}"]
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------- faults and figures


def _faults(path: Path) -> Iterator[Part]:
    found = _json(path)
    checks = [Check(name, State.NOT_RUN, "not run") for name in found["not_run"]]
    for row in found["rows"]:
        state = State.FAILED if row["objections"] else State.PASSED
        checks.append(Check(row["fault"], state, "; ".join(row["objections"])))
    head = ("fault", "right", "error", "hung", "wrong", "recovery", "errors")
    rows = tuple(
        (
            row["fault"],
            *(str(row["counts"][outcome]) for outcome in head[1:5]),
            "none" if row["recovery"] is None else f"{row['recovery']:.0f} s",
            row["errors"],
        )
        for row in found["rows"]
    )
    yield Part("Faults", (f"faults/{path.name}",), tuple(checks), tables=(Table("", head, rows),))


def _figures(title: str) -> Callable[[Path], Iterator[Part]]:
    """Any JSON: its plain values as figures, its lists of objects as tables. How it ended, its command says."""

    def read(path: Path) -> Iterator[Part]:
        found = _json(path)
        content = found if isinstance(found, dict) else {"": found}
        folder = path.parent
        raw = sorted(str(file.relative_to(folder.parent)) for file in folder.rglob("*") if file.is_file())
        figures = tuple(Figure(key, str(value)) for key, value in content.items() if not isinstance(value, list | dict))
        tables = tuple(
            _table(key, value)
            for key, value in content.items()
            if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
        )
        checks = (Check(f"{folder.name}/{path.name}", State.PASSED, "is there"),)
        yield Part(title, tuple(raw[:ROWS_SHOWN]), checks, figures, tables)

    return read


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    head = tuple(dict.fromkeys(key for row in rows for key in row))
    shown = tuple(tuple(_text(row.get(key, "")) for key in head) for row in rows[:ROWS_SHOWN])
    note = f"{ROWS_SHOWN} of {len(rows)} rows" if len(rows) > ROWS_SHOWN else ""
    return Table(title, head, shown, note)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


SOURCES = (
    Source("Recorded parity", "test", "test/junit.xml", _recorded),
    Source("Fast tests", "test", "test/junit.xml", _tests("Fast tests")),
    Source("Inside a real Dynamo", "contract", "contract/junit.xml", _tests("Inside a real Dynamo")),
    Source("Generated requests", "fuzz", "fuzz/report.json", _requests),
    Source("Generated outputs", "fuzz-outputs", "fuzz/outputs.json", _outputs),
    Source("Live tests", "e2e", LIVE_FILE, _live),
    Source("Faults", "faults", "faults/results.json", _faults),
    Source("Hostile requests", "hostile", "hostile/results.json", _figures("Hostile requests")),
    Source("Benchmarks", "bench", "bench/results.json", _figures("Benchmarks")),
    Source("Load and budgets", "load", "load/results.json", _figures("Load and budgets")),
    Source("Soak", UNTIMED, "soak/results.json", _figures("Soak")),
)
