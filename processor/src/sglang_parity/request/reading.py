"""One body → one request, refused with SGLang's status and text where SGLang refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from sglang_parity.errors import RequestError
from sglang_parity.request.body import ChatRequest
from sglang_parity.request.checks import check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST_REFUSAL = 4 << 20  # characters


def parse_json(body: bytes | str) -> object:
    """Parses a body as SGLang's server does (``http_server.py::ORJSONRequest``).

    Raises:
        RequestError: status 400, kind ``Bad Request``: not JSON. ``NaN`` and text that is not UTF-8 are not JSON.
    """
    if not body:
        raise _refusal([{"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}])
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _refusal(
            [
                {
                    "type": "json_invalid",
                    "loc": ("body", error.pos),
                    "msg": "JSON decode error",
                    "input": {},
                    "ctx": {"error": error.msg},
                }
            ]
        ) from error


def read_request(
    body: object,
    *,
    default_chat_template_kwargs: Mapping[str, Any] | None = None,
    context_length: int | None = None,
) -> ChatRequest:
    """Reads a request body as SGLang's server does, up to the point where messages become a prompt.

    Mirrors ``http_server.py::openai_v1_chat_completions`` (validation), ``serving_chat.py::_validate_request``,
    ``_convert_to_internal_request`` and the first half of ``_process_messages``.

    Args:
        body: the parsed JSON. Type names in tool schemas are rewritten in place (``varchar`` → ``string``); a second
            reading finds the same request.
        default_chat_template_kwargs: the server's ``--default-chat-template-kwargs``.
        context_length: the server's ``--context-length``, where one is set.

    Raises:
        RequestError: SGLang refuses the request. Kind ``Bad Request`` for a malformed body, ``BadRequestError`` for a
            check, ``BadRequest`` for a failed conversion, and the empty kind where SGLang's server breaks and answers
            500 in plain text.
    """
    if not isinstance(body, dict):  # SGLang's validators take it for a dict
        raise RequestError("Internal Server Error", status=500, kind="")
    try:
        request = ChatRequest.model_validate(body, from_attributes=True)
    except ValidationError as error:
        raise _refusal(
            [{**entry, "loc": ("body", *entry["loc"])} for entry in error.errors(include_url=False)]
        ) from error

    check(request, context_length=context_length)
    _take_effort_from_kwargs(request)
    if default_chat_template_kwargs:
        _merge_defaults(request, default_chat_template_kwargs)
    if request.effective_tools and request.tool_choice != "none":
        request.skip_special_tokens = False
    return request


def _take_effort_from_kwargs(request: ChatRequest) -> None:
    """``chat_template_kwargs.reasoning_effort`` replaces the request's, whatever it is, and leaves thinking alone."""
    if request.chat_template_kwargs:
        effort = request.chat_template_kwargs.pop("reasoning_effort", None)
        if effort is not None:
            request.reasoning_effort = effort


def _merge_defaults(request: ChatRequest, defaults: Mapping[str, Any]) -> None:
    request.chat_template_kwargs = {**defaults, **(request.chat_template_kwargs or {})}
    effort = request.chat_template_kwargs.get("reasoning_effort")
    if effort is not None and request.reasoning_effort is None:
        request.reasoning_effort = effort


def _refusal(errors: Sequence[Mapping[str, Any]]) -> RequestError:
    """The text of ``http_server.py::validation_exception_handler``, less the place in SGLang's source it names.

    SGLang shows the input in each line, however long; here the text ends where it has become very long.
    """
    text = f"{len(errors)} validation error{'' if len(errors) == 1 else 's'}:"
    for error in errors:
        text += f"\n  {error}"
        if len(text) > _LONGEST_REFUSAL:
            return RequestError(f"{text[:_LONGEST_REFUSAL]}…", kind="Bad Request")
    return RequestError(f"{text} {list(errors)}", kind="Bad Request")
