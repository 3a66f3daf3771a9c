"""What a request is once it has been read, beyond its prompt."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from sglang_parity.errors import RequestError
from sglang_parity.models.deepseek_v4.thinking import output_reasons, prompt_thinks
from sglang_parity.request import ChatRequest, parse_json, read_request
from sglang_parity.request.tool_schema import normalize_types, schema_error

USER = {"role": "user", "content": "Hi"}


def read(**fields: Any) -> ChatRequest:
    return read_request({"messages": [USER], **fields})


def tool(name: str, **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def test_a_body_can_be_read_twice() -> None:
    body = {
        "messages": [USER],
        "tools": [tool("f", parameters={"type": "dict"})],
        "reasoning": {"effort": "high"},
        "chat_template_kwargs": {"reasoning_effort": "max"},
        "response_format": {
            "type": "json_schema",
            "schema": {"title": "T", "properties": {"strict": {"default": True}}},
        },
    }
    first, second = read_request(body), read_request(body)
    assert first.model_dump() == second.model_dump()
    assert body["chat_template_kwargs"] == {"reasoning_effort": "max"}


def test_only_type_names_of_tool_schemas_are_rewritten_in_the_body() -> None:
    body = {"messages": [USER], "tools": [tool("f", parameters={"type": "dict"})], "reasoning_effort": "low"}
    expected = copy.deepcopy(body)
    expected["tools"][0]["function"]["parameters"]["type"] = "object"  # type: ignore[index]
    read_request(body)
    assert body == expected


def test_server_defaults_are_not_touched_by_a_request() -> None:
    defaults = {"thinking": True, "reasoning_effort": "max"}
    request = read_request(
        {"messages": [USER], "chat_template_kwargs": {"thinking": False}}, default_chat_template_kwargs=defaults
    )
    assert request.chat_template_kwargs == {"thinking": False, "reasoning_effort": "max"}
    assert request.reasoning_effort == "max"
    assert defaults == {"thinking": True, "reasoning_effort": "max"}


@pytest.mark.parametrize(
    ("kwargs", "in_prompt", "in_output"),
    [
        (None, False, False),
        ({}, False, False),
        ({"thinking": True}, True, True),
        ({"thinking": 1}, True, False),
        ({"thinking": "false"}, True, False),
        ({"thinking": None}, False, False),
        ({"enable_thinking": True}, False, False),
    ],
)
def test_thinking_is_truthy_for_the_prompt_and_true_for_the_output(
    kwargs: dict[str, Any] | None, in_prompt: bool, in_output: bool
) -> None:
    request = read(chat_template_kwargs=kwargs)
    assert (prompt_thinks(request), output_reasons(request)) == (in_prompt, in_output)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, False), ("1", True), ("TRUE", True), ("y", True), ("no", False), ("0", False), ("False", False)],
)
def test_default_thinking_is_read_from_the_environment_per_request(
    value: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = read()
    monkeypatch.delenv("SGLANG_DEFAULT_THINKING", raising=False)
    if value is not None:
        monkeypatch.setenv("SGLANG_DEFAULT_THINKING", value)
    assert prompt_thinks(request) is expected
    assert output_reasons(request) is False


def test_a_default_thinking_that_is_no_boolean_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_DEFAULT_THINKING", "maybe")
    with pytest.warns(UserWarning, match="'maybe' is no boolean"):
        assert prompt_thinks(read()) is False


def test_effective_tools_are_the_requests_then_those_of_system_and_developer_messages() -> None:
    request = read_request(
        {
            "messages": [
                {"role": "system", "content": "S", "tools": [tool("b")]},
                {"role": "assistant", "content": "A", "tools": [tool("ignored")]},
                {"role": "developer", "content": "D", "tools": [tool("c")]},
            ],
            "tools": [tool("a")],
        }
    )
    assert [tool.function.name for tool in request.effective_tools] == ["a", "b", "c"]
    assert request.tool_choice == "auto"
    assert request.skip_special_tokens is False


@pytest.mark.parametrize("body", [b"\xff\xfe", b'{"a": "\xc3"}', b"[1,]", b"Infinity"])
def test_what_orjson_does_not_read_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError) as refusal:
        parse_json(body)
    assert (refusal.value.status, refusal.value.kind) == (400, "Bad Request")


@pytest.mark.parametrize(
    ("declared", "standard"),
    [
        ("string", "string"),
        ("STRING", "string"),
        ("varchar(255)", "string"),
        ("decimal(10,2)", "number"),
        ("int", "integer"),
        ("int32", "integer"),
        ("unsigned int", "integer"),
        ("long", "integer"),
        ("internal", "internal"),
        ("list_price", "list_price"),
        ("list[str]", "array"),
        ("dict<str>", "object"),
        ("number(5)", "number"),
        ("numeral", "numeral"),
        ("num", "number"),
        ("float64", "number"),
        ("bool", "boolean"),
        ("map", "object"),
        (" Text ", "string"),
        (5, 5),
        (None, None),
        (["int", "integer", "null", 5], ["integer", "null", 5]),
        ([], []),
    ],
)
def test_type_names_of_other_systems_become_json_schemas(declared: object, standard: object) -> None:
    schema = {"type": declared, "properties": {"type": {"type": declared}}}
    normalize_types(schema)
    assert schema == {"type": standard, "properties": {"type": {"type": standard}}}


def test_a_schema_found_wrong_stays_wrong() -> None:
    for _ in range(2):
        assert "'foo' is not valid under any of the given schemas" in (schema_error({"type": "foo"}) or "")
        assert schema_error({"type": "object"}) is None


def test_a_schema_without_end_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(5000):
        schema = {"items": schema}
    with pytest.raises(RequestError) as refusal:
        read(tools=[tool("f", parameters=schema)])
    assert refusal.value.message == "Tool 0 function 'parameters' schema is too deeply nested or contains a cycle."
