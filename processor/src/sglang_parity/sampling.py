"""How the engine is to generate: one request, as Dynamo's router takes it, and what SGLang's engine would refuse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sglang_parity.constrain import output_constraints
from sglang_parity.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sglang_parity.constrain import Constraint
    from sglang_parity.parse import OutputFormat
    from sglang_parity.request import ChatRequest

# What a request is sampled with where neither it nor the checkpoint's generation_config.json says otherwise.
_SAMPLING_DEFAULTS = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
# A temperature below this is none: SGLang then takes the likeliest token, whatever top_k says.
_GREEDY_BELOW = 1e-6
_MAX_STOP_STRINGS = 32
# What Dynamo calls SGLang's constraints.
_GUIDED_DECODING = {"json_schema": "json", "structural_tag": "structural_tag", "regex": "regex", "ebnf": "grammar"}


def engine_request(
    request: ChatRequest,
    token_ids: list[int],
    tool_calls: Constraint | None,
    *,
    eos_token_ids: tuple[int, ...],
    generation_config: Mapping[str, Any],
    output_format: OutputFormat,
) -> dict[str, Any]:
    """The preprocessed request for ``routed_engine.generate``.

    Values are what ``protocol.py::ChatCompletionRequest.to_sampling_params`` gives SGLang's engine: the client's, else
    the checkpoint's, else SGLang's. Stop strings are left out: Dynamo's worker does not know them, the processor
    matches them itself (``parse.OutputText``).

    Args:
        request: the request as SGLang reads it.
        token_ids: the prompt.
        tool_calls: the constraint that the request's tools put on the output; any other that it asks for wins.
        eos_token_ids: ids that end a generation.
        generation_config: the checkpoint's ``generation_config.json``.
        output_format: how outputs are read. Grammars wait for the end of reasoning where reasoning is read at all.
    """
    return {
        "model": request.model,
        "token_ids": token_ids,
        "require_reasoning": request.require_reasoning and output_format.reasoning is not None,
        "stop_conditions": {
            "max_tokens": _max_new_tokens(request),
            "stop_token_ids": request.stop_token_ids,
            "min_tokens": request.min_tokens,
            "ignore_eos": request.ignore_eos,
        },
        "sampling_options": {
            "n": request.n,
            "presence_penalty": request.presence_penalty,
            "frequency_penalty": request.frequency_penalty,
            "seed": request.seed,
            "guided_decoding": _guided_decoding(request, tool_calls),
            **_with_defaults(request, generation_config),
        },
        "output_options": {
            "logprobs": (request.top_logprobs or 0) if request.logprobs else None,
            "skip_special_tokens": request.skip_special_tokens,
        },
        "eos_token_ids": list(eos_token_ids),
        "annotations": [],
    }


def refuse_what_the_engine_would(
    request: ChatRequest,
    prompt_tokens: int,
    *,
    context_length: int | None,
    vocab_size: int,
    generation_config: Mapping[str, Any],
) -> None:
    """Refuses what SGLang refuses between the prompt and the scheduler, in its order and words.

    Mirrors ``tokenizer_manager.py::_validate_one_request`` and ``sampling_params.py::SamplingParams`` (``normalize``,
    ``verify``). Dynamo's worker would refuse the same, but it is not given all of it: stop strings, logit bias.

    Args:
        request: the request as SGLang reads it.
        prompt_tokens: number of ids in the prompt.
        context_length: the worker's, None where it published none.
        vocab_size: the checkpoint's.
        generation_config: the checkpoint's ``generation_config.json``; what it says is held to the same bounds.

    Raises:
        RequestError: status 400, kind ``BadRequestError``.
    """
    objection = (
        _length_objection(request, prompt_tokens, context_length)
        or _sampling_objection(request, _with_defaults(request, generation_config))
        or _limits_objection(request, vocab_size)
    )
    if objection is not None:
        raise RequestError(objection)


def _length_objection(request: ChatRequest, prompt_tokens: int, context_length: int | None) -> str | None:
    if context_length is None:
        return None
    if prompt_tokens >= context_length:
        return (
            f"The input ({prompt_tokens} tokens) is longer than the model's context length ({context_length} tokens)."
        )
    max_new_tokens = _max_new_tokens(request)
    if max_new_tokens is not None and prompt_tokens + max_new_tokens > context_length:
        return (
            f"Requested token count exceeds the model's maximum context length of {context_length} tokens. You "
            f"requested a total of {prompt_tokens + max_new_tokens} tokens: {prompt_tokens} tokens from the input "
            f"messages and {max_new_tokens} tokens for the completion. Please reduce the number of tokens in the "
            "input messages or the completion to fit within the limit."
        )
    return None


def _sampling_objection(request: ChatRequest, sampling: Mapping[str, Any]) -> str | None:
    temperature, top_p, top_k, min_p, repetition = (sampling[name] for name in _SAMPLING_DEFAULTS)
    stops = 1 if isinstance(request.stop, str) else len(request.stop or ())
    if stops > _MAX_STOP_STRINGS:
        return f"at most {_MAX_STOP_STRINGS} stop strings are allowed, got {stops}"
    if not (math.isfinite(temperature) and temperature >= 0.0):
        return f"temperature must be a non-negative finite number, got {temperature}."
    if not 0.0 < top_p <= 1.0:
        return f"top_p must be in (0, 1], got {top_p}."
    if not 0.0 <= min_p <= 1.0:
        return f"min_p must be in [0, 1], got {min_p}."
    if top_k < 1 and top_k != -1 and temperature >= _GREEDY_BELOW:
        return f"top_k must be -1 (disable) or at least 1, got {top_k}."
    for name in ("frequency_penalty", "presence_penalty"):
        if not -2.0 <= getattr(request, name) <= 2.0:
            return f"{name} must be in [-2, 2], got {getattr(request, name)}."
    if not 0.0 < repetition <= 2.0:
        return f"repetition_penalty must be in (0, 2] (1.0 = no penalty), got {repetition}."
    return None


def _limits_objection(request: ChatRequest, vocab_size: int) -> str | None:
    minimum, maximum = request.min_tokens, _max_new_tokens(request)
    if minimum < 0:
        return f"min_new_tokens must be in [0, max_new_tokens], got {minimum}."
    if maximum is not None and maximum < 0:
        return f"max_new_tokens must be at least 0, got {maximum}."
    if maximum is not None and minimum > maximum:
        return f"min_new_tokens must be in [0, max_new_tokens({maximum})], got {minimum}."
    for token_id in request.logit_bias or ():
        try:
            number = int(token_id)
        except ValueError as error:
            return str(error)
        if not 0 <= number < vocab_size:
            return f"logit_bias must has keys in [0, {vocab_size - 1}], got {token_id}."
    if request.seed is not None and not -(2**63) <= request.seed < 2**63:
        return f"sampling_seed must be in [-2**63, 2**63 - 1], got {request.seed}."
    if len(output_constraints(request)) > 1:
        return "Only one of json_schema, regex, ebnf, or structural_tag can be set."
    return None


def _max_new_tokens(request: ChatRequest) -> int | None:
    """0 counts as not given (``protocol.py::to_sampling_params``); None is until the end of the context."""
    return request.max_completion_tokens or request.max_tokens


def _with_defaults(request: ChatRequest, generation_config: Mapping[str, Any]) -> dict[str, Any]:
    """The request's value, else the checkpoint's, else SGLang's, in the order of ``_SAMPLING_DEFAULTS``."""
    asked = {name: getattr(request, name) for name in _SAMPLING_DEFAULTS}
    said: tuple[Mapping[str, Any], ...] = (asked, generation_config, _SAMPLING_DEFAULTS)
    return {name: next(each[name] for each in said if each.get(name) is not None) for name in _SAMPLING_DEFAULTS}


def _guided_decoding(request: ChatRequest, tool_calls: Constraint | None) -> dict[str, Any] | None:
    """The one constraint that the engine is given, as ``GuidedDecodingOptions`` has it."""
    constraint = next(iter(output_constraints(request)), tool_calls)
    return None if constraint is None else {_GUIDED_DECODING[constraint.kind]: constraint.value}
