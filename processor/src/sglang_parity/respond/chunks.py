"""The ``chat.completion.chunk`` objects of one response."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sglang_parity.parse import Message, ToolCall

Chunk = dict[str, Any]


class Chunks:
    """Builds the chunks of one response, in the shapes of ``serving_chat.py::_generate_chat_stream``.

    Fields that are null there are left out: Dynamo's typed front fills them in or drops them as it does for every
    processor. So are fields that it has no place for (``matched_stop``, ``metadata``).
    """

    def __init__(self, response_id: str, model: str, extensions: dict[str, Any]) -> None:
        """``extensions`` are more fields of the first chunk."""
        self._extensions = extensions
        self._head: Chunk = {
            "id": response_id,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }

    def role(self, index: int) -> Chunk:
        return self._chunk(index, {"role": "assistant", "content": ""})

    def reasoning(self, index: int, text: str) -> Chunk:
        return self._chunk(index, {"reasoning_content": text})

    def content(self, index: int, text: str) -> Chunk:
        return self._chunk(index, {"content": text})

    def tool_call(self, index: int, call: ToolCall) -> Chunk:
        return self._chunk(index, {"tool_calls": [_tool_call(call)]})

    def logprobs(self, index: int, entries: Sequence[dict[str, Any]]) -> Chunk:
        """The logprobs of a step whose text is held back, or goes out without them."""
        chunk = self._chunk(index, {})
        chunk["choices"][0]["logprobs"] = {"content": entries}
        return chunk

    def finish(self, index: int, reason: str) -> Chunk:
        chunk = self._chunk(index, {})
        chunk["choices"][0]["finish_reason"] = reason
        return chunk

    def usage(self, usage: dict[str, Any]) -> Chunk:
        return {**self._head, "choices": [], "usage": usage}

    def whole(
        self, index: int, message: Message, finish_reason: str, logprobs: Sequence[dict[str, Any]] | None
    ) -> Chunk:
        """A finished choice in one chunk: the front folds it into a unary body."""
        delta: dict[str, Any] = {"role": "assistant", "content": message.content}
        if message.reasoning is not None:
            delta["reasoning_content"] = message.reasoning
        if message.tool_calls:
            delta["tool_calls"] = [_tool_call(call) for call in message.tool_calls]
        chunk = self._chunk(index, delta)
        chunk["choices"][0]["finish_reason"] = finish_reason
        if logprobs is not None:
            chunk["choices"][0]["logprobs"] = {"content": logprobs}
        return chunk

    def _chunk(self, index: int, delta: dict[str, Any]) -> Chunk:
        chunk = {**self._head, "choices": [{"index": index, "delta": delta}]}
        if self._extensions:
            chunk |= self._extensions
            self._extensions = {}
        return chunk


def _tool_call(call: ToolCall) -> dict[str, Any]:
    return {
        "index": call.index,
        "id": f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
