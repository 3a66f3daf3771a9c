"""The fields of a chat request and how lax they are, as SGLang's ``protocol.py::ChatCompletionRequest`` has them.

Order of fields, types and defaults are SGLang's: pydantic then coerces and refuses the same values. Names of classes
that stand in a union, and of the validators on them, show in the error text a client gets, so those are SGLang's too.
Unknown fields are ignored, as there.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    field_validator,
    model_serializer,
    model_validator,
)

from sglang_parity.errors import RequestError
from sglang_parity.request.structural_tag import (  # noqa: TC001 - pydantic reads annotations at run time
    LegacyStructuralTagResponseFormat,
    StructuralTag,
)

# ---------------------------------------------------------------------------------------------------- content parts


class ChatCompletionMessageContentTextPart(BaseModel):
    type: Literal["text"]
    text: str


class ChatCompletionMessageContentThinkingPart(BaseModel):
    type: Literal["thinking", "reasoning"]
    thinking: str | None = None
    text: str | None = None

    @model_validator(mode="after")
    def validate_payload(self) -> ChatCompletionMessageContentThinkingPart:
        if (self.thinking is None) == (self.text is None):
            raise ValueError("thinking parts require exactly one of 'thinking' or 'text'")
        return self


class ChatCompletionMessageContentImageURL(BaseModel):
    url: str
    detail: Literal["auto", "low", "high"] | None = "auto"
    max_dynamic_patch: int | None = None
    min_dynamic_patch: int | None = None
    content_hash: str | None = None

    @field_validator("content_hash")
    @classmethod
    def validate_content_hash(cls, value: str | None) -> str | None:
        """Mirrors ``multimodal/cache/identity.py::parse_content_hash``."""
        if value is None:
            return None
        scheme, digest = value[:7], value[7:]
        if scheme != "sha256:":
            raise ValueError("content_hash must use the form 'sha256:<64 hex digits>'")
        if len(digest) != 64:
            raise ValueError("content_hash must contain exactly 64 SHA-256 hex digits")
        try:
            bytes.fromhex(digest)
        except ValueError as error:
            raise ValueError("content_hash contains non-hexadecimal characters") from error
        return scheme + digest.lower()


class ChatCompletionMessageContentVideoURL(BaseModel):
    url: str
    max_dynamic_patch: int | None = None
    min_dynamic_patch: int | None = None
    fps: float | None = None
    max_frames: int | None = None
    max_tokens_per_frame: int | None = None
    max_image_tokens: int | None = None


class ChatCompletionMessageContentAudioURL(BaseModel):
    url: str


class ChatCompletionMessageContentImagePart(BaseModel):
    type: Literal["image_url"]
    image_url: ChatCompletionMessageContentImageURL
    modalities: Literal["image", "multi-images", "video"] | None = "image"


class ChatCompletionMessageContentVideoPart(BaseModel):
    type: Literal["video_url"]
    video_url: ChatCompletionMessageContentVideoURL


class ChatCompletionMessageContentInputAudio(BaseModel):
    data: str
    format: Literal["wav", "mp3"]


class ChatCompletionMessageContentAudioURLPart(BaseModel):
    type: Literal["audio_url"]
    audio_url: ChatCompletionMessageContentAudioURL


class ChatCompletionMessageContentAudioInlinePart(BaseModel):
    type: Literal["input_audio"]
    input_audio: ChatCompletionMessageContentInputAudio


def _to_audio_url_part(
    part: ChatCompletionMessageContentAudioURLPart | ChatCompletionMessageContentAudioInlinePart,
) -> ChatCompletionMessageContentAudioURLPart:
    """Inline audio is audio by reference with a data URI, so a refusal of it names ``audio_url``."""
    if isinstance(part, ChatCompletionMessageContentAudioURLPart):
        return part
    mime = {"wav": "audio/wav", "mp3": "audio/mpeg"}[part.input_audio.format]
    url = f"data:{mime};base64,{part.input_audio.data}"
    return ChatCompletionMessageContentAudioURLPart(
        type="audio_url", audio_url=ChatCompletionMessageContentAudioURL(url=url)
    )


class ChatCompletionMessageContentToolReferenceBlock(BaseModel):
    type: Literal["tool_reference"]
    name: str


ContentPart: TypeAlias = (
    ChatCompletionMessageContentTextPart
    | ChatCompletionMessageContentThinkingPart
    | ChatCompletionMessageContentImagePart
    | ChatCompletionMessageContentVideoPart
    | Annotated[
        ChatCompletionMessageContentAudioURLPart | ChatCompletionMessageContentAudioInlinePart,
        AfterValidator(_to_audio_url_part),
    ]
    | ChatCompletionMessageContentToolReferenceBlock
)


def _text_of(content: str | list[ContentPart] | None) -> str:
    """Content as one string: text parts joined by a space, all other parts dropped.

    Mirrors ``jinja_template_utils.py::process_content_for_template_format`` with format ``"string"``.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return " ".join(part.text for part in content if isinstance(part, ChatCompletionMessageContentTextPart))


# ------------------------------------------------------------------------------------------------------------ tools


class FunctionResponse(BaseModel):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class ToolCall(BaseModel):
    id: str | None = None
    index: int | None = None
    type: Literal["function"] = "function"
    function: FunctionResponse


class Function(BaseModel):
    """A function a client offers. The order of the fields is the order in the prompt."""

    description: str | None = None
    name: str
    parameters: object | None = None
    strict: bool = False
    defer_loading: bool | None = None

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        if self.defer_loading is None:
            fields.pop("defer_loading", None)
        return fields


class Tool(BaseModel):
    type: str = "function"
    function: Function
    defer_loading: bool | None = None

    @model_validator(mode="after")
    def _propagate_defer_loading(self) -> Tool:
        if self.defer_loading is not None and self.function.defer_loading is None:
            self.function.defer_loading = self.defer_loading
        return self


class ToolChoiceFuncName(BaseModel):
    name: str | None = None


class ToolChoice(BaseModel):
    function: ToolChoiceFuncName
    type: Literal["function"] = "function"


# --------------------------------------------------------------------------------------------------------- messages

_GENERIC_ROLES = ("system", "assistant", "tool", "function", "developer", "latest_reminder")


def _refuse_thinking_parts(content: str | list[ContentPart] | None) -> None:
    if isinstance(content, list) and any(
        isinstance(part, ChatCompletionMessageContentThinkingPart) for part in content
    ):
        raise ValueError("thinking content parts are only valid in assistant messages")


class ChatCompletionMessageGenericParam(BaseModel):
    """A message of any role but user."""

    role: Literal["system", "assistant", "tool", "function", "developer", "latest_reminder"]
    content: str | list[ContentPart] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    phase: Literal["commentary", "final_answer"] | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    tools: list[Tool] | None = None

    @field_validator("role", mode="before")
    @classmethod
    def _normalize_role(cls, role: object) -> str:
        if not isinstance(role, str):
            raise ValueError("'role' must be a string")
        lowered = role.lower()
        if lowered not in _GENERIC_ROLES:
            allowed = ", ".join(map(repr, _GENERIC_ROLES))
            raise ValueError(f"'role' must be one of {allowed} (case-insensitive).")
        return lowered

    @model_validator(mode="after")
    def validate_thinking_parts_role(self) -> ChatCompletionMessageGenericParam:
        if self.role != "assistant":
            _refuse_thinking_parts(self.content)
        return self

    @property
    def text(self) -> str:
        return _text_of(self.content)


class ChatCompletionMessageUserParam(BaseModel):
    """A user message: role and content; whatever else it carries is dropped."""

    role: Literal["user"]
    content: str | list[ContentPart]

    @model_validator(mode="after")
    def validate_thinking_parts_role(self) -> ChatCompletionMessageUserParam:
        _refuse_thinking_parts(self.content)
        return self

    @property
    def text(self) -> str:
        return _text_of(self.content)


GenericMessage: TypeAlias = ChatCompletionMessageGenericParam
UserMessage: TypeAlias = ChatCompletionMessageUserParam
Message: TypeAlias = ChatCompletionMessageGenericParam | ChatCompletionMessageUserParam

# -------------------------------------------------------------------------------------------------- response format


class StreamOptions(BaseModel):
    include_usage: bool | None = False
    continuous_usage_stats: bool | None = False


class JsonSchemaResponseFormat(BaseModel):
    name: str
    description: str | None = None
    schema_: dict[str, object] | None = Field(alias="schema", default=None)
    strict: StrictBool | None = None


class ResponseFormat(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaResponseFormat | None = None


# ---------------------------------------------------------------------------------------------------------- request

_EFFORT_TIERS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})

ReasoningEffort: TypeAlias = (
    Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
    | Annotated[float, Field(ge=0.0, le=0.99, allow_inf_nan=False)]
    | None
)


class ChatRequest(BaseModel):
    """A chat request as SGLang holds it after validation and conversion.

    Fields keep SGLang's names. ``read_request`` also settles what SGLang settles while it converts a request:
    ``reasoning_effort`` (the one in ``chat_template_kwargs`` wins and may be any value), ``chat_template_kwargs`` (the
    server's defaults merged in) and ``skip_special_tokens`` (off while tools may be called).
    """

    messages: list[Message]
    model: str = "default"
    frequency_penalty: float = 0.0
    logit_bias: dict[str, float] | None = None
    logprobs: bool = False
    top_logprobs: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int = 1
    presence_penalty: float = 0.0
    response_format: ResponseFormat | LegacyStructuralTagResponseFormat | StructuralTag | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    user: str | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | Literal["auto", "required", "none"] = "auto"
    parallel_tool_calls: bool = True
    return_hidden_states: bool | Literal["last"] = False
    return_routed_experts: bool = False
    routed_experts_start_len: int = 0
    return_cached_tokens_details: bool = False
    return_spec_tokens_details: bool = False
    return_prompt_token_ids: bool = False
    return_token_ids: bool = False
    return_meta_info: bool = False
    return_input_ids_in_sglext: bool = False
    return_output_ids_in_sglext: bool = False
    return_sampling_mask: bool = False
    sampling_logprobs_mode: Literal["selected", "support"] | None = None
    reasoning_effort: ReasoningEffort = None
    task: Literal["action", "query", "authority", "domain", "title", "read_url"] | None = None

    top_k: int | None = None
    min_p: float | None = None
    min_tokens: int = 0
    regex: str | None = None
    ebnf: str | None = None
    repetition_penalty: float | None = None
    stop_token_ids: list[int] | None = None
    stop_regex: str | list[str] | None = None
    no_stop_trim: bool = False
    ignore_eos: bool = False
    continue_final_message: bool = False
    skip_special_tokens: bool = True
    lora_path: list[str | None] | str | None = None
    session_id: str | None = None
    session_params: dict[Any, Any] | None = None
    separate_reasoning: bool = True
    stream_reasoning: bool = True
    chat_template_kwargs: dict[Any, Any] | None = None

    max_dynamic_patch: int | None = None
    min_dynamic_patch: int | None = None
    use_audio_in_video: bool = False
    images_config: dict[Any, Any] | None = None
    video_config: dict[Any, Any] | None = None

    custom_logit_processor: list[str | None] | str | None = None
    custom_params: dict[Any, Any] | None = None

    input_ids: list[int] | None = None

    # SGLang writes these unions the other way round, but typing hands it the equal one that it saw first.
    rid: str | list[str] | None = None
    extra_key: str | list[str] | None = None
    cache_salt: str | list[str] | None = None
    priority: int | None = None

    bootstrap_host: str | list[str] | None = None
    bootstrap_port: list[int | None] | int | None = None
    bootstrap_room: list[int] | int | None = None

    routed_dp_rank: int | None = None
    disagg_prefill_dp_rank: int | None = None
    data_parallel_rank: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _prepare(cls, body: dict[str, Any]) -> dict[str, Any]:
        """SGLang's other before-validators, in the order in which pydantic runs them there."""
        body = dict(body)
        _normalize_reasoning(body)
        _default_tool_choice(body)
        _adopt_data_parallel_rank(body)
        return body

    @model_validator(mode="before")
    @classmethod
    def _prepare_response_format(cls, body: dict[str, Any]) -> dict[str, Any]:
        """Runs first, and apart: a refusal by the others shows the body as this leaves it."""
        body = dict(body)
        _unfold_json_schema(body)
        return body

    @field_validator("reasoning_effort", mode="before")
    @classmethod
    def validate_reasoning_effort_type(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError("reasoning_effort must not be a boolean")
        return value

    @cached_property
    def effective_tools(self) -> list[Tool]:
        """Tools the model may call: the request's, then those of system and developer messages.

        Mirrors ``serving_chat.py::_effective_tools``.
        """
        tools = list(self.tools or ())
        for message in self.messages:
            if message.role in ("system", "developer") and message.tools:
                tools += message.tools
        return tools


def _unfold_json_schema(body: dict[str, Any]) -> None:
    """``{"type": "json_schema", "schema": …}`` without ``json_schema``: builds it (``protocol.py::set_json_schema``).

    Raises:
        RequestError: a shape on which SGLang's validator itself breaks, which its server answers with 500.
    """
    if not body.get("response_format"):
        return
    try:
        response_format = body["response_format"].copy()
        if response_format.get("type") != "json_schema":
            return
        schema = response_format.pop("schema", None)
        if schema and not response_format.get("json_schema"):
            name = schema.get("title", "Schema")
            strict = None
            if "properties" in schema and "strict" in schema["properties"]:
                schema = schema | {"properties": dict(schema["properties"])}
                flag = schema["properties"].pop("strict")
                strict = bool(flag and flag.get("default", False))
            response_format["json_schema"] = {"name": name, "schema": schema, "strict": strict}
    except (AttributeError, TypeError, ValueError) as error:
        raise RequestError("Internal Server Error", status=500, kind="") from error
    body["response_format"] = response_format


def _normalize_reasoning(body: dict[str, Any]) -> None:
    """``reasoning`` and ``reasoning_effort`` → template kwargs (``protocol.py::normalize_reasoning_inputs``).

    Raises:
        ValueError: ``reasoning.effort`` is neither a tier nor a number.
    """
    thinking = None
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict):
        effort = reasoning.get("effort")
        if effort is None:
            effort = reasoning.get("reasoning_effort")
        if effort is not None:
            body["reasoning_effort"] = _effort(effort)

        enabled = reasoning.get("enabled")
        if enabled is None:
            enabled = reasoning.get("enable", False)
        if isinstance(enabled, str):
            enabled = enabled.strip().lower() in {"1", "true", "yes", "y", "on"}
        if enabled:
            thinking = True

    if body.get("reasoning_effort") is not None:
        thinking = body["reasoning_effort"] != "none"

    if thinking is not None:
        kwargs = body.get("chat_template_kwargs")
        defaults = {"thinking": thinking, "enable_thinking": thinking}
        body["chat_template_kwargs"] = defaults | kwargs if isinstance(kwargs, dict) else defaults


def _effort(effort: object) -> str | float:
    if isinstance(effort, str) and effort in _EFFORT_TIERS:
        return effort
    if isinstance(effort, (str, int, float)) and not isinstance(effort, bool):
        try:
            return float(effort)
        except ValueError:
            pass
    raise ValueError(f"invalid reasoning effort: {effort!r}")


def _default_tool_choice(body: dict[str, Any]) -> None:
    """No choice: ``auto`` where there are tools, else ``none`` (``protocol.py::set_tool_choice_default``)."""
    if body.get("tool_choice") is None:
        has_tools = body.get("tools") is not None or _has_message_tools(body.get("messages"))
        body["tool_choice"] = "auto" if has_tools else "none"


def _has_message_tools(messages: object) -> bool:
    return isinstance(messages, list) and any(
        isinstance(message, dict)
        and isinstance(message.get("role"), str)
        and message["role"].lower() in ("system", "developer")
        and bool(message.get("tools"))
        for message in messages
    )


def _adopt_data_parallel_rank(body: dict[str, Any]) -> None:
    """The deprecated name of ``routed_dp_rank`` still counts (``protocol.py::_migrate_deprecated_dp_rank``)."""
    if body.get("routed_dp_rank") is None and body.get("data_parallel_rank") is not None:
        body["routed_dp_rank"] = body["data_parallel_rank"]
