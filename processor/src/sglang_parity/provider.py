"""Start-up: what Dynamo calls to get the chat engine of each model."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamo.llm import PythonAsyncEngine
from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from sglang_parity.checkpoint import Checkpoint
from sglang_parity.engine import ChatEngine, ServedModel
from sglang_parity.errors import OptionsError
from sglang_parity.host.nodelay import send_at_once
from sglang_parity.models import load_model
from sglang_parity.parse import Vocabulary
from sglang_parity.steps import Pace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


class Options(BaseModel):
    """The options of ``--dyn-chat-processor-config``.

    Attributes:
        render_workers: threads that read, render and tokenize requests beside the event loop.
        default_chat_template_kwargs: SGLang's ``--default-chat-template-kwargs``.
        tool_call_parser: SGLang's ``--tool-call-parser``; by default what the worker published.
        reasoning_parser: SGLang's ``--reasoning-parser``; by default what the worker published.
        effort_profile: which reasoning-effort texts the checkpoint was trained with; by default what it says.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    render_workers: PositiveInt = 2
    default_chat_template_kwargs: dict[str, Any] | None = None
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    effort_profile: str | None = None


def provider(config: Any, options: dict[str, Any]) -> Callable[..., Awaitable[PythonAsyncEngine]]:
    """The entry point ``dynamo.frontend.chat_processors`` → ``sglang-parity``.

    Args:
        config: the Frontend's parsed configuration.
        options: the JSON object of ``--dyn-chat-processor-config``.

    Returns:
        The factory that Dynamo awaits for each token-input model, again when the model's card changes, and again
        after a delay when it raises.

    Raises:
        OptionsError: a key is unknown or a value has the wrong type.
    """
    settings = _parse(options)
    render_pool = ThreadPoolExecutor(settings.render_workers, thread_name_prefix="render")
    pace = Pace()
    prepared = False

    async def chat_engine_factory(_instance_id: Any, card: Any, routed_engine: Any) -> PythonAsyncEngine:
        nonlocal prepared
        model = await asyncio.to_thread(load_served_model, card, settings)
        if not prepared:  # with the first model: later there are streams that a collection would hold up
            prepared = True
            favour_the_event_loop()
        send_at_once(config.http_port)
        engine = ChatEngine(model, routed_engine, render_pool, pace)
        return PythonAsyncEngine(engine.generate, asyncio.get_running_loop())

    return chat_engine_factory


def favour_the_event_loop() -> None:
    """Keeps what goes on beside the event loop from stopping it for long, in this process.

    A full garbage collection walked all that is loaded, 40 ms each time: what is there now is there to stay. A thread
    that renders gives the interpreter up after 1 ms instead of 5.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(0.001)


def load_served_model(card: Any, settings: Options) -> ServedModel:
    """Reads all that requests for one model need.

    Args:
        card: Dynamo's ``ModelDeploymentCard``.
        settings: the processor's options.

    Raises:
        FileNotFoundError: the card's folder lacks a checkpoint file.
        ValueError: the model, or a parser that its worker published, is not supported.
    """
    checkpoint = Checkpoint.load(Path(card.local_dir()))
    published = card.runtime_config()
    tool_call_parser = settings.tool_call_parser or published.get("tool_call_parser")
    reasoning_parser = settings.reasoning_parser or published.get("reasoning_parser")
    chat_model = load_model(
        checkpoint,
        tool_call_parser=tool_call_parser,
        reasoning_parser=reasoning_parser,
        effort_profile=settings.effort_profile,
        context_length=published.get("context_length") or None,  # 0 where the worker does not know it
        default_chat_template_kwargs=settings.default_chat_template_kwargs,
    )
    logger.info("serving %s: reasoning parser %s, tool-call parser %s", card.name(), reasoning_parser, tool_call_parser)
    return ServedModel(
        chat_model=chat_model,
        vocabulary=Vocabulary.of(checkpoint.tokenizer),
        reasoning_end_id=chat_model.output_format.reasoning_end_id(checkpoint.tokenizer),
    )


def _parse(options: dict[str, Any]) -> Options:
    try:
        return Options.model_validate(options)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise OptionsError(f"{problems} (known keys: {', '.join(Options.model_fields)})") from error
