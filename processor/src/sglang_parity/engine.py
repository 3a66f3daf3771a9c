"""One chat request, from the body that Dynamo hands over to the chunks that it sends."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynamo.llm.exceptions import Cancelled

from sglang_parity.compat import as_worker_error
from sglang_parity.constrain import tool_call_constraint
from sglang_parity.errors import to_dynamo
from sglang_parity.headers import (
    EXTRA_FIELDS,
    PROCESSOR_HEADER,
    can_carry_headers,
    prompt_headers,
    request_id,
    set_headers,
)
from sglang_parity.parse import ParseOptions, StopStrings
from sglang_parity.render import render
from sglang_parity.request import read_request, refuse_conflicting_constraints
from sglang_parity.request.dynamo import body_from_dynamo, requested_extra_fields
from sglang_parity.respond import Chunks, Reading, StreamedAnswer, WholeAnswer
from sglang_parity.sampling import engine_request, refuse_what_the_engine_would
from sglang_parity.steps import WHOLE_TOKENS, streamed_steps, whole_steps

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping
    from concurrent.futures import Executor

    from sglang_parity.checkpoint import Checkpoint
    from sglang_parity.constrain import Constraint, ToolCallGrammar
    from sglang_parity.parse import OutputFormat, Vocabulary
    from sglang_parity.render import ChatModel, Prompt
    from sglang_parity.request import ChatRequest
    from sglang_parity.steps import Pace


@dataclass(frozen=True, slots=True)
class ServedModel:
    """All that the requests for one model share; made once by ``provider.load_served_model``."""

    chat_model: ChatModel
    checkpoint: Checkpoint
    vocabulary: Vocabulary
    output_format: OutputFormat
    tool_call_grammar: ToolCallGrammar | None
    reasoning_end_id: int | None
    context_length: int | None
    default_chat_template_kwargs: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Rendered:
    """What a thread beside the event loop makes of a request.

    Attributes:
        chat: the request as SGLang reads it.
        prompt: what the engine is given.
        tool_calls: the constraint of its tools.
        stops: its stop strings.
        headers: what the response's headers say of the prompt, empty where it cannot carry any.
        nvext: the fields that the client asked for by name.
    """

    chat: ChatRequest
    prompt: Prompt
    tool_calls: Constraint | None
    stops: StopStrings
    headers: dict[str, str]
    nvext: dict[str, Any]


class ChatEngine:
    """Serves the chat requests of one model."""

    def __init__(self, model: ServedModel, routed_engine: Any, render_pool: Executor, pace: Pace) -> None:
        """``routed_engine`` is Dynamo's; reading, rendering and tokenizing run in ``render_pool``, off the loop.

        ``pace`` is that of all engines of the loop.
        """
        self._model = model
        self._routed_engine = routed_engine
        self._render_pool = render_pool
        self._pace = pace

    async def generate(self, request: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
        """Answers one request with ``chat.completion.chunk`` objects; Dynamo folds them where it is not streamed.

        Raises:
            dynamo.llm.exceptions.DynamoException, dynamo.llm.HttpError: see the table in ``errors``.
        """
        try:
            set_headers(context, PROCESSOR_HEADER)
            loop = asyncio.get_running_loop()
            rendered = await loop.run_in_executor(
                self._render_pool, self._read_and_render, request, can_carry_headers(context)
            )
            if context.is_stopped():
                raise Cancelled("the client has gone")
            set_headers(context, rendered.headers)
            self._refuse_what_the_engine_would(rendered)

            answer = self._answer(rendered, Chunks(context.id(), rendered.chat.model, rendered.nvext))
            async with aclosing(await self._steps(rendered, context)) as steps:
                async for items in steps:
                    for item in items:
                        for chunk in answer.feed(item):
                            yield chunk
                    if answer.finished:
                        break
            if not answer.finished and context.is_stopped():
                raise Cancelled("the client has gone")
            for chunk in answer.finish():
                yield chunk
        except Exception as error:
            raise to_dynamo(error, request_id(context)) from None

    def _read_and_render(self, request: dict[str, Any], with_headers: bool) -> _Rendered:
        chat = read_request(
            body_from_dynamo(request),
            default_chat_template_kwargs=self._model.default_chat_template_kwargs,
            context_length=self._model.context_length,
        )
        tool_calls = tool_call_constraint(chat, self._model.tool_call_grammar)
        prompt = render(chat, self._model.chat_model)
        refuse_conflicting_constraints(chat)
        stops = [chat.stop] if isinstance(chat.stop, str) else chat.stop or []
        return _Rendered(
            chat,
            prompt,
            tool_calls,
            StopStrings.of(stops, self._model.checkpoint.tokenizer),
            headers=prompt_headers(prompt) if with_headers else {},
            nvext=_nvext(request, prompt),
        )

    def _refuse_what_the_engine_would(self, rendered: _Rendered) -> None:
        refuse_what_the_engine_would(
            rendered.chat,
            len(rendered.prompt.token_ids),
            context_length=self._model.context_length,
            vocab_size=self._model.checkpoint.config["vocab_size"],
            generation_config=self._model.checkpoint.generation_config,
        )

    async def _steps(self, rendered: _Rendered, context: Any) -> AsyncGenerator[list[dict[str, Any]], None]:
        """Sends the request to a worker; the steps in which its answer is read."""
        to_engine = self._engine_request(rendered)
        try:
            stream = await self._routed_engine.generate(to_engine, context=context)
        except Exception as error:
            raise as_worker_error(error) from error
        if rendered.chat.stream:
            return streamed_steps(stream, self._pace)
        # A stop string is to end the generation at once: the worker does not look for it.
        return whole_steps(stream, 1 if rendered.stops.strings else WHOLE_TOKENS)

    def _engine_request(self, rendered: _Rendered) -> dict[str, Any]:
        checkpoint = self._model.checkpoint
        return engine_request(
            rendered.chat,
            rendered.prompt.token_ids,
            rendered.tool_calls,
            eos_token_ids=checkpoint.eos_token_ids,
            generation_config=checkpoint.generation_config,
            output_format=self._model.output_format,
        )

    def _answer(self, rendered: _Rendered, chunks: Chunks) -> StreamedAnswer | WholeAnswer:
        model, chat = self._model, rendered.chat
        reading = Reading(
            vocabulary=model.vocabulary,
            stops=rendered.stops,
            output_format=model.output_format,
            options=_parse_options(chat),
            reasoning_end_id=model.reasoning_end_id if chat.require_reasoning else None,
        )
        kind = StreamedAnswer if chat.stream else WholeAnswer
        return kind(chat, len(rendered.prompt.token_ids), reading, chunks)


def _parse_options(chat: ChatRequest) -> ParseOptions:
    kwargs = chat.chat_template_kwargs or {}
    may_call_tools = chat.effective_tools and chat.tool_choice != "none"
    return ParseOptions(
        in_reasoning=chat.require_reasoning,
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


def _nvext(request: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
    """The fields that the client asked for by name, for the response's ``nvext``."""
    return {field: EXTRA_FIELDS[field](prompt) for field in requested_extra_fields(request) if field in EXTRA_FIELDS}
