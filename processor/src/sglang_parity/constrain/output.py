"""What a request's output is held to: the shape that it asks for, or the calls that its tools call for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sglang_parity.constrain.grammar import Constraint
from sglang_parity.errors import RequestError
from sglang_parity.request.body import JsonSchemaResponseFormat, ResponseFormat, ToolChoice

if TYPE_CHECKING:
    from sglang_parity.request import ChatRequest


def output_constraints(request: ChatRequest, tool_calls: Constraint | None) -> tuple[Constraint, ...]:
    """What ``response_format``, ``regex`` and ``ebnf`` say, else what the request's tools do.

    Mirrors ``protocol.py::ChatCompletionRequest.to_sampling_params``: a schema holds the output whether it is called
    strict or not, and an empty expression or grammar is none. SGLang comes here once it has rendered the prompt, so a
    prompt that cannot be rendered is refused first.

    Args:
        request: the request as SGLang reads it.
        tool_calls: the constraint of its tools.

    Raises:
        RequestError: status 400, kind ``BadRequest``: a tool call is forced, which excludes any other constraint.
    """
    shape = request.response_format
    is_shaped = shape is not None and shape.type != "text"
    is_forced = request.tool_choice == "required" or isinstance(request.tool_choice, ToolChoice)
    if is_forced and (is_shaped or request.regex or request.ebnf):
        raise RequestError(
            "tool_choice 'required' or a named tool cannot be combined with "
            "response_format, regex, or ebnf: the tool-call constraint and the "
            "output constraint cannot both be honored.",
            kind="BadRequest",
        )
    constraints = []
    match shape:
        case None | ResponseFormat(type="text"):
            pass
        case ResponseFormat(type="json_object"):
            constraints.append(Constraint("json_schema", {"type": "object"}))
        case ResponseFormat(json_schema=JsonSchemaResponseFormat(schema_=dict(schema))):
            constraints.append(Constraint("json_schema", schema))
        case structural_tag:
            constraints.append(Constraint("structural_tag", json.dumps(structural_tag.model_dump(by_alias=True))))
    if request.regex:
        constraints.append(Constraint("regex", request.regex))
    if request.ebnf:
        constraints.append(Constraint("ebnf", request.ebnf))
    if not constraints and tool_calls is not None:
        constraints.append(tool_calls)
    return tuple(constraints)
