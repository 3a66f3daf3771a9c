"""How the engine is to generate, and what SGLang's engine would refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sglang_parity.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sglang_parity.constrain import Constraint
    from sglang_parity.models import ChatModel
    from sglang_parity.prepare import Prepared
    from sglang_parity.request import ChatRequest

# What a request is sampled with where neither it nor the checkpoint's generation_config.json says otherwise.
_SAMPLING_DEFAULTS = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
# A temperature below this is none: SGLang then takes the likeliest token, whatever top_k says.
_GREEDY_BELOW = 1e-6
_MAX_STOP_STRINGS = 32


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """What is not the request's alone: its values, else the checkpoint's, else SGLang's.

    Attributes:
        max_new_tokens: None is until the end of the context.
        constraint: what the output is held to.
    """

    temperature: float
    top_p: float
    top_k: int
    min_p: float
    repetition_penalty: float
    max_new_tokens: int | None
    constraint: Constraint | None


def sampling_params(prepared: Prepared, model: ChatModel) -> SamplingParams:
    """Settles how to generate, and refuses what SGLang does between the prompt and the scheduler, in its words.

    Mirrors ``protocol.py::ChatCompletionRequest.to_sampling_params``, ``tokenizer_manager.py::_validate_one_request``
    and ``sampling_params.py::SamplingParams`` (``normalize``, ``verify``). Dynamo's worker would refuse the same, but
    it is not given all of it: stop strings, logit bias. What the checkpoint's ``generation_config.json`` says is held
    to the same bounds.

    Args:
        prepared: the request.
        model: what serves it.

    Raises:
        RequestError: status 400, kind ``BadRequestError``.
    """
    chat, checkpoint = prepared.chat, model.checkpoint
    max_new_tokens = chat.max_completion_tokens or chat.max_tokens  # 0 counts as not given
    sampling = SamplingParams(
        **_with_defaults(chat, checkpoint.generation_config),
        max_new_tokens=max_new_tokens,
        constraint=prepared.constraints[0] if prepared.constraints else None,
    )
    objection = (
        _length_objection(len(prepared.prompt.token_ids), max_new_tokens, model.context_length)
        or _sampling_objection(chat, sampling)
        or _limits_objection(chat, max_new_tokens, checkpoint.config["vocab_size"])
    )
    if objection is None and len(prepared.constraints) > 1:
        objection = "Only one of json_schema, regex, ebnf, or structural_tag can be set."
    if objection is not None:
        raise RequestError(objection)
    return sampling


def _length_objection(prompt_tokens: int, max_new_tokens: int | None, context_length: int | None) -> str | None:
    if context_length is None:
        return None
    if prompt_tokens >= context_length:
        return (
            f"The input ({prompt_tokens} tokens) is longer than the model's context length ({context_length} tokens)."
        )
    if max_new_tokens is not None and prompt_tokens + max_new_tokens > context_length:
        return (
            f"Requested token count exceeds the model's maximum context length of {context_length} tokens. You "
            f"requested a total of {prompt_tokens + max_new_tokens} tokens: {prompt_tokens} tokens from the input "
            f"messages and {max_new_tokens} tokens for the completion. Please reduce the number of tokens in the "
            "input messages or the completion to fit within the limit."
        )
    return None


def _sampling_objection(request: ChatRequest, sampling: SamplingParams) -> str | None:
    stops = 1 if isinstance(request.stop, str) else len(request.stop or ())
    if stops > _MAX_STOP_STRINGS:
        return f"at most {_MAX_STOP_STRINGS} stop strings are allowed, got {stops}"
    if not (math.isfinite(sampling.temperature) and sampling.temperature >= 0.0):
        return f"temperature must be a non-negative finite number, got {sampling.temperature}."
    if not 0.0 < sampling.top_p <= 1.0:
        return f"top_p must be in (0, 1], got {sampling.top_p}."
    if not 0.0 <= sampling.min_p <= 1.0:
        return f"min_p must be in [0, 1], got {sampling.min_p}."
    if sampling.top_k < 1 and sampling.top_k != -1 and sampling.temperature >= _GREEDY_BELOW:
        return f"top_k must be -1 (disable) or at least 1, got {sampling.top_k}."
    for name in ("frequency_penalty", "presence_penalty"):
        if not -2.0 <= getattr(request, name) <= 2.0:
            return f"{name} must be in [-2, 2], got {getattr(request, name)}."
    if not 0.0 < sampling.repetition_penalty <= 2.0:
        return f"repetition_penalty must be in (0, 2] (1.0 = no penalty), got {sampling.repetition_penalty}."
    return None


def _limits_objection(request: ChatRequest, max_new_tokens: int | None, vocab_size: int) -> str | None:
    minimum, maximum = request.min_tokens, max_new_tokens
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
    return None


def _with_defaults(request: ChatRequest, generation_config: Mapping[str, Any]) -> dict[str, Any]:
    asked = {name: getattr(request, name) for name in _SAMPLING_DEFAULTS}
    said: tuple[Mapping[str, Any], ...] = (asked, generation_config, _SAMPLING_DEFAULTS)
    return {name: next(each[name] for each in said if each.get(name) is not None) for name in _SAMPLING_DEFAULTS}
