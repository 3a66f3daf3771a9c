"""Dynamo's front parses and rewrites a request before any processor sees it; this takes the rewriting back."""

from __future__ import annotations

from typing import Any


def body_from_dynamo(request: dict[str, Any]) -> dict[str, Any]:
    """The body that the client sent, as far as it can be told from what Dynamo hands on.

    ``chat_template_kwargs`` arrives as ``chat_template_args``, with ``thinking``, ``enable_thinking`` and
    ``thinking_mode`` filled in from one another and from the request's effort. The first two are what SGLang derives
    too; the third means nothing to it.
    """
    body = dict(request)
    if "chat_template_args" in body:
        body["chat_template_kwargs"] = body.pop("chat_template_args")
    return body


def requested_extra_fields(request: dict[str, Any]) -> list[str]:
    """The response fields that the client asked for under ``nvext.extra_fields``."""
    return (request.get("nvext") or {}).get("extra_fields") or []
