"""The request body as SGLang reads it: types and coercions (``body``), what is refused (``checks``), one reader."""

from sglang_parity.request.body import ChatRequest, GenericMessage, Message, Tool, ToolCall, ToolChoice, UserMessage
from sglang_parity.request.reading import parse_json, read_request

__all__ = [
    "ChatRequest",
    "GenericMessage",
    "Message",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "UserMessage",
    "parse_json",
    "read_request",
]
