"""One chat request, from the body that Dynamo hands over to the chunks that it sends."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynamo.llm.exceptions import Cancelled

from sglang_parity.host.bodies import body_from_dynamo, response_extensions, router_request
from sglang_parity.host.errors import as_worker_error, to_dynamo
from sglang_parity.host.headers import PROCESSOR_HEADER, can_carry_headers, prompt_headers, request_id, set_headers
from sglang_parity.parse import StopStrings
from sglang_parity.prepare import prepare
from sglang_parity.respond import Chunks, Reading, StreamedAnswer, WholeAnswer
from sglang_parity.sampling import sampling_params
from sglang_parity.steps import WHOLE_TOKENS, streamed_steps, whole_steps

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from concurrent.futures import Executor

    from sglang_parity.models import ChatModel
    from sglang_parity.parse import Vocabulary
    from sglang_parity.prepare import Prepared
    from sglang_parity.sampling import SamplingParams
    from sglang_parity.steps import Pace


@dataclass(frozen=True, slots=True)
class ServedModel:
    """All that the requests for one model share; made once by ``provider.load_served_model``.

    Attributes:
        chat_model: what requests are prepared with.
        vocabulary: what outputs are read with.
        reasoning_end_id: id that ends reasoning, None where outputs are read without it.
    """

    chat_model: ChatModel
    vocabulary: Vocabulary
    reasoning_end_id: int | None


@dataclass(frozen=True, slots=True)
class _Job:
    """What a thread beside the event loop makes of a request.

    Attributes:
        prepared: what the engine is asked.
        stops: the request's stop strings.
        headers: what the response's headers say of the prompt, empty where it cannot carry any.
        extensions: what the first chunk carries beside SGLang's fields.
    """

    prepared: Prepared
    stops: StopStrings
    headers: dict[str, str]
    extensions: dict[str, Any]


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
            dynamo.llm.exceptions.DynamoException, dynamo.llm.HttpError: see the table in ``host.errors``.
        """
        try:
            set_headers(context, PROCESSOR_HEADER)
            loop = asyncio.get_running_loop()
            job = await loop.run_in_executor(self._render_pool, self._prepare, request, can_carry_headers(context))
            if context.is_stopped():
                raise Cancelled("the client has gone")
            set_headers(context, job.headers)
            sampling = sampling_params(job.prepared, self._model.chat_model)

            answer = self._answer(job, Chunks(context.id(), job.prepared.chat.model, job.extensions))
            async with aclosing(await self._steps(job, sampling, context)) as steps:
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

    def _prepare(self, request: dict[str, Any], with_headers: bool) -> _Job:
        chat_model = self._model.chat_model
        prepared = prepare(body_from_dynamo(request), chat_model)
        stop = prepared.chat.stop
        return _Job(
            prepared,
            StopStrings.of([stop] if isinstance(stop, str) else stop or [], chat_model.checkpoint.tokenizer),
            headers=prompt_headers(prepared.prompt) if with_headers else {},
            extensions=response_extensions(request, prepared.prompt),
        )

    async def _steps(
        self, job: _Job, sampling: SamplingParams, context: Any
    ) -> AsyncGenerator[list[dict[str, Any]], None]:
        """Sends the request to a worker; the steps in which its answer is read."""
        to_router = router_request(job.prepared, sampling, self._model.chat_model.checkpoint.eos_token_ids)
        try:
            stream = await self._routed_engine.generate(to_router, context=context)
        except Exception as error:
            raise as_worker_error(error) from error
        if job.prepared.chat.stream:
            return streamed_steps(stream, self._pace)
        # A stop string is to end the generation at once: the worker does not look for it.
        return whole_steps(stream, 1 if job.stops.strings else WHOLE_TOKENS)

    def _answer(self, job: _Job, chunks: Chunks) -> StreamedAnswer | WholeAnswer:
        model, prepared = self._model, job.prepared
        reading = Reading(
            vocabulary=model.vocabulary,
            stops=job.stops,
            output_format=model.chat_model.output_format,
            options=prepared.options,
            reasoning_end_id=model.reasoning_end_id if prepared.require_reasoning else None,
        )
        kind = StreamedAnswer if prepared.chat.stream else WholeAnswer
        return kind(prepared.chat, len(prepared.prompt.token_ids), reading, chunks)
