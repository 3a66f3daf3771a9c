"""The tool calls that a request forces, or holds to a schema where the model makes them."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any

from sglang_parity.constrain.grammar import Constraint
from sglang_parity.errors import RequestError
from sglang_parity.request.body import ChatRequest, Function, Tool, ToolChoice
from sglang_parity.request.structural_tag import StructuralTag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sglang_parity.constrain.grammar import ToolCallGrammar
    from sglang_parity.request.structural_tag import Format

# Levels of SGLANG_TOOL_STRICT_LEVEL (`environ.py::ToolStrictLevel`).
_CONSTRAIN_CALLS, _CONSTRAIN_ARGUMENTS = 1, 2


def tool_call_constraint(request: ChatRequest, grammar: ToolCallGrammar | None) -> Constraint | None:
    """The constraint that tools and ``tool_choice`` put on the output.

    Mirrors ``serving_chat.py::_process_messages`` and ``function_call_parser.py::get_structure_constraint``: forced
    calls are written as the model writes them, or as a JSON array where that cannot be said; calls that the model is
    free to make are held to their form once a tool is strict.

    Args:
        request: the request as SGLang reads it.
        grammar: how the model writes tool calls; None where the worker runs without a tool call parser.

    Raises:
        RequestError: calls have to be forced as JSON, and the tools' ``$defs`` cannot be merged. Status 400, kind
            ``BadRequest``, or status 500, kind ``InternalServerError``, where SGLang's server breaks.
    """
    tools, choice = request.effective_tools, request.tool_choice
    if not tools or choice == "none":
        return None
    is_forced = choice != "auto"
    strict_level = _tool_strict_level()
    if grammar is not None and (
        is_forced or strict_level >= _CONSTRAIN_CALLS or any(tool.function.strict for tool in tools)
    ):
        functions = [tool.function for tool in tools if _is_function(tool)]
        if strict_level >= _CONSTRAIN_ARGUMENTS:
            functions = [function.model_copy(update={"strict": True}) for function in functions]
        form = _form_of_calls(functions, request, grammar)
        if form is not None:
            return Constraint("structural_tag", json.dumps(StructuralTag(format=form).model_dump(by_alias=True)))
    if not is_forced:
        return None
    return Constraint("json_schema", _array_of_calls(tools, request))


def _form_of_calls(functions: Sequence[Function], request: ChatRequest, grammar: ToolCallGrammar) -> Format | None:
    """None where xgrammar has none: nothing to call, or more than one function of the chosen name."""
    parallel = request.parallel_tool_calls
    match request.tool_choice:
        case "auto":
            return grammar.auto(functions, parallel=parallel)
        case ToolChoice(function=chosen):
            of_that_name = [function for function in functions if function.name == chosen.name]
            return grammar.named(of_that_name[0]) if len(of_that_name) == 1 else None
        case _:
            return grammar.required(functions, parallel=parallel) if functions else None


def _is_function(tool: Tool) -> bool:
    """Any other tool is one that the provider hosts, to xgrammar (``openai_tool_call_schema.py::ToolParam``)."""
    parameters = tool.function.parameters
    return tool.type == "function" and (parameters is None or isinstance(parameters, dict))


def _array_of_calls(tools: Sequence[Tool], request: ChatRequest) -> dict[str, Any]:
    """A schema of the calls as JSON. Mirrors ``function_call/utils.py::get_json_schema_constraint``."""
    schema: dict[str, Any] = {"type": "array", "minItems": 1}
    if isinstance(request.tool_choice, ToolChoice):
        name = request.tool_choice.function.name
        schema["items"] = next(_call(tool.function) for tool in tools if tool.function.name == name)
        definitions = {}
    else:
        schema["items"] = {"type": "object", "anyOf": [_call(tool.function) for tool in tools]}
        definitions = _shared_definitions(tools)
    if not request.parallel_tool_calls:
        schema["maxItems"] = 1
    if definitions:
        schema["$defs"] = definitions
    return schema


def _call(function: Function) -> dict[str, Any]:
    return {
        "properties": {
            "name": {"type": "string", "enum": [function.name]},
            "parameters": function.parameters or {"type": "object", "properties": {}},
        },
        "required": ["name", "parameters"],
    }


def _shared_definitions(tools: Sequence[Tool]) -> dict[str, Any]:
    """The ``$defs`` of all tools. Mirrors ``function_call/utils.py::_get_tool_schema_defs``."""
    shared: dict[str, Any] = {}
    for tool in tools:
        parameters = tool.function.parameters
        if parameters is None:
            continue
        if not isinstance(parameters, dict):  # `true` is a schema too, and SGLang looks for a key in it
            message = "Internal server error: 'bool' object has no attribute 'get'"
            raise RequestError(message, status=500, kind="InternalServerError")
        for name, definition in parameters.get("$defs", {}).items():
            if shared.setdefault(name, definition) != definition:
                message = f"Tool definition '{name}' has multiple schemas, which is not supported."
                raise RequestError(message, kind="BadRequest")
    return shared


def _tool_strict_level() -> int:
    """``SGLANG_TOOL_STRICT_LEVEL``, read anew for every request as SGLang does (``environ.py::EnvInt``)."""
    value = os.environ.get("SGLANG_TOOL_STRICT_LEVEL", "0")
    try:
        return int(value)
    except ValueError:
        warnings.warn(f"SGLANG_TOOL_STRICT_LEVEL={value!r} is no number, it stays 0", stacklevel=2)
        return 0
