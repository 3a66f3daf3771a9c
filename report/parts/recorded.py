"""The fixtures: how many cases SGLang recorded, and how many of them the tests found equal."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stand.evidence import Check, Part, State, Table
from stand.repository import ROOT

from .tests import cases_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIXTURES = ROOT / "fixtures"
FIXTURE_LIST = "report/fixtures.json"
ELSEWHERE = ("host_gaps", "refusals")  # held by the live tests, which report them
UNKNOWN = "the report knows no test that replays it"
KNOWN = "Recorded cases in which the processor differs, for a reason that is out of its reach."


@dataclass(frozen=True, slots=True)
class Family:
    """Recorded cases, and the tests that replay every one of them.

    Attributes:
        folder, key: where the cases are: in the fixtures of this folder, under this key.
        module: the tests' module.
        unary, stream: the test of each mode; no ``stream`` where a case has no mode.
    """

    name: str
    folder: str
    key: str
    module: str
    unary: str
    stream: str = ""


FAMILIES = (
    Family("prompts and refusals", "parity", "cases", "test_render_parity", "test_processor_does_what_sglang_does"),
    Family(
        "reasoning",
        "reasoning_parity",
        "cases",
        "test_parse_reasoning",
        "test_unary_output_splits_as_recorded",
        "test_streamed_output_splits_as_recorded_for_every_cut",
    ),
    Family(
        "tool calls",
        "tool_parity",
        "cases",
        "test_parse_tools",
        "test_unary_calls_as_recorded",
        "test_streamed_calls_as_recorded_for_every_cut",
    ),
    Family(
        "reasoning and tool calls",
        "tool_parity",
        "combined",
        "test_parse_tools",
        "test_unary_message_as_the_server_recorded_it",
        "test_streamed_message_as_the_server_recorded_it_for_every_cut",
    ),
    Family(
        "sampling and constraints",
        "sampling_parity",
        "cases",
        "test_sampling_parity",
        "test_the_engine_gets_what_sglang_would_give_it",
    ),
    Family("OpenAI answers", "openai_parity", "cases", "test_openai_parity", "test_unary", "test_stream"),
)


def recorded_parity(junit: Path) -> Iterator[Part]:
    """How many cases of each family are recorded, and how many the tests of ``junit`` found equal."""
    equal = Counter(check.name.partition("[")[0] for check in cases_of(junit) if check.state is State.PASSED)
    checks: list[Check] = []
    rows: list[tuple[str, ...]] = []
    known: list[tuple[str, str]] = []
    for family in FAMILIES:
        cases = list(_cases(family))
        tests = [test for test in (family.unary, family.stream) if test]
        found = [equal[f"processor.tests.{family.module}::{test}"] for test in tests]
        lacking = min(found) < len(cases) or not cases
        why = f"{min(found)} of {len(cases)} were found equal" if lacking else ""
        checks.append(Check(f"every case: {family.name}", State.NOT_RUN if lacking else State.PASSED, why))
        rows.append((family.name, str(len(cases)), *map(str, found), *["–"] * (2 - len(found))))
        known += [(case["name"], case["known_gap"]) for case in cases if "known_gap" in case]
    listed = {*ELSEWHERE, *(family.folder for family in FAMILIES)}
    unknown = {path.parent.name for path in FIXTURES.glob("*/*.json")} - listed
    yield Part(
        "Recorded parity",
        (f"test/{junit.name}", FIXTURE_LIST),
        (*checks, *(Check(f"fixtures/{name}", State.NOT_RUN, UNKNOWN) for name in sorted(unknown))),
        tables=(
            Table("Cases equal to SGLang's", ("family", "recorded", "equal, unary", "equal, streamed"), tuple(rows)),
            Table("Known gaps", ("case", "why"), tuple(known), KNOWN),
        ),
    )


def _cases(family: Family) -> Iterator[dict[str, Any]]:
    for path in sorted((FIXTURES / family.folder).glob("*.json")):
        yield from json.loads(path.read_text(encoding="utf-8"))[family.key]


def fixture_list() -> list[dict[str, Any]]:
    """Each fixture with its digest, the SGLang that it was recorded from, and how many cases it has."""
    listed = []
    for path in sorted(FIXTURES.glob("*/*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        listed.append(
            {
                "file": str(path.relative_to(ROOT)),
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "sglang": content.get("sglang"),
                "cases": sum(len(content[key]) for key in ("cases", "combined", "refusals") if key in content),
            }
        )
    return listed
