"""The bodies that Dynamo hands over and takes.

Its front parses and rewrites a request before any processor sees it, and its router takes a request in a shape of its
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sglang_parity.errors import RequestError
from sglang_parity.host.headers import EXTRA_FIELDS

if TYPE_CHECKING:
    from sglang_parity.prepare import Prepared
    from sglang_parity.render import Prompt
    from sglang_parity.sampling import SamplingParams

# What Dynamo calls SGLang's constraints.
_GUIDED_DECODING = {"json_schema": "json", "structural_tag": "structural_tag", "regex": "regex", "ebnf": "grammar"}

# Fields of SGLang's that Dynamo's front refuses or hides, and that reach the processor under
# `chat_template_kwargs.sglang`, the one place in a request that the front leaves alone.
CARRIED_FIELDS = frozenset(
    {
        *("task", "reasoning", "reasoning_effort", "separate_reasoning", "stream_reasoning", "stop_token_ids"),
        *("response_format", "regex", "ebnf"),
    }
)


def body_from_dynamo(request: dict[str, Any]) -> dict[str, Any]:
    """The body that the client sent, as far as it can be told from what Dynamo hands on.

    ``chat_template_kwargs`` arrives as ``chat_template_args``, with ``thinking``, ``enable_thinking`` and
    ``thinking_mode`` filled in from one another and from the request's effort. The first two are what SGLang derives
    too; the third means nothing to it.

    Raises:
        RequestError: ``chat_template_kwargs.sglang`` carries a field that is not one of ``CARRIED_FIELDS``.
    """
    body = dict(request)
    if "chat_template_args" not in body:
        return body
    kwargs = dict(body.pop("chat_template_args"))
    carried = kwargs.pop("sglang", None)
    body["chat_template_kwargs"] = kwargs
    if carried is not None:
        if not isinstance(carried, dict) or carried.keys() - CARRIED_FIELDS:
            raise RequestError(f"chat_template_kwargs.sglang is an object of these fields: {sorted(CARRIED_FIELDS)}")
        body |= carried
    return body


def router_request(prepared: Prepared, sampling: SamplingParams, eos_token_ids: tuple[int, ...]) -> dict[str, Any]:
    """The preprocessed request for ``routed_engine.generate``.

    Stop strings are left out: Dynamo's worker does not know them, the processor matches them itself
    (``parse.OutputText``).
    """
    chat, constraint = prepared.chat, sampling.constraint
    return {
        "model": chat.model,
        "token_ids": prepared.prompt.token_ids,
        "require_reasoning": prepared.require_reasoning,
        "stop_conditions": {
            "max_tokens": sampling.max_new_tokens,
            "stop_token_ids": chat.stop_token_ids,
            "min_tokens": chat.min_tokens,
            "ignore_eos": chat.ignore_eos,
        },
        "sampling_options": {
            "n": chat.n,
            "presence_penalty": chat.presence_penalty,
            "frequency_penalty": chat.frequency_penalty,
            "seed": chat.seed,
            "guided_decoding": None if constraint is None else {_GUIDED_DECODING[constraint.kind]: constraint.value},
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "min_p": sampling.min_p,
            "repetition_penalty": sampling.repetition_penalty,
        },
        "output_options": {
            "logprobs": (chat.top_logprobs or 0) if chat.logprobs else None,
            "skip_special_tokens": chat.skip_special_tokens,
        },
        "eos_token_ids": list(eos_token_ids),
        "annotations": [],
    }


def response_extensions(request: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
    """What the client asked for by name under ``nvext.extra_fields``, for the first chunk; empty where nothing is."""
    asked = (request.get("nvext") or {}).get("extra_fields") or []
    fields = {field: EXTRA_FIELDS[field](prompt) for field in asked if field in EXTRA_FIELDS}
    return {"nvext": fields} if fields else {}
