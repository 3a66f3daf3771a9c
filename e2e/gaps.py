"""Host gaps: where the front that every Dynamo processor stands behind makes parity impossible.

Each is held from both sides, by what SGLang does and by what Dynamo does, so that a closed gap fails its test and
leaves the list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stand.cases import (
    GREEDY,
    MATRIX,
    PARIS,
    THINKING,
    TOOLS,
    WEATHER,
    Message,
    assistant,
    called,
    result,
    text_part,
    tool,
    user,
)
from stand.servers import MODES, Body, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator

HI = [user("Hi")]
UNARY: tuple[Mode, ...] = ("unary",)


@dataclass(frozen=True, slots=True)
class RequestGap:
    """A request that Dynamo's front refuses, or changes before the processor sees it.

    Attributes:
        name: the field, and where it needs saying the value.
        body: the request.
        sglang: what SGLang does with it.
        dynamo: what Dynamo's front does.
        reference_status: SGLang's status.
        frontend_status: Dynamo's.
        frontend_says: text in Dynamo's refusal, which shows that it refuses for this field.
        only_reference: where both answer, text that only SGLang's prompt holds.
        only_frontend: the same of Dynamo's.
        modes: the modes that it concerns.
    """

    name: str
    body: Body
    sglang: str
    dynamo: str
    reference_status: int = 200
    frontend_status: int = 400
    frontend_says: str = ""
    only_reference: str = ""
    only_frontend: str = ""
    modes: tuple[Mode, ...] = MODES


@dataclass(frozen=True, slots=True)
class FieldGap:
    """A field of an answer that one server sends and the other does not. A null counts as not sent.

    Attributes:
        name: path of the field, in a unary body or in the chunks of a stream; ``[]`` stands for every item.
        sent_by: the server that sends it.
        why: what the field is, and where the other server has it if anywhere.
        modes: the modes that it concerns.
        body: a request whose answer holds the field at the one and not at the other.
    """

    name: str
    sent_by: str
    why: str
    modes: tuple[Mode, ...] = MODES
    body: Body = field(default_factory=lambda: EVERY_FIELD)


# An answer with as many fields as one answer can have.
EVERY_FIELD: Body = {
    "messages": [user("Go.", f"Look.</think>Looking.\n\n{PARIS}")],
    "logprobs": True,
    "top_logprobs": 1,
    **THINKING,
    **TOOLS,
}
STOPPED: Body = {"messages": [user("Go.", "one two three")], "stop": ["three"]}
REASONING_ONLY: Body = {"messages": [user("Go.", "Only reasoning.</think>")], **THINKING}


def _refused(name: str, value: Any, sglang: str, modes: tuple[Mode, ...] = MODES) -> RequestGap:
    """A field of SGLang's own, or of nobody's, that Dynamo does not know."""
    body = {"messages": HI, **GREEDY, name: value}
    return RequestGap(f"E13 {name}", body, sglang, "refuses the field", frontend_says=f"`{name}`", modes=modes)


def _unknown_fields() -> Iterator[RequestGap]:
    yield _refused("foo", 1, "ignores an unknown field")
    yield _refused("task", "query", "appends the task's token to the prompt")
    yield _refused("reasoning", {"effort": "high"}, "takes the effort from it")
    yield _refused("separate_reasoning", False, "leaves reasoning in the content")
    yield _refused("stream_reasoning", False, "sends reasoning in one piece")
    yield _refused("regex", "[a-z]+", "constrains the output")
    yield _refused("ebnf", 'root ::= "a"', "constrains the output")
    yield _refused("stop_regex", "a+", "stops at a match")
    yield _refused("no_stop_trim", True, "keeps the stop string")
    yield _refused("return_token_ids", True, "adds the output's ids", UNARY)
    yield _refused("return_meta_info", True, "adds the engine's meta information", UNARY)
    yield _refused("return_cached_tokens_details", True, "adds where cached tokens came from")
    yield _refused("input_ids", [0, 128803, 23166], "takes them in place of the messages")
    yield _refused("rid", "r1", "names the request by it")
    yield _refused("extra_key", "k", "keeps caches apart by it")
    yield _refused("priority", 1, "schedules by it")
    yield _refused("session_id", "s", "takes it")
    yield _refused("session_params", {}, "takes it")
    yield _refused("custom_params", {"a": 1}, "hands it to logit processors")
    yield _refused("routed_dp_rank", 0, "routes by it")
    yield _refused("bootstrap_host", "h", "takes it, for disaggregated serving")
    yield _refused("images_config", {}, "takes it")
    yield _refused("use_audio_in_video", True, "takes it")


def _values() -> Iterator[RequestGap]:
    """Values of known fields that Dynamo's types or checks do not let through."""

    def refused(name: str, says: str, sglang: str, **fields: Any) -> RequestGap:
        return RequestGap(name, {"messages": HI, **GREEDY, **fields}, sglang, "refuses it", frontend_says=says)

    yield refused("E03 max_tokens 0", "Max tokens must be greater than 0", "takes it for no limit", max_tokens=0)
    yield refused("E03 temperature 99", "between 0 and 2", "samples with it", temperature=99)
    yield refused("n above 128", "between 1 and 128", "answers with that many choices", n=129, max_tokens=1)
    yield refused("top_logprobs above 20", "between 0 and 20", "gives that many", logprobs=True, top_logprobs=21)
    yield refused("stop: no strings", "cannot be empty", "takes it for none", stop=[])
    yield refused("tools: none", "tools array cannot be empty", "takes it for none", tools=[])
    yield refused("n as text", "expected u8", "reads numbers written as text", n="1")
    yield refused("temperature as text", "expected f32", "reads numbers written as text", temperature="0.5")
    yield refused("logprobs as text", "expected a boolean", "reads booleans written as text", logprobs="yes")
    yield refused("seed as a float", "expected i64", "reads a whole float as an integer", seed=1.0)
    yield refused("reasoning_effort as a number", "expected string", "reads a number", reasoning_effort=0.5)
    yield refused("reasoning_effort as numeric text", "unknown variant", "reads a number", reasoning_effort="0.5")
    tag = {"begin": "<a>", "schema": {"type": "object"}, "end": "</a>"}
    structure = {"type": "structural_tag", "structures": [tag], "triggers": ["<a"]}
    yield refused(
        "response_format structural_tag", "structural_tag", "constrains the output", response_format=structure
    )
    schema = {"type": "json_schema", "schema": {"type": "object"}}
    yield refused(
        "response_format schema beside type",
        "json_schema",
        "reads the short form",
        response_format=schema,
        max_tokens=4,
    )
    yield RequestGap(
        "n 0",
        {"messages": HI, "n": 0, **GREEDY},
        "fails once it counts the usage",
        "refuses it",
        reference_status=400,
        frontend_says="n must be between 1 and 128",
        modes=UNARY,
    )
    yield RequestGap(
        "continue_final_message alone",
        {"messages": [*HI, assistant("I was say")], "continue_final_message": True, **GREEDY},
        "continues the message",
        "asks for add_generation_prompt: false beside it",
        frontend_says="add_generation_prompt",
    )
    yield RequestGap(
        "stream_options without stream",
        {"messages": HI, "stream_options": {"include_usage": True}, **GREEDY},
        "ignores it",
        "refuses it",
        frontend_says="stream_options",
        modes=UNARY,
    )
    yield RequestGap(
        "model unknown",
        {"messages": HI, "model": "no-such-model", **GREEDY},
        "answers with the model it has",
        "answers 404",
        frontend_status=404,
        frontend_says="Model not found",
    )
    yield RequestGap(
        "function_call",
        {"messages": HI, "function_call": "auto", **GREEDY},
        "ignores it",
        "answers 501",
        frontend_status=501,
        frontend_says="function_call",
    )
    for name, fields in (("logprobs", {"logprobs": None}), ("parallel_tool_calls", {"parallel_tool_calls": None})):
        yield RequestGap(
            f"{name} null",
            {"messages": HI, **GREEDY, **fields},
            "refuses it",
            "takes it for absent",
            reference_status=400,
            frontend_status=200,
        )


def _messages() -> Iterator[RequestGap]:
    """Messages that Dynamo's types do not let through."""

    def refused(name: str, says: str, sglang: str, *messages: Message, **fields: Any) -> RequestGap:
        body = {"messages": [*HI, *messages], **GREEDY, **fields}
        return RequestGap(name, body, sglang, "refuses it", frontend_says=says)

    reminder = {"role": "latest_reminder", "content": "Be brief."}
    yield refused("role latest_reminder", "latest_reminder", "renders it", reminder)
    yield refused("role in capitals", "System", "reads it in any case", {"role": "System", "content": "S"})
    yield refused("system content null", "content", "takes it for none", {"role": "system", "content": None})
    tools = {"role": "developer", "content": "D", "tools": [WEATHER]}
    yield refused("tools of a developer message", "`tools`", "offers them", tools)
    thought = assistant([{"type": "thinking", "thinking": "t"}, text_part("A")])
    yield refused(
        "thinking parts of the assistant", "AssistantMessageContent", "takes them for reasoning", thought, *HI
    )
    part = user([text_part("a"), {"type": "tool_reference", "name": "f"}])
    yield refused("part tool_reference", "UserMessageContent", "skips the part", part)
    no_arguments = {"id": "c", "type": "function", "function": {"name": "f"}}
    yield refused("call without arguments", "arguments", "takes it for {}", assistant("A", tool_calls=[no_arguments]))
    no_id = assistant(None, tool_calls=[{**called("c", "f", "{}"), "id": None}])
    yield refused("call id null", "expected a string", "matches results in order", no_id, result("c", "r"))
    null_result = {"role": "tool", "tool_call_id": "c", "content": None}
    yield refused("tool content null", "ToolMessageContent", "takes it for none", null_result)
    flagged = {"type": "function", "function": {"name": "f", "strict": 1}}
    yield refused("tool strict: 1", "expected a boolean", "reads it as true", tools=[flagged])
    open_object = {**MATRIX, "function": {**MATRIX["function"], "strict": True}}
    yield refused("tool strict: true, open schema", "additionalProperties", "renders it", tools=[open_object])
    yield refused("tool without type", "`type`", "takes it for a function", tools=[{"function": {"name": "f"}}])


def _rewritten() -> Iterator[RequestGap]:
    """Requests that arrive as other requests."""
    both_efforts = {"reasoning_effort": "high", "chat_template_kwargs": {"reasoning_effort": "low"}}
    yield RequestGap(
        "reasoning_effort in both places (R08)",
        {"messages": HI, **GREEDY, **both_efforts},
        "takes that of chat_template_kwargs",
        "writes the request's over it",
        frontend_status=200,
        only_frontend="Absolute maximum",
    )
    yield RequestGap(
        "reasoning_effort in chat_template_kwargs only",
        {"messages": HI, **GREEDY, "chat_template_kwargs": {"reasoning_effort": "max"}},
        "leaves thinking off",
        "turns thinking on",
        frontend_status=200,
        only_frontend="Beyond maximum",
    )
    yield RequestGap(
        "enable_thinking only",
        {"messages": HI, **GREEDY, "chat_template_kwargs": {"enable_thinking": True}},
        "leaves thinking off: this model's key is `thinking`",
        "fills in `thinking`",
        frontend_status=200,
        only_reference="<｜Assistant｜></think>",
        only_frontend="<｜Assistant｜><think>",
    )
    yield RequestGap(
        "tool defer_loading",
        {"messages": HI, **GREEDY, "tools": [{**tool("f", "d"), "defer_loading": True}]},
        "renders it",
        "drops it",
        frontend_status=200,
        only_reference='"defer_loading": true',
    )


def _lost() -> Iterator[RequestGap]:
    """What is taken, and never reaches the engine."""
    first_word, eos = 2337, 1
    for name, value, sglang, dynamo in (
        ("stop_token_ids", [first_word], "ends the answer at one of them", "hides the field from processors"),
        ("logit_bias", {first_word: -100, eos: 100}, "biases the sampler", "has a worker that does not pass it on"),
    ):
        yield RequestGap(name, {"messages": HI, **GREEDY, name: value}, sglang, dynamo, frontend_status=200)


REQUEST_GAPS = (*_unknown_fields(), *_values(), *_messages(), *_rewritten(), *_lost())
FIELD_GAPS = (
    FieldGap("metadata", "reference", "weight versions", UNARY),
    FieldGap("choices[].matched_stop", "reference", "the stop string or id that ended the answer", body=STOPPED),
    FieldGap("usage.reasoning_tokens", "reference", "in usage.completion_tokens_details at the frontend"),
    FieldGap("usage.completion_tokens_details", "frontend", "at usage.reasoning_tokens at the reference"),
    FieldGap("choices[].message.tool_calls[].index", "reference", "the place in the list", UNARY),
    FieldGap("choices[].message.content", "reference", "empty text; null at the frontend", UNARY, REASONING_ONLY),
)
