"""What SGLang refuses about a request that is well formed."""

from __future__ import annotations

from sglang_parity.errors import RequestError
from sglang_parity.request.body import (
    ChatCompletionMessageContentAudioURLPart,
    ChatCompletionMessageContentImagePart,
    ChatCompletionMessageContentVideoPart,
    ChatRequest,
    Tool,
    ToolChoice,
)
from sglang_parity.request.tool_schema import schema_error

_MEDIA_PARTS = (
    ChatCompletionMessageContentImagePart,
    ChatCompletionMessageContentVideoPart,
    ChatCompletionMessageContentAudioURLPart,
)


def check(request: ChatRequest, *, context_length: int | None) -> None:
    """Refuses what SGLang refuses before it looks at the conversation; the first objection wins.

    Mirrors ``serving_chat.py::_validate_request``, then the beginning of ``_convert_to_internal_request``.

    Raises:
        RequestError: status 400, kind ``BadRequestError``, or ``BadRequest`` where a stream asks for what only a whole
            answer has.
    """
    objection = (
        _messages_objection(request)
        or _tool_choice_objection(request)
        or _tools_objection(request)
        or _output_objection(request, context_length)
    )
    if objection is not None:
        raise RequestError(objection)
    objection = _stream_objection(request)
    if objection is not None:
        raise RequestError(objection, kind="BadRequest")


def _messages_objection(request: ChatRequest) -> str | None:
    if not request.messages:
        return "Messages cannot be empty."
    if "chat_template" in (request.chat_template_kwargs or ()):
        return (
            "Request-supplied chat_template is not allowed. Start the server "
            "with --trust-request-chat-template to permit it."
        )
    if request.return_sampling_mask and not request.return_meta_info:
        return "return_sampling_mask requires return_meta_info=true."
    for message in request.messages:
        if isinstance(message.content, list):
            for part in message.content:
                if isinstance(part, _MEDIA_PARTS):
                    return f"Model only supports text input; received unsupported content type '{part.type}'."
    return None


def _tool_choice_objection(request: ChatRequest) -> str | None:
    tools, choice = request.effective_tools, request.tool_choice
    if choice == "required" and not tools:
        return "Tools cannot be empty if tool choice is set to required."
    if isinstance(choice, ToolChoice):
        if not tools:
            return "Tools cannot be empty if tool choice is set to a specific tool."
        if all(tool.function.name != choice.function.name for tool in tools):
            return f"Tool '{choice.function.name}' not found in tools list."
    return None


def _tools_objection(request: ChatRequest) -> str | None:
    tools = request.effective_tools
    has_message_tools = len(tools) > len(request.tools or ())
    if has_message_tools and len({tool.function.name for tool in tools}) < len(tools):
        return "Tool names must be unique across request and message tools."
    for index, tool in enumerate(tools):
        objection = _parameters_objection(index, tool)
        if objection is not None:
            return objection
    return None


def _parameters_objection(index: int, tool: Tool) -> str | None:
    if tool.function.parameters is None:
        return None
    try:
        error = schema_error(tool.function.parameters)
    except RecursionError:
        return f"Tool {index} function 'parameters' schema is too deeply nested or contains a cycle."
    return None if error is None else f"Tool {index} function has invalid 'parameters' schema: {error}"


def _output_objection(request: ChatRequest, context_length: int | None) -> str | None:
    max_tokens = request.max_completion_tokens or request.max_tokens
    if max_tokens and context_length and max_tokens > context_length:
        return (
            f"max_completion_tokens is too large: {max_tokens}."
            f"This model supports at most {context_length} completion tokens."
        )
    response_format = request.response_format
    if response_format is not None and response_format.type == "json_schema":
        schema = response_format.json_schema and response_format.json_schema.schema_
        if schema is None:
            return "schema_ is required for json_schema response format request."
    return None


def _stream_objection(request: ChatRequest) -> str | None:
    """Token ids and meta info are for unary answers only."""
    if not request.stream:
        return None
    if request.return_prompt_token_ids:
        return (
            "return_prompt_token_ids is not supported with streaming. "
            "Please set stream=false when using return_prompt_token_ids=true."
        )
    if request.return_token_ids:
        return (
            "return_token_ids is not supported with streaming on /v1/chat/completions. "
            "Please set stream=false when using return_token_ids=true."
        )
    if request.return_meta_info:
        return (
            "return_meta_info is not supported with streaming. "
            "Please set stream=false when using return_meta_info=true."
        )
    return None
