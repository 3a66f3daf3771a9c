"""Grammars at work: a script that breaks the rules comes out held to them, alike on both servers.

The stand-in checkpoint means to say its script. Where a grammar does not let it, it says the first thing that is
allowed, so each answer below is the grammar's doing. All are finite: what may be said is enumerated.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from .cases import PARIS, PARIS_AND_ORDERS, THINKING, THOUGHTS, TOOLS, WEATHER, call_block, carried, user
from .compare import Answer, AnswersDifferError, Choice, ToolCall, differences, read_events
from .servers import MODES, Body, Mode, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .servers import Server
    from .stack import Stack

NO = "I would rather not."
LIMIT = 400  # far above what any of the answers needs


@dataclass(frozen=True, slots=True)
class Constrained:
    """A request with a constraint, and what becomes of a script under it.

    Attributes:
        name: id of the test.
        script: what the model means to say.
        fields: the constraint, as SGLang takes it at the top of a request.
        content: the content of the answer.
        calls: its tool calls.
        is_carried: whether Dynamo's front lets the constraint through in ``chat_template_kwargs.sglang`` only.
    """

    name: str
    script: str
    fields: Body
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_carried: bool = False


def named(name: str) -> Body:
    return {"tool_choice": {"type": "function", "function": {"name": name}}}


def closed(**properties: Any) -> Body:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def strict(name: str, **properties: Any) -> Body:
    return {"type": "function", "function": {"name": name, "strict": True, "parameters": closed(**properties)}}


def json_schema(schema: Body) -> Body:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}}


FORECAST = strict("get_weather", city={"enum": ["Rome", "Paris"]}, days={"enum": [1, 3, 7]})
OSLO = call_block(("get_weather", {"city": "Oslo", "days": 30}))
ANSWER = json_schema(closed(zeta={"enum": ["x", "y"]}, alpha={"enum": [1, 2]}))
YES_OR_NO = {"type": "or", "elements": [{"type": "const_string", "value": value} for value in ("yes", "no")]}


def _constrained() -> Iterator[Constrained]:
    required: Body = {**TOOLS, "tool_choice": "required"}
    no_weather = (ToolCall("get_weather", "{}"),)
    paris = (ToolCall("get_weather", '{"city": "Paris"}'),)
    orders = (ToolCall("search_db", '{"table": "orders", "limit": 10}'),)
    yield Constrained("required-forces-a-call", NO, required, calls=no_weather)
    yield Constrained("required-lets-calls-through", f"\n\n{PARIS_AND_ORDERS}", required, calls=paris + orders)
    one = required | {"parallel_tool_calls": False}
    yield Constrained("required-one-call", f"\n\n{PARIS_AND_ORDERS}", one, calls=paris)
    forecast: Body = {"tools": [FORECAST]}
    rome = (ToolCall("get_weather", '{"city": "Rome", "days": 1}'),)
    yield Constrained("required-strict", NO, {**forecast, "tool_choice": "required"}, calls=rome)
    yield Constrained(
        "named-forces-that-call", NO, {**TOOLS, **named("search_db")}, calls=(ToolCall("search_db", "{}"),)
    )
    yield Constrained(
        "named-in-place-of-another", f"\n\n{PARIS}", TOOLS | named("search_db"), calls=(ToolCall("search_db", "{}"),)
    )
    yield Constrained("named-strict", f"\n\n{OSLO}", forecast | named("get_weather"), calls=rome)
    one_strict: Body = {**forecast, "parallel_tool_calls": False}
    yield Constrained("strict-arguments", f"Look.\n\n{OSLO}", one_strict, content="Look.", calls=rome)
    unknown = call_block(("no_such_tool", {"a": 1}))
    yield Constrained("strict-name", f"Look.\n\n{unknown}", one_strict, content="Look.", calls=rome)
    yield Constrained("strict-text-stays-free", NO, forecast, content=NO)
    yield Constrained("no-strict-tool-no-constraint", f"Look.\n\n{unknown}", {"tools": [WEATHER]}, content="Look.")

    json_object: Body = {"response_format": {"type": "json_object"}}
    dangling = '{"a": [1, 2], "b": {"c": null}}'
    yield Constrained("json-object-ends-where-it-closes", f"{dangling} That is it.", json_object, content=dangling)
    yield Constrained("json-object-beside-tools", f"{dangling}!", {**json_object, **TOOLS}, content=dangling)
    yield Constrained("json-schema-forces-an-object", NO, ANSWER, content='{"zeta":"x","alpha":1}')
    whole = '{"zeta": "y", "alpha": 2}'
    yield Constrained("json-schema-lets-an-object-through", f"{whole} and so on", ANSWER, content=whole)
    yield Constrained("json-schema-wins-over-strict-tools", f"{whole} and so on", ANSWER | forecast, content=whole)

    def carries(name: str, script: str, content: str, **fields: Any) -> Constrained:
        return Constrained(name, script, fields, content=content, is_carried=True)

    sequence = {"type": "sequence", "elements": [{"type": "const_string", "value": "Answer: "}, YES_OR_NO]}
    yield carries("structural-tag", NO, "Answer: no", response_format={"type": "structural_tag", "format": sequence})
    older = {
        "type": "structural_tag",
        "structures": [{"begin": "<city>", "schema": {"enum": ["Rome", "Paris"]}, "end": "</city>"}],
        "triggers": ["<city>"],
    }
    yield carries("structural-tag-older", "In <city>Oslo</city>.", "", response_format=older)
    yield carries("regex", NO, "000-aa", regex="[0-9]{3}-[a-z]{2}")
    yield carries("ebnf", NO, "no", ebnf='root ::= "yes" | "no"')


CONSTRAINED = tuple(_constrained())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("thinking", [False, True], ids=["", "after-reasoning"])
@pytest.mark.parametrize("case", CONSTRAINED, ids=lambda case: str(case.name))
def test_an_output_is_held_to_its_constraint(stack: Stack, case: Constrained, thinking: bool, mode: Mode) -> None:
    """The reasoning before it is free."""
    needs_the_stand_in(stack)
    script = f"{THOUGHTS}</think>{case.script}" if thinking else case.script
    body = {"messages": [user("Go.", script)], "max_tokens": LIMIT, **case.fields, **(THINKING if thinking else {})}

    reference = stack.reference.ask(body, mode)
    frontend = stack.frontend.ask(carried(body) if case.is_carried else body, mode)
    assert isinstance(reference, Answer), f"the reference refuses the request: {reference}"
    found = differences(reference, frontend)
    if found:
        raise AnswersDifferError(found)
    assert reference.choices == (
        Choice(
            content=case.content,
            reasoning_content=THOUGHTS if thinking else "",
            tool_calls=case.calls,
            finish_reason="tool_calls" if case.calls else "stop",
        ),
    )


@dataclass(frozen=True, slots=True)
class BadGrammar:
    """A constraint that xgrammar cannot compile, found by the worker.

    Attributes:
        name: id of the test.
        fields: the constraint.
        says: text of the refusal.
        is_carried: see ``Constrained``.
    """

    name: str
    fields: Body
    says: str
    is_carried: bool = False


BAD_GRAMMARS = (
    BadGrammar("E02-json-schema", json_schema({"type": "objectx"}), 'Unsupported type "objectx"'),
    BadGrammar("E02-json-schema-feature", json_schema({"type": "array", "uniqueItems": True}), "uniqueItems"),
    BadGrammar("E02-regex", {"regex": "(a"}, "The parenthesis is not closed", is_carried=True),
    BadGrammar("E02-ebnf", {"ebnf": "root ::="}, "EBNF parser error", is_carried=True),
    BadGrammar(
        "E02-structural-tag",
        {"response_format": {"type": "structural_tag", "format": {"type": "regex", "pattern": "(a"}}},
        "The parenthesis is not closed",
        is_carried=True,
    ),
    BadGrammar(
        "E02-strict-tool",
        {"tools": [strict("f", x={"type": "string", "pattern": "(a"})], "tool_choice": "required"},
        "The parenthesis is not closed",
    ),
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", BAD_GRAMMARS, ids=lambda case: case.name)
def test_a_bad_grammar_is_refused_in_the_same_words(stack: Stack, case: BadGrammar, mode: Mode) -> None:
    """400 and xgrammar's message; a streamed request too, where SGLang answers 200 with the error in the stream."""
    body = {"messages": [user("Hi")], "max_tokens": 4, **case.fields}
    reference = refused(stack.reference, body, mode)
    frontend = refused(stack.frontend, carried(body) if case.is_carried else body, mode)
    assert case.says in reference["message"]
    assert (frontend["code"], frontend["message"]) == (reference["code"], reference["message"])
    assert reference["code"] == 400


def refused(server: Server, body: Body, mode: Mode) -> dict[str, Any]:
    """The JSON of a refusal, or of the error event in a stream, without the time at which the grammar was compiled."""
    with server.open(body, mode) as response:
        if response.status_code == 200:
            error = next(read_events(response.iter_bytes()))["error"]
        else:
            error = json.loads(refusal(response).body)
    return {**error, "message": re.sub(r"\[\d\d:\d\d:\d\d\] ", "", error["message"])}


def needs_the_stand_in(stack: Stack) -> None:
    if stack.reference.model != "stand-in":
        pytest.skip(f"not run: only the stand-in checkpoint follows a script, this is {stack.reference.model}")
