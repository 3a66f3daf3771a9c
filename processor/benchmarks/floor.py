"""The floor of what crosses into Python: engines that read every item of a worker, and make nothing of it.

    python -m sglang_parity.frontend --dyn-chat-processor floor:provider    drops all, and says one chunk at the end
    python -m sglang_parity.frontend --dyn-chat-processor floor:speaking    says a ready chunk for every four tokens

The prompt is a fixed one: nothing is rendered.

Ways under it, as far as they were tried with Dynamo 1.6.1 and 64 streams:

- A worker that sends two or four tokens an item (SGLang's ``--stream-interval``) brings the floor to about two thirds
  and a half of what it is at one, and the processor from 1.6 to 1.1 times the floor at one. Clients then get their
  tokens in twos or fours at any load: it is the operator's choice.
- Items that are read ahead, or from a callback of the future in place of a task, cost what ``async for`` does.
- Several frontends do not share a port: Dynamo refuses one that is in use. Behind a balancer each has its own loop.

Where the CPU of 64 streams goes, in busy samples of ``py-spy record --native --threads``: of the processor's, 56 % is
Dynamo's binding and its threads, 35 % our Python (reading the items 20, answers 5, engine 4, detokenizer 2) and 9 % the
event loop; of ready chunks', 72, 11 and 17 %.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dynamo.llm import PythonAsyncEngine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    ChatEngineFactory = Callable[..., Awaitable[PythonAsyncEngine]]

PROMPT = [0, 128803, 23166, 128804, 128822]
SPOKEN_TOKENS = 4


def provider(_config: Any, _options: dict[str, Any]) -> ChatEngineFactory:
    """What Dynamo calls to get the engine of a model."""
    return factory(None)


def speaking(_config: Any, _options: dict[str, Any]) -> ChatEngineFactory:
    """The same for an engine that says something on its way."""
    return factory(SPOKEN_TOKENS)


def factory(tokens_per_chunk: int | None) -> ChatEngineFactory:
    async def chat_engine_factory(_instance_id: Any, _card: Any, routed_engine: Any) -> PythonAsyncEngine:
        async def generate(request: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
            tokens = said = 0
            head = {"id": context.id(), "object": "chat.completion.chunk", "created": 0, "model": request["model"]}
            ready = {**head, "choices": [{"index": 0, "delta": {"content": " word" * SPOKEN_TOKENS}}]}
            async for item in await routed_engine.generate(to_engine(request), context=context):
                data = item.data()
                if data is not None:
                    tokens += len(data["token_ids"])
                    if tokens_per_chunk and tokens - said >= tokens_per_chunk:
                        said = tokens
                        yield ready
            choice = {"index": 0, "delta": {"role": "assistant", "content": "."}, "finish_reason": "stop"}
            prompt = len(PROMPT)
            usage = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
            yield {**head, "choices": [choice], "usage": usage}

        return PythonAsyncEngine(generate, asyncio.get_running_loop())

    return chat_engine_factory


def to_engine(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": request["model"],
        "token_ids": PROMPT,
        "stop_conditions": {"max_tokens": request["max_tokens"], "ignore_eos": True},
        "sampling_options": {},
        "output_options": {},
        "eos_token_ids": [1],
        "annotations": [],
    }
