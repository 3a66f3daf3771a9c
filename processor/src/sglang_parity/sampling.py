"""How the engine is to generate: one request, as Dynamo's router takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sglang_parity.request.body import JsonSchemaResponseFormat, ResponseFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sglang_parity.request import ChatRequest

# What a request is sampled with where neither it nor the checkpoint's generation_config.json says otherwise.
_SAMPLING_DEFAULTS = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}


def engine_request(
    request: ChatRequest, token_ids: list[int], *, eos_token_ids: tuple[int, ...], generation_config: Mapping[str, Any]
) -> dict[str, Any]:
    """The preprocessed request for ``routed_engine.generate``.

    Values are what ``protocol.py::ChatCompletionRequest.to_sampling_params`` gives SGLang's engine: the client's, else
    the checkpoint's, else SGLang's. Stop strings are left out: Dynamo's worker does not know them, the processor
    matches them itself (``parse.OutputText``).

    Args:
        request: the request as SGLang reads it.
        token_ids: the prompt.
        eos_token_ids: ids that end a generation.
        generation_config: the checkpoint's ``generation_config.json``.
    """
    sampling: dict[str, Any] = {
        "n": request.n,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "seed": request.seed,
        "guided_decoding": _guided_decoding(request),
    }
    for name, default in _SAMPLING_DEFAULTS.items():
        value = getattr(request, name)
        sampling[name] = generation_config.get(name, default) if value is None else value

    return {
        "model": request.model,
        "token_ids": token_ids,
        "require_reasoning": request.require_reasoning,
        "stop_conditions": {
            "max_tokens": request.max_completion_tokens or request.max_tokens,
            "stop_token_ids": request.stop_token_ids,
            "min_tokens": request.min_tokens,
            "ignore_eos": request.ignore_eos,
        },
        "sampling_options": sampling,
        "output_options": {
            "logprobs": (request.top_logprobs or 0) if request.logprobs else None,
            "skip_special_tokens": request.skip_special_tokens,
        },
        "eos_token_ids": list(eos_token_ids),
        "annotations": [],
    }


def _guided_decoding(request: ChatRequest) -> dict[str, Any] | None:
    """The constraint that ``response_format`` puts on the output."""
    match request.response_format:
        case None | ResponseFormat(type="text"):
            return None
        case ResponseFormat(type="json_object"):
            return {"json": {"type": "object"}}
        case ResponseFormat(json_schema=JsonSchemaResponseFormat(schema_=schema)):
            return {"json": schema}
        case structural_tag:
            return {"structural_tag": structural_tag.model_dump(by_alias=True)}
