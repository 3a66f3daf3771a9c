"""The floor of what crosses into Python: an engine that reads every item of a worker, drops it, and says one chunk.

    python -m sglang_parity.frontend --dyn-chat-processor floor:provider

The prompt is a fixed one: nothing is rendered.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dynamo.llm import PythonAsyncEngine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

PROMPT = [0, 128803, 23166, 128804, 128822]


def provider(_config: Any, _options: dict[str, Any]) -> Callable[..., Awaitable[PythonAsyncEngine]]:
    """What Dynamo calls to get the engine of a model."""

    async def chat_engine_factory(_instance_id: Any, _card: Any, routed_engine: Any) -> PythonAsyncEngine:
        async def generate(request: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
            tokens = 0
            async for item in await routed_engine.generate(to_engine(request), context=context):
                data = item.data()
                if data is not None:
                    tokens += len(data["token_ids"])
            yield {
                "id": context.id(),
                "object": "chat.completion.chunk",
                "created": 0,
                "model": request["model"],
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": "."}, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": len(PROMPT),
                    "completion_tokens": tokens,
                    "total_tokens": len(PROMPT) + tokens,
                },
            }

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
