"""Requests that SGLang's server refuses, and who refuses them at the frontend.

What the processor or the worker refuses has SGLang's status and message. What Dynamo's front refuses before any
processor sees it has a text of the front's, a host gap; where its status differs too, the request is in ``gaps``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .cases import TOOLS, assistant, called, result, system, tool, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .servers import Body

Decider = Literal["front", "processor", "worker"]


@dataclass(frozen=True, slots=True)
class RefusedCase:
    """A request that both servers refuse with the same status.

    Attributes:
        name: id of the test.
        body: the request.
        by: who refuses it at the frontend.
        says: text in the front's refusal, which shows that it refuses for the same reason.
        streamed_by_reference: whether the reference streams the refusal, behind a status of 200.
    """

    name: str
    body: Body
    by: Decider
    says: str = ""
    streamed_by_reference: bool = False


HI = [user("Hi")]


def _refused(name: str, by: Decider, says: str = "", /, **fields: Any) -> RefusedCase:
    return RefusedCase(name, {"messages": HI, **fields}, by, says)


def _refusals() -> Iterator[RefusedCase]:
    yield from _messages()
    yield from _tools()
    yield from _output()
    yield from _sampling()
    yield from _length()


def _messages() -> Iterator[RefusedCase]:
    def media(kind: str, **content: Any) -> dict[str, Any]:
        return user([{"type": kind, kind: content}])

    def arguments(text: str) -> list[dict[str, Any]]:
        return [*HI, assistant(None, tool_calls=[called("c", "f", text)]), result("c", "x")]

    yield _refused("messages-empty", "front", "messages", messages=[])
    yield _refused("messages-a-text", "front", "expected a sequence", messages="Hi")
    yield _refused("E01-role-unknown", "front", "`tool_use`", messages=[{"role": "tool_use", "content": "x"}])
    yield _refused("content-missing", "front", "`content`", messages=[{"role": "user"}])
    yield _refused("content-null", "front", "UserMessageContent", messages=[user(None)])  # type: ignore[arg-type]
    yield _refused("image", "processor", messages=[media("image_url", url="http://localhost/a.png")])
    yield _refused("video", "processor", messages=[media("video_url", url="http://localhost/a.mp4")])
    yield _refused("audio", "processor", messages=[media("input_audio", data="AA==", format="wav")])
    yield _refused("R19-arguments-not-json", "front", "arguments", messages=arguments("{not json"))
    yield _refused("arguments-an-array", "front", "arguments", messages=arguments("[]"))
    yield _refused("developer-empty", "processor", messages=[{"role": "developer", "content": ""}])
    function = {"role": "function", "name": "f", "content": "x"}
    yield _refused("role-function", "processor", messages=[*HI, function])
    going_on = {"continue_final_message": True, "add_generation_prompt": False}
    yield _refused("continuation-of-nothing", "processor", messages=[assistant("A")], **going_on)
    yield _refused("effort-unknown", "front", "`bogus`", reasoning_effort="bogus")
    yield _refused("effort-a-list", "processor", chat_template_kwargs={"reasoning_effort": []})
    yield _refused("template-kwargs-a-list", "front", "expected a map", chat_template_kwargs=[])
    yield _refused("template-in-the-request", "front", "chat_template", chat_template_kwargs={"chat_template": "x"})


def _tools() -> Iterator[RefusedCase]:
    named = {"type": "function", "function": {"name": "no_such_tool"}}
    offered = {"type": "function", "function": {"name": "get_weather"}}
    as_json = {"response_format": {"type": "json_object"}}
    wrong = {"type": "function", "function": {"name": "f", "parameters": {"type": "objekt"}}}
    yield _refused("required-without-tools", "front", "tool", tool_choice="required")
    yield _refused("named-tool-missing", "front", "no_such_tool", tool_choice=named, **TOOLS)
    yield _refused("required-and-response-format", "processor", tool_choice="required", **TOOLS, **as_json)
    yield _refused("named-and-response-format", "processor", tool_choice=offered, **TOOLS, **as_json)
    yield _refused("tool-schema-wrong", "processor", tools=[wrong])
    yield _refused("tool-without-function", "front", "`function`", tools=[{"type": "function"}])
    conflict = [
        {"type": "custom", "function": {"name": name, "parameters": {"$defs": {"n": {"type": name}}}}}
        for name in ("string", "null")
    ]
    yield _refused("tool-definitions-in-conflict", "front", "`custom`", tool_choice="required", tools=conflict)
    doubled = {**system("S"), "tools": [tool("f", "d")]}
    yield _refused("tool-names-doubled", "processor", messages=[doubled, *HI], tools=[tool("f", "d")])


def _output() -> Iterator[RefusedCase]:
    def schema(schema: dict[str, Any]) -> dict[str, Any]:
        return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}

    yield _refused("response-format-unknown", "front", "`xml`", response_format={"type": "xml"})
    yield _refused("schema-missing", "front", "`json_schema`", response_format={"type": "json_schema"})
    for name, grammar in (
        ("E02-grammar-of-an-unknown-type", schema({"type": "objectx"})),
        ("E02-grammar-with-a-broken-pattern", schema({"type": "string", "pattern": "("})),
    ):
        body = {"messages": HI, "response_format": grammar}
        yield RefusedCase(name, body, "worker", streamed_by_reference=True)
    yield _refused("stream-options-a-text", "front", "StreamOptions", stream_options="x")


def _sampling() -> Iterator[RefusedCase]:
    yield _refused("temperature-negative", "front", "Temperature", temperature=-1)
    yield _refused("top-p-0", "front", "Top_p", top_p=0)
    yield _refused("top-p-above-1", "front", "Top_p", top_p=2)
    yield _refused("top-k-0", "processor", top_k=0)
    yield _refused("top-k-below-minus-1", "front", "Top_k", top_k=-2)
    yield _refused("min-p-negative", "front", "Min_p", min_p=-0.5)
    yield _refused("min-p-above-1", "front", "Min_p", min_p=1.5)
    yield _refused("frequency-penalty-above-2", "front", "Frequency penalty", frequency_penalty=3)
    yield _refused("presence-penalty-below-minus-2", "front", "Presence penalty", presence_penalty=-3)
    yield _refused("repetition-penalty-0", "front", "Repetition penalty", repetition_penalty=0)
    yield _refused("repetition-penalty-above-2", "front", "Repetition penalty", repetition_penalty=3)
    yield _refused("seed-beyond-64-bits", "front", "expected i64", seed=2**63)
    yield _refused("stop-40-strings", "front", "32", stop=["a"] * 40)
    yield _refused("stop-a-number", "front", "Stop", stop=5)
    yield _refused("logit-bias-beyond-the-vocabulary", "processor", logit_bias={"999999": 1})
    yield _refused("logit-bias-of-a-negative-id", "front", "Logit bias key", logit_bias={"-1": 1})
    yield _refused("logit-bias-of-a-word", "front", "Logit bias key", logit_bias={"word": 1})


def _length() -> Iterator[RefusedCase]:
    yield _refused("E03-max-tokens-negative", "front", "`-1`", max_tokens=-1)
    yield _refused("E03-max-tokens-a-word", "front", '"ten"', max_tokens="ten")
    yield _refused("min-tokens-negative", "front", "`-1`", min_tokens=-1)
    yield _refused("min-tokens-above-max-tokens", "processor", min_tokens=5, max_tokens=2)
    yield _refused("max-tokens-beyond-the-context", "processor", max_tokens=70000)
    yield _refused("max-completion-tokens-beyond-the-context", "processor", max_completion_tokens=70000)
    yield _refused("prompt-and-max-tokens-beyond-the-context", "processor", max_tokens=65536)
    yield _refused("E04-prompt-beyond-the-context", "processor", messages=[user("word " * 70000)])


REFUSALS = tuple(_refusals())
assert len({case.name for case in REFUSALS}) == len(REFUSALS)
