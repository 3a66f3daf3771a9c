"""The same request to both servers, unary and streamed: the answers are the same, field by field."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stand.answers import Answer, AnswersDifferError, Difference, Refusal, differences, read_events
from stand.cases import CARRIED, CASES, TOGETHER, Case, carried
from stand.repository import ROOT
from stand.servers import MODES, Body, Mode, Server

from .gaps import EVERY_FIELD, FIELD_GAPS, REQUEST_GAPS, FieldGap, RequestGap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from stand.stack import Stack


ANSWERS = ROOT / "fixtures" / "openai_parity" / "deepseek-v4-flash-0731.json"


def recorded_answers() -> Iterator[Case]:
    for case in json.loads(ANSWERS.read_text(encoding="utf-8"))["cases"]:
        yield Case(case["name"], {key: value for key, value in case["request"].items() if key != "model"})


RECORDED = tuple(recorded_answers())


def in_its_modes(cases: Iterable[Case] | Iterable[RequestGap] | Iterable[FieldGap]) -> list[Any]:
    return [pytest.param(case, mode, id=f"{case.name}-{mode}") for case in cases for mode in case.modes]


@pytest.mark.parametrize(("case", "mode"), in_its_modes(CASES))
def test_parity(stack: Stack, case: Case, mode: Mode) -> None:
    """A client cannot tell the two apart."""
    hold_alike(stack, case, mode, for_frontend=case.body)


@pytest.mark.parametrize(("case", "mode"), in_its_modes(CARRIED))
def test_parity_of_carried_fields(stack: Stack, case: Case, mode: Mode) -> None:
    """What Dynamo's front refuses at the top of a request means the same in ``chat_template_kwargs.sglang``."""
    hold_alike(stack, case, mode, for_frontend=carried(case.body))


@pytest.mark.parametrize(("case", "mode"), in_its_modes(RECORDED))
def test_parity_of_recorded_answers(stack: Stack, case: Case, mode: Mode) -> None:
    """The requests of ``fixtures/openai_parity``, whose answers are recorded, live."""
    if mode == "unary":  # as it was recorded: without an option that streams alone have
        case = replace(case, body={key: value for key, value in case.body.items() if key != "stream_options"})
    hold_alike(stack, case, mode, for_frontend=carried(case.body))


def hold_alike(stack: Stack, case: Case, mode: Mode, for_frontend: Body) -> None:
    if case.scripted and stack.reference.model != "stand-in":
        pytest.skip(f"not run: only the stand-in checkpoint follows a script, this is {stack.reference.model}")
    reference, frontend = stack.reference.ask(case.body, mode), stack.frontend.ask(for_frontend, mode)

    assert isinstance(reference, Answer), f"the reference refuses the request: {reference}"
    assert not case.needs or reference.holds(case.needs), f"the reference does not say {case.needs!r}: {reference}"
    found = differences(reference, frontend, prompts=case.ids_spell_prompt)
    if found:
        raise AnswersDifferError(found)


@pytest.mark.parametrize("mode", MODES)
def test_batching_changes_no_answer(stack: Stack, mode: Mode) -> None:
    """16 requests, one by one and then all at once, at both servers: four times the same answers."""
    if stack.reference.model != "stand-in":
        pytest.skip("not run: only the stand-in checkpoint answers the same whatever is batched")

    def alone(server: Server) -> list[Answer | Refusal]:
        return [server.ask(case.body, mode) for case in TOGETHER]

    def at_once(server: Server) -> list[Answer | Refusal]:
        with ThreadPoolExecutor(len(TOGETHER)) as pool:
            return list(pool.map(lambda case: server.ask(case.body, mode), TOGETHER))

    expected = alone(stack.reference)
    runs = {
        "reference, at once": at_once(stack.reference),
        "frontend, alone": alone(stack.frontend),
        "frontend, at once": at_once(stack.frontend),
    }
    found = [
        Difference(f"{run}: {case.name}: {difference.field}", difference.reference, difference.frontend)
        for run, answers in runs.items()
        for case, one, other in zip(TOGETHER, expected, answers, strict=True)
        for difference in differences(one, other)
    ]
    if found:
        raise AnswersDifferError(found)


@pytest.mark.parametrize(("gap", "mode"), in_its_modes(REQUEST_GAPS))
def test_host_gap_in_the_request(
    stack: Stack, gap: RequestGap, mode: Mode, record_property: Callable[[str, object], None]
) -> None:
    """What Dynamo refuses, rewrites before the processor sees it, or loses, is as listed."""
    record_property("note", f"SGLang: {gap.sglang}; Dynamo: {gap.dynamo}")
    reference, frontend = stack.reference.ask(gap.body, mode), stack.frontend.ask(gap.body, mode)

    assert status(reference) == gap.reference_status, f"not as listed, SGLang {gap.sglang}: {reference}"
    assert status(frontend) == gap.frontend_status, f"not as listed, Dynamo {gap.dynamo}: {frontend}"
    if isinstance(frontend, Refusal):
        assert gap.frontend_says in frontend.message
    if isinstance(reference, Answer) and isinstance(frontend, Answer):
        assert differences(reference, frontend), f"the gap has closed: both answer {reference}"
        assert gap.only_reference in reference.prompt
        assert gap.only_frontend in frontend.prompt
        assert not gap.only_reference or gap.only_reference not in frontend.prompt
        assert not gap.only_frontend or gap.only_frontend not in reference.prompt


@pytest.mark.parametrize(("gap", "mode"), in_its_modes(FIELD_GAPS))
def test_host_gap_in_the_answer(
    stack: Stack, gap: FieldGap, mode: Mode, record_property: Callable[[str, object], None]
) -> None:
    """What Dynamo's front has no place for in an answer is as listed."""
    record_property("note", f"sent by the {gap.sent_by} alone: {gap.why}")
    sent = {
        server.name for server in (stack.reference, stack.frontend) if gap.name in sent_fields(server, gap.body, mode)
    }
    assert sent == {gap.sent_by}, f"not as listed, {gap.sent_by} alone sends it: {gap.why}"


@pytest.mark.parametrize("mode", MODES)
def test_no_other_field_of_an_answer_differs(stack: Stack, mode: Mode) -> None:
    """An answer of one server has a field that the other's lacks only where that is a listed host gap."""
    differing = sent_fields(stack.reference, EVERY_FIELD, mode) ^ sent_fields(stack.frontend, EVERY_FIELD, mode)
    listed = {gap.name for gap in FIELD_GAPS if mode in gap.modes}
    assert {path for path in differing if not any(f"{path}.".startswith(f"{name}.") for name in listed)} == set()


def status(answer: Answer | Refusal) -> int:
    return answer.status if isinstance(answer, Refusal) else 200


def sent_fields(server: Server, body: Body, mode: Mode) -> set[str]:
    """The paths of all fields in an answer's JSON that are not null."""
    extras = {"stream_options": {"include_usage": True}} if mode == "stream" else {}
    with server.open({**body, **extras}, mode) as response:
        parts = [json.loads(response.read())] if mode == "unary" else list(read_events(response.iter_bytes()))
    return {path for part in parts for path in _paths("", part)}


def _paths(path: str, value: Any) -> Iterator[str]:
    if value is None:
        return
    if path:
        yield path.removesuffix("[]")
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(f"{path}.{key}" if path else key, item)
    elif isinstance(value, list):
        for item in value:
            yield from _paths(f"{path}[]", item)
