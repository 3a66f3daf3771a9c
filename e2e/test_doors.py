"""The other doors: ``/v1/responses`` and ``/v1/messages`` lead to the same prompt and the same answer as chat.

The stand-in checkpoint answers a prompt without a script with words that depend on the prompt's ids alone: two equal
answers had equal ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import anthropic
import openai
import pytest

from stand.answers import Answer
from stand.cases import GREEDY, TOOLS, assistant, called, result, says, system, user
from stand.servers import MODES, Body, Mode, Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from stand.stack import Stack

Door = Literal["responses", "messages"]
DOORS: tuple[Door, ...] = ("responses", "messages")

CALL = ("c1", "get_weather", '{"city": "Oslo"}')
FUNCTIONS = [tool["function"] for tool in TOOLS["tools"]]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation as each door takes it, without the model."""

    name: str
    chat: Body
    responses: Body
    messages: Body


@dataclass(frozen=True, slots=True)
class Said:
    """What a door answers.

    Attributes:
        text: reasoning, then content.
        calls: name and arguments of each tool call.
    """

    text: str
    calls: tuple[tuple[str, Any], ...]
    input_tokens: int
    output_tokens: int


def conversation(name: str, chat: list[dict[str, Any]], messages: Body, responses: Body | None = None) -> Conversation:
    """``responses`` takes the messages of the chat form where it is not told otherwise."""
    return Conversation(name, {"messages": chat, **GREEDY}, responses or {"input": chat}, messages)


HISTORY = [user("Weather?"), assistant(None, tool_calls=[called(*CALL)]), result("c1", "rain")]
HISTORY_OF_RESPONSES = [
    user("Weather?"),
    {"type": "function_call", "call_id": CALL[0], "name": CALL[1], "arguments": CALL[2]},
    {"type": "function_call_output", "call_id": CALL[0], "output": "rain"},
]
HISTORY_OF_MESSAGES = [
    user("Weather?"),
    assistant([{"type": "tool_use", "id": CALL[0], "name": CALL[1], "input": json.loads(CALL[2])}]),
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": CALL[0], "content": "rain"}]},
]
TOOLS_OF_RESPONSES = [{"type": "function", **function} for function in FUNCTIONS]
TOOLS_OF_MESSAGES = [
    {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]} for each in FUNCTIONS
]
TURNS = [user("Hi"), assistant("Hello."), user("And now?")]

CONVERSATIONS = (
    conversation("one turn", [user("Hi")], {"messages": [user("Hi")]}),
    conversation("text", [user("Hi")], {"messages": [user("Hi")]}, {"input": "Hi"}),
    conversation("turns", TURNS, {"messages": TURNS}),
    conversation("system", [system("Be terse."), user("Hi")], {"system": "Be terse.", "messages": [user("Hi")]}),
    conversation(
        "instructions",
        [system("Be terse."), user("Hi")],
        {"system": [{"type": "text", "text": "Be terse."}], "messages": [user("Hi")]},
        {"instructions": "Be terse.", "input": "Hi"},
    ),
    Conversation(
        "tools",
        {"messages": [user("Weather?")], **TOOLS},
        {"input": "Weather?", "tools": TOOLS_OF_RESPONSES},
        {"messages": [user("Weather?")], "tools": TOOLS_OF_MESSAGES},
    ),
    Conversation(
        "tool result",
        {"messages": HISTORY, **TOOLS},
        {"input": HISTORY_OF_RESPONSES, "tools": TOOLS_OF_RESPONSES},
        {"messages": HISTORY_OF_MESSAGES, "tools": TOOLS_OF_MESSAGES},
    ),
)


# What Dynamo's front loses on the way through a door: conversation, door, what.
THINKING = Conversation(
    "thinking",
    {"messages": [user("Hi", "Why?</think>Hello.")], "reasoning_effort": "high"},
    {"input": f"Hi {says('Why?</think>Hello.')}", "reasoning": {"effort": "high"}},
    {"messages": [user("Hi", "Why?</think>Hello.")], "thinking": {"type": "enabled", "budget_tokens": 1024}},
)
GAPS: dict[Door, tuple[str, str]] = {
    "responses": ("Hello.", "the front has no reasoning items: the text is lost, its tokens are counted"),
    "messages": ("Why?</think>Hello.", "the front does not hand `thinking` on: the model is not asked to think"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("door", DOORS)
def test_thinking_through_a_door_is_a_host_gap(
    stack: Stack, door: Door, mode: Mode, record_property: Callable[[str, object], None]
) -> None:
    if stack.frontend.model != "stand-in":
        pytest.skip(f"not run: only the stand-in checkpoint follows a script, this is {stack.frontend.model}")
    text, why = GAPS[door]
    assert through(stack.reference, door, THINKING, mode).text == "Why?Hello."
    assert through(stack.frontend, door, THINKING, mode).text == text, f"the gap has changed or closed: {why}"
    record_property("note", why)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("each", CONVERSATIONS, ids=lambda each: each.name)
def test_a_door_leads_to_the_prompt_of_chat(stack: Stack, each: Conversation, door: Door, mode: Mode) -> None:
    assert through(stack.frontend, door, each, mode) == through_chat(stack.frontend, each, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("each", CONVERSATIONS, ids=lambda each: each.name)
def test_a_door_answers_as_the_references(stack: Stack, each: Conversation, door: Door, mode: Mode) -> None:
    assert through(stack.frontend, door, each, mode) == through(stack.reference, door, each, mode)


def through_chat(server: Server, each: Conversation, mode: Mode) -> Said:
    answer = server.ask(each.chat, mode)
    assert isinstance(answer, Answer), answer
    (choice,) = answer.choices
    assert answer.usage
    calls = tuple((call.name, json.loads(call.arguments)) for call in choice.tool_calls)
    text = choice.reasoning_content + choice.content
    return Said(text, calls, answer.usage.prompt_tokens, answer.usage.completion_tokens)


def through(server: Server, door: Door, each: Conversation, mode: Mode) -> Said:
    return (
        of_responses(server, each.responses, mode) if door == "responses" else of_messages(server, each.messages, mode)
    )


def of_responses(server: Server, body: Body, mode: Mode) -> Said:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=60)
    whole: dict[str, Any] = {"model": server.model, **GREEDY, **body}
    if mode == "unary":
        response = client.responses.create(**whole)
    else:
        *_, last = client.responses.create(**whole, stream=True)
        assert last.type == "response.completed", last
        response = last.response
    calls = [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]
    parts = [part for item in response.output if item.type in ("reasoning", "message") for part in item.content or ()]
    text = "".join(part.text for part in parts if part.type in ("reasoning_text", "output_text"))
    assert response.usage
    return Said(text, tuple(calls), response.usage.input_tokens, response.usage.output_tokens)


def of_messages(server: Server, body: Body, mode: Mode) -> Said:
    client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, timeout=60)
    whole: dict[str, Any] = {"model": server.model, "max_tokens": 2000, **body}
    if mode == "unary":
        message = client.messages.create(**whole)
    else:
        with client.messages.stream(**whole) as stream:
            message = stream.get_final_message()
    calls = tuple((block.name, block.input) for block in message.content if block.type == "tool_use")
    texts = [
        block.thinking if block.type == "thinking" else block.text
        for block in message.content
        if block.type in ("thinking", "text")
    ]
    return Said("".join(texts), calls, message.usage.input_tokens, message.usage.output_tokens)


def test_completions_keep_dynamos_own_path(stack: Stack) -> None:
    """The text is the prompt, as SGLang takes it too: no chat format, no processor of ours."""
    prompt = "Once upon a time"
    ids = stack.reference.client.post(f"{stack.reference.url}/tokenize", json={"prompt": prompt}).json()["count"]
    answers = [
        server.client.post(
            f"{server.url}/v1/completions", json={"model": server.model, "prompt": prompt, "max_tokens": 12, **GREEDY}
        ).json()
        for server in (stack.reference, stack.frontend)
    ]
    reference, frontend = ((each["choices"][0]["text"], each["usage"]["prompt_tokens"]) for each in answers)
    assert frontend == reference
    assert frontend[1] == ids
