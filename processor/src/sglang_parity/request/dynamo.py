"""Dynamo's front parses and rewrites a request before any processor sees it; this takes the rewriting back."""

from __future__ import annotations

from typing import Any

from sglang_parity.errors import RequestError

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


def requested_extra_fields(request: dict[str, Any]) -> list[str]:
    """The response fields that the client asked for under ``nvext.extra_fields``."""
    return (request.get("nvext") or {}).get("extra_fields") or []
