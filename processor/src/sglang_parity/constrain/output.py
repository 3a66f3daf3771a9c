"""The shape that a request asks its output to have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sglang_parity.constrain.grammar import Constraint
from sglang_parity.request.body import JsonSchemaResponseFormat, ResponseFormat

if TYPE_CHECKING:
    from sglang_parity.request import ChatRequest


def output_constraints(request: ChatRequest) -> list[Constraint]:
    """What ``response_format``, ``regex`` and ``ebnf`` say; the engine takes no more than one of them.

    Mirrors ``protocol.py::ChatCompletionRequest.to_sampling_params``: a schema holds the output whether it is called
    strict or not, and an empty expression or grammar is none.
    """
    constraints = []
    match request.response_format:
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
    return constraints
