"""One request's way from the client's body to the engine, up to where SGLang's server hands it on.

The engine, the command line, the benchmarks and the searches for differences all go this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sglang_parity.constrain import output_constraints, tool_call_constraint
from sglang_parity.parse import ParseOptions
from sglang_parity.render import render
from sglang_parity.request import read_request

if TYPE_CHECKING:
    from sglang_parity.constrain import Constraint
    from sglang_parity.models import ChatModel
    from sglang_parity.render import Prompt
    from sglang_parity.request import ChatRequest


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as SGLang's chat handler hands it on (``serving_chat.py::_convert_to_internal_request``).

    Attributes:
        chat: the request as SGLang reads it.
        prompt: what the engine is given.
        constraints: what its output is held to; the engine takes no more than one.
        require_reasoning: whether the output begins with reasoning, which no constraint holds.
        options: how its output is read.
    """

    chat: ChatRequest
    prompt: Prompt
    constraints: tuple[Constraint, ...]
    require_reasoning: bool
    options: ParseOptions


def prepare(body: object, model: ChatModel) -> Prepared:
    """Reads, checks, renders and tokenizes a request body, in SGLang's order: the first refusal is SGLang's.

    Args:
        body: the parsed JSON. Type names in tool schemas are rewritten in place; a second reading finds the same
            request.
        model: what serves it.

    Raises:
        RequestError: SGLang refuses the request; status, kind and message are SGLang's.
    """
    chat = read_request(
        body,
        default_chat_template_kwargs=model.default_chat_template_kwargs,
        context_length=model.context_length,
    )
    tool_calls = tool_call_constraint(chat, model.tool_call_grammar)
    prompt = render(chat, model.encoder, model.checkpoint)
    constraints = output_constraints(chat, tool_calls)
    reasoning = model.output_format.reasoning
    require_reasoning = reasoning is not None and reasoning.is_requested(chat)
    return Prepared(chat, prompt, constraints, require_reasoning, _parse_options(chat, require_reasoning))


def _parse_options(chat: ChatRequest, require_reasoning: bool) -> ParseOptions:
    kwargs = chat.chat_template_kwargs or {}
    may_call_tools = chat.effective_tools and chat.tool_choice != "none"
    return ParseOptions(
        in_reasoning=require_reasoning,
        separate_reasoning=chat.separate_reasoning,
        stream_reasoning=chat.stream_reasoning,
        tool_names=frozenset(tool.function.name for tool in chat.effective_tools) if may_call_tools else None,
        continued_content=_continued_content(chat),
        force_nonempty_content=kwargs.get("force_nonempty_content") is True,
    )


def _continued_content(chat: ChatRequest) -> str:
    """Text of the final assistant message where the answer goes on with it; parts do not count."""
    last = chat.messages[-1]
    continues = chat.continue_final_message and last.role == "assistant"
    return last.content if continues and isinstance(last.content, str) else ""
