"""Grammars at work: a script that breaks the rules comes out held to them, alike on both servers.

The stand-in checkpoint means to say its script, token by token. Where a grammar does not let it, it says the first
token that is allowed and goes on with the script, so a script that breaks a rule in one token comes out mended.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from stand.answers import Answer, AnswersDifferError, Choice, StreamFailedError, ToolCall, differences, read_events
from stand.cases import PARIS_AND_ORDERS, THINKING, THOUGHTS, TOOLS, call_block, carried, user
from stand.servers import MODES, Body, Mode, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stand.servers import Server
    from stand.stack import Stack

NO = "I would rather not."
LIMIT = 160  # above what any of the answers needs


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


def f(arguments: str) -> tuple[ToolCall, ...]:
    return (ToolCall("f", arguments),)


def g(arguments: str) -> tuple[ToolCall, ...]:
    return (ToolCall("g", arguments),)


ONE_OR_THREE = {"enum": [1, 3]}
F, G = strict("f", x=ONE_OR_THREE), strict("g", x=ONE_OR_THREE)
CALL_F, CALL_G = (call_block((name, {"x": 3})) for name in "fg")
TOO_MUCH = call_block(("f", {"x": 30}))


def _constrained() -> Iterator[Constrained]:
    yield from _required()
    yield from _named()
    yield from _strict()
    yield from _response_formats()
    yield from _carried()


def _required() -> Iterator[Constrained]:
    required: Body = {**TOOLS, "tool_choice": "required"}
    paris = ToolCall("get_weather", '{"city": "Paris"}')
    orders = ToolCall("search_db", '{"table": "orders", "limit": 10}')
    both = f"\n\n{PARIS_AND_ORDERS}"
    yield Constrained("required-in-place-of-text", NO, required, calls=(ToolCall("get_weather", "{}"),))
    yield Constrained("required-as-it-comes", both, required, calls=(paris, orders))
    yield Constrained("required-one-call", both, {**required, "parallel_tool_calls": False}, calls=(paris,))
    forced: Body = {"tools": [F], "tool_choice": "required"}
    yield Constrained("required-strict-arguments", f"\n\n{TOO_MUCH}", forced, calls=f('{"x": 1}'))
    yield Constrained("required-unknown-name", f"\n\n{CALL_G}", forced, calls=f('{"x": 3}'))


def _named() -> Iterator[Constrained]:
    tools: Body = {"tools": [F, G]}
    yield Constrained("named-in-place-of-another", f"\n\n{CALL_F}", {**tools, **named("g")}, calls=g('{"x": 3}'))
    yield Constrained("named-strict-arguments", f"\n\n{TOO_MUCH}", {**tools, **named("f")}, calls=f('{"x": 1}'))


def _strict() -> Iterator[Constrained]:
    tools: Body = {"tools": [F]}
    yield Constrained("strict-arguments", f"Look.\n\n{TOO_MUCH}", tools, content="Look.", calls=f('{"x": 1}'))
    yield Constrained("strict-name", f"Look.\n\n{CALL_G}", tools, content="Look.", calls=f('{"x": 3}'))
    yield Constrained("strict-text-is-free", NO, tools, content=NO)
    one: Body = {**tools, "parallel_tool_calls": False}
    yield Constrained("strict-one-call", f"{CALL_F}\n\n{CALL_F}", one, calls=f('{"x": 3}'))
    free: Body = {"tools": [{"type": "function", "function": {**F["function"], "strict": False}}]}
    yield Constrained("not-strict", f"Look.\n\n{TOO_MUCH}", free, content="Look.", calls=f('{"x": 30}'))


def _response_formats() -> Iterator[Constrained]:
    json_object: Body = {"response_format": {"type": "json_object"}}
    whole = '{"a": [1, 2], "b": {"c": null}}'
    yield Constrained("json-object-ends-where-it-closes", f"{whole} That is it.", json_object, content=whole)
    yield Constrained("json-object-beside-tools", f"{whole}!", {**json_object, **TOOLS}, content=whole)
    schema = json_schema(closed(x=ONE_OR_THREE))
    yield Constrained("json-schema-value", '{"x": 30}', schema, content='{"x": 1}')
    yield Constrained("json-schema-key", '{"y": 3} and so on', schema, content='{"x": 3}')
    yield Constrained("json-schema-wins-over-strict-tools", '{"x": 30}', {**schema, "tools": [F]}, content='{"x": 1}')
    ordered = json_schema(closed(b=ONE_OR_THREE, a=ONE_OR_THREE))
    yield Constrained("json-schema-order-of-keys", '{"a": 3, "b": 3}', ordered, content='{"b": 3, "a": 3}')


def _carried() -> Iterator[Constrained]:
    def carries(name: str, script: str, content: str, **fields: Any) -> Constrained:
        return Constrained(name, script, fields, content=content, is_carried=True)

    const = {"type": "const_string", "value": "x = "}
    number = {"type": "json_schema", "json_schema": ONE_OR_THREE}
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": [const, number]}}
    yield carries("structural-tag", "x = 30 or so", "x = 1", response_format=tag)
    older = {
        "type": "structural_tag",
        "structures": [{"begin": "<n>", "schema": ONE_OR_THREE, "end": "</n>"}],
        "triggers": ["<n>"],
    }
    yield carries("structural-tag-of-the-older-shape", "It is <n>30</n>.", "It is <n>1</n>.", response_format=older)
    yield carries("regex", NO, "000-aa", regex="[0-9]{3}-[a-z]{2}")
    yield carries("ebnf", NO, "no", ebnf='root ::= "yes" | "no"')


CONSTRAINED = tuple(_constrained())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", ["alone", "after reasoning"])
@pytest.mark.parametrize("case", CONSTRAINED, ids=lambda case: str(case.name))
def test_an_output_is_held_to_its_constraint(stack: Stack, case: Constrained, place: str, mode: Mode) -> None:
    """The reasoning before it is free."""
    if stack.reference.model != "stand-in":
        pytest.skip(f"not run: only the stand-in checkpoint follows a script, this is {stack.reference.model}")
    thinking = place == "after reasoning"
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
        {"tools": [strict("f", x={"type": "string", "pattern": "(?=a)b"})], "tool_choice": "required"},
        "Lookahead is not supported",
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
            with pytest.raises(StreamFailedError) as caught:
                list(read_events(response.iter_bytes()))
            error = json.loads(str(caught.value))["error"]
        else:
            error = json.loads(refusal(response).body)
    return {**error, "message": re.sub(r"\[\d\d:\d\d:\d\d\] ", "", error["message"])}
