"""Clients that people use, none of them ours, from the first request to the end of a tool loop.

Each is scripted by what the prompt carries: the last script in a prompt is what the model says next.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pydantic
import pydantic_ai
import pytest
from anthropic.types import ToolUseBlock
from openai.types.chat import ChatCompletionMessageFunctionToolCall
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from stand.cases import PARIS, TOOLS, call_block, result, says, user

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from stand.servers import Server
    from stand.stack import Stack

WEATHER_OF_MESSAGES = {
    "name": "get_weather",
    "description": "Weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
THOUGHT = "Why?</think>Hello 世界."


class City(pydantic.BaseModel):
    name: str
    inhabitants: int


OSLO = City(name="Oslo", inhabitants=717710)


@pytest.fixture
def frontend(stack: Stack) -> Server:
    if stack.frontend.model != "stand-in":
        pytest.skip(f"not run: only the stand-in checkpoint follows a script, this is {stack.frontend.model}")
    return stack.frontend


@pytest.fixture
def openai_client(frontend: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{frontend.url}/v1", api_key="none", max_retries=0, timeout=60)


@pytest.fixture
def anthropic_client(frontend: Server) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=frontend.url, api_key="none", max_retries=0, timeout=60)


# ------------------------------------------------------------------------------------------------------ openai-python


def test_openai_chat(openai_client: openai.OpenAI, frontend: Server) -> None:
    messages: list[Any] = [user("Hi", THOUGHT)]
    answer = openai_client.chat.completions.create(model=frontend.model, messages=messages, reasoning_effort="low")
    message = answer.choices[0].message
    assert message.content == "Hello 世界."
    assert (message.model_extra or {})["reasoning_content"] == "Why?"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_openai_chat_streamed(openai_client: openai.OpenAI, frontend: Server) -> None:
    messages: list[Any] = [user("Hi", "Hello, streamed 世界.")]
    chunks = list(openai_client.chat.completions.create(model=frontend.model, messages=messages, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello, streamed 世界."
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_openai_chat_streamed_with_its_accumulator(openai_client: openai.OpenAI, frontend: Server) -> None:
    messages: list[Any] = [user("Weather?", f"Let me look.\n\n{PARIS}")]
    tools: list[Any] = TOOLS["tools"]
    with openai_client.chat.completions.stream(model=frontend.model, messages=messages, tools=tools) as stream:
        whole = stream.get_final_completion()
    (call,) = list(whole.choices[0].message.tool_calls or ())
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Paris"})
    assert whole.choices[0].finish_reason == "tool_calls"


def test_openai_chat_parse(openai_client: openai.OpenAI, frontend: Server) -> None:
    """Structured output: the schema goes to the engine's grammar, the answer comes back as an object."""
    messages: list[Any] = [user("Oslo?", OSLO.model_dump_json())]
    answer = openai_client.chat.completions.parse(model=frontend.model, messages=messages, response_format=City)
    assert answer.choices[0].message.parsed == OSLO


def test_openai_chat_goes_round_with_a_tool(openai_client: openai.OpenAI, frontend: Server) -> None:
    messages: list[Any] = [user("Weather in Paris?", PARIS)]
    tools: list[Any] = TOOLS["tools"]
    first = openai_client.chat.completions.create(model=frontend.model, messages=messages, tools=tools)
    assert first.choices[0].finish_reason == "tool_calls"
    (call,) = list(first.choices[0].message.tool_calls or ())
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Paris"})

    messages += [first.choices[0].message, result(call.id, f"18 °C {says('It is mild in Paris.')}")]
    second = openai_client.chat.completions.create(model=frontend.model, messages=messages, tools=tools)
    assert second.choices[0].message.content == "It is mild in Paris."


def test_openai_chat_async(frontend: Server) -> None:
    async def both() -> list[str | None]:
        async with openai.AsyncOpenAI(base_url=f"{frontend.url}/v1", api_key="none", max_retries=0) as client:
            messages: list[Any] = [user("Hi", "Hello.")]
            unary = await client.chat.completions.create(model=frontend.model, messages=messages)
            stream = await client.chat.completions.create(model=frontend.model, messages=messages, stream=True)
            joined = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
            return [unary.choices[0].message.content, joined]

    assert asyncio.run(both()) == ["Hello.", "Hello."]


def test_openai_responses(openai_client: openai.OpenAI, frontend: Server) -> None:
    answer = openai_client.responses.create(model=frontend.model, input=f"Hi {says('Hello 世界.')}")
    assert (answer.status, answer.output_text) == ("completed", "Hello 世界.")


def test_openai_responses_streamed(openai_client: openai.OpenAI, frontend: Server) -> None:
    said = f"Hi {says('Hello 世界.')}"
    events = list(openai_client.responses.create(model=frontend.model, input=said, stream=True))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Hello 世界."
    assert events[-1].type == "response.completed"


def test_openai_responses_parse(openai_client: openai.OpenAI, frontend: Server) -> None:
    said = f"Oslo? {says(OSLO.model_dump_json())}"
    answer = openai_client.responses.parse(model=frontend.model, input=said, text_format=City)
    assert answer.output_parsed == OSLO


def test_openai_responses_goes_round_with_a_tool(openai_client: openai.OpenAI, frontend: Server) -> None:
    tools: list[Any] = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS["tools"]]
    said: list[Any] = [user("Weather in Paris?", PARIS)]
    first = openai_client.responses.create(model=frontend.model, input=said, tools=tools)
    (call,) = [item for item in first.output if item.type == "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris"})

    output = f"18 °C {says('It is mild in Paris.')}"
    said += [call, {"type": "function_call_output", "call_id": call.call_id, "output": output}]
    second = openai_client.responses.create(model=frontend.model, input=said, tools=tools)
    assert second.output_text == "It is mild in Paris."


# --------------------------------------------------------------------------------------------------- anthropic-python


def test_anthropic_messages(anthropic_client: anthropic.Anthropic, frontend: Server) -> None:
    messages: list[Any] = [user("Hi", "Hello 世界.")]
    answer = anthropic_client.messages.create(model=frontend.model, max_tokens=100, messages=messages)
    assert [block.text for block in answer.content if block.type == "text"] == ["Hello 世界."]
    assert answer.stop_reason == "end_turn"


def test_anthropic_messages_streamed(anthropic_client: anthropic.Anthropic, frontend: Server) -> None:
    messages: list[Any] = [user("Hi", "Hello 世界.")]
    with anthropic_client.messages.stream(model=frontend.model, max_tokens=100, messages=messages) as stream:
        assert "".join(stream.text_stream) == "Hello 世界."
        assert stream.get_final_message().stop_reason == "end_turn"


@pytest.mark.parametrize("streamed", [False, True], ids=["unary", "streamed"])
def test_anthropic_messages_goes_round_with_a_tool(
    anthropic_client: anthropic.Anthropic, frontend: Server, streamed: bool
) -> None:
    def ask(messages: list[Any]) -> anthropic.types.Message:
        body: dict[str, Any] = {"model": frontend.model, "max_tokens": 200, "tools": [WEATHER_OF_MESSAGES]}
        if not streamed:
            message: anthropic.types.Message = anthropic_client.messages.create(messages=messages, **body)
            return message
        with anthropic_client.messages.stream(messages=messages, **body) as stream:
            return stream.get_final_message()

    messages: list[Any] = [user("Weather in Paris?", PARIS)]
    first = ask(messages)
    assert first.stop_reason == "tool_use"
    (call,) = [block for block in first.content if isinstance(block, ToolUseBlock)]
    assert (call.name, call.input) == ("get_weather", {"city": "Paris"})

    output = f"18 °C {says('It is mild in Paris.')}"
    tool_result = {"type": "tool_result", "tool_use_id": call.id, "content": output}
    second = ask([*messages, {"role": "assistant", "content": first.content}, user([tool_result])])
    assert [block.text for block in second.content if block.type == "text"] == ["It is mild in Paris."]


# --------------------------------------------------------------------------------------------------- an agent framework


@pytest.mark.parametrize("streamed", [False, True], ids=["unary", "streamed"])
@pytest.mark.parametrize("door", ["chat", "messages"])
def test_pydantic_ai_takes_two_steps_with_tools(frontend: Server, door: str, streamed: bool) -> None:
    """The agent calls one tool, with what it learned another, and then answers."""
    agent = pydantic_ai.Agent(model_of(frontend, door))
    asked: list[str] = []

    @agent.tool_plain
    def find_city(country: str) -> str:
        """The largest city of a country."""
        asked.append(country)
        return f"Oslo {says(call_block(('count_people', {'city': 'Oslo'})))}"

    @agent.tool_plain
    def count_people(city: str) -> str:
        """How many people live in a city."""
        asked.append(city)
        return f"717710 {says('Oslo has 717710 inhabitants.')}"

    async def run() -> str:
        prompt = f"How large is Norway's largest city? {says(call_block(('find_city', {'country': 'Norway'})))}"
        if not streamed:
            return (await agent.run(prompt)).output
        async with agent.run_stream(prompt) as stream:
            return await stream.get_output()

    assert asyncio.run(run()) == "Oslo has 717710 inhabitants."
    assert asked == ["Norway", "Oslo"]


def model_of(frontend: Server, door: str) -> Model:
    if door == "chat":
        provider = OpenAIProvider(base_url=f"{frontend.url}/v1", api_key="none")
        # It breaks what looks like a special token in a text (R14), and a script stands between two of them.
        profile = ModelProfile(may_tokenize_special_tokens_in_content=False)
        return OpenAIChatModel(frontend.model, provider=provider, profile=profile)
    return AnthropicModel(frontend.model, provider=AnthropicProvider(base_url=frontend.url, api_key="none"))
