"""A Dynamo worker that does with a request what the request's last message says, as JSON; run as a process of its own.

    {"say": "Hello"}                                  one item per token, then EOS
    {"say": "Hello", "then": {"raise": "ValueError", "message": "why"}}     fails after them
    {"then": {"raise": "HttpError", "status": 503, "message": "why"}}       fails at once
    {"say": "Hello", "then": {"finish": "error"}}     ends with that finish reason
    {"say": "Hello", "then": {"end": true}}           ends without one
    {"after_s": 1, ...}                               waits first
    {"say": "Hello", "times": 9}                      so many items, each with all its tokens, then EOS

A worker with ``--text-input`` answers with a chunk that says what it was sent.
"""

from __future__ import annotations

import argparse
import asyncio
import builtins
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamo.llm import ModelInput, ModelRuntimeConfig, ModelType, WorkerType, exceptions, register_model
from dynamo.runtime import DistributedRuntime
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

EOS = 1


class ScriptedEngine:
    """Answers preprocessed requests."""

    def __init__(self, tokenizer: Tokenizer, marks: Sequence[str]) -> None:
        """``marks`` stand before and after the last user message in a prompt."""
        self._tokenizer = tokenizer
        self._before, self._after = marks

    async def generate(self, request: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
        prompt = self._tokenizer.decode(request["token_ids"], skip_special_tokens=False)
        print(f"request {context.id()} carries {context.trace_headers()}", flush=True)
        order = json.loads(prompt[prompt.rindex(self._before) + len(self._before) : prompt.rindex(self._after)])
        await asyncio.sleep(order.get("after_s", 0))
        ids = self._tokenizer.encode(order.get("say", ""), add_special_tokens=False).ids
        for token_ids in [ids] * order["times"] if "times" in order else [[token_id] for token_id in ids]:
            yield {"token_ids": token_ids, "finish_reason": None, "index": 0}
        then = order.get("then", {"finish": "stop"})
        if "raise" in then:
            raise failure(then)
        if "finish" in then:
            yield {"token_ids": [EOS], "finish_reason": then["finish"], "index": 0}


def failure(then: dict[str, Any]) -> Exception:
    if then["raise"] == "HttpError":
        return exceptions.HttpError(then["status"], then["message"])
    kind = getattr(exceptions, then["raise"], None) or getattr(builtins, then["raise"])
    error: Exception = kind(then["message"])
    return error


async def echo(request: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Answers a request that no frontend has preprocessed."""
    said = f"text input: {request['messages'][-1]['content']}"
    choice = {"index": 0, "delta": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    yield {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": request["model"], "choices": [choice]}


async def serve(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    runtime = DistributedRuntime(loop, "file", "tcp", event_plane="zmq")
    loop.add_signal_handler(signal.SIGTERM, runtime.shutdown)
    endpoint = runtime.endpoint(f"test.{options.component}.generate")
    published = ModelRuntimeConfig()
    published.tool_call_parser = options.tool_call_parser or None
    published.reasoning_parser = "deepseek-v4"
    published.context_length = options.context_length
    engine = ScriptedEngine(Tokenizer.from_file(str(options.checkpoint / "tokenizer.json")), options.marks)
    registered = register_model(
        ModelInput.Text if options.text_input else ModelInput.Tokens,
        ModelType.Chat,
        endpoint,
        str(options.checkpoint),
        options.model,
        worker_type=WorkerType.Aggregated,
        runtime_config=published,
    )
    await asyncio.gather(endpoint.serve_endpoint(echo if options.text_input else engine.generate), registered)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves a model whose answers the requests themselves describe.")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("model")
    parser.add_argument("--component", default="backend")
    parser.add_argument("--context-length", type=int, default=1000)
    parser.add_argument("--tool-call-parser", default="deepseekv4", help="none where it is empty")
    parser.add_argument("--marks", nargs=2, default=["<｜User｜>", "<｜Assistant｜>"])
    parser.add_argument("--text-input", action="store_true")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
