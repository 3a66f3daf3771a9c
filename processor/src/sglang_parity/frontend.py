"""``python -m sglang_parity.frontend``: the Dynamo Frontend with a custom chat processor.

Takes every flag of ``python -m dynamo.frontend``, and the two documented ones for custom processors:

    --dyn-chat-processor NAME|module:function    (env DYN_CHAT_PROCESSOR)
    --dyn-chat-processor-config JSON

A Dynamo that loads custom processors itself is started untouched. For one that does not, this launcher follows the
documented rules: the name is resolved while the arguments are parsed, the provider is called once inside the
Frontend's event loop, and Dynamo itself calls the factory, and retries it, as workers register.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from dynamo.frontend import main as dynamo_main
from dynamo.frontend.frontend_args import FrontendArgGroup, FrontendConfig

from sglang_parity.arguments import json_object
from sglang_parity.errors import OptionsError

ENTRY_POINT_GROUP = "dynamo.frontend.chat_processors"
BUILT_IN = ("dynamo", "vllm", "sglang")
PROCESSOR_FLAG, CONFIG_FLAG = "--dyn-chat-processor", "--dyn-chat-processor-config"

ChatEngineFactory = Callable[..., Awaitable[Any]]
Provider = Callable[[Any, dict[str, Any]], ChatEngineFactory]


def main() -> None:
    """Starts the Frontend; returns when it has shut down."""
    if not dynamo_loads_processors():
        install_loader()
    dynamo_main.main()


def dynamo_loads_processors() -> bool:
    """Whether the installed Dynamo has the documented loader, told by the flag that came with it."""
    parser = argparse.ArgumentParser()
    FrontendArgGroup().add_arguments(parser)
    return CONFIG_FLAG in parser.format_help()


def install_loader() -> None:
    """Gives ``dynamo.frontend.main`` the documented loader, through three names that it looks up when it runs."""
    parsed: list[FrontendConfig] = []
    dynamo_entrypoint_args = dynamo_main.EntrypointArgs

    class ArgumentsWithProcessors(FrontendArgGroup):  # type: ignore[misc]
        def add_arguments(self, parser: argparse.ArgumentParser) -> None:
            super().add_arguments(parser)
            _accept_custom_processors(parser)

    class ConfigWithProcessor(FrontendConfig):  # type: ignore[misc]
        def validate(self) -> None:
            super().validate()
            _refuse_other_inputs(self)
            parsed.append(self)

    def entrypoint_args(*args: Any, **kwargs: Any) -> Any:
        (config,) = parsed
        if config.chat_processor not in BUILT_IN:
            provider = resolve_provider(config.chat_processor)
            try:
                kwargs["chat_engine_factory"] = provider(config, config.chat_processor_config)
            except OptionsError as error:
                sys.exit(f"error: {CONFIG_FLAG}: {error}")
        return dynamo_entrypoint_args(*args, **kwargs)

    dynamo_main.FrontendArgGroup = ArgumentsWithProcessors
    dynamo_main.FrontendConfig = ConfigWithProcessor
    dynamo_main.EntrypointArgs = entrypoint_args


def resolve_provider(name: str) -> Provider:
    """The provider of a processor: registered under ``name``, or at the path ``module:function``.

    Raises:
        LookupError: the name resolves to nothing; the text lists the registered processors.
    """
    registered = {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
    if name in registered:
        entry = registered[name]
    elif ":" in name:
        entry = EntryPoint(name=name, value=name, group=ENTRY_POINT_GROUP)
    else:
        known = ", ".join([*BUILT_IN, *sorted(registered)])
        raise LookupError(f"no chat processor {name!r} (known: {known}; or give module:function)")
    try:
        provider = entry.load()
    except (ImportError, AttributeError) as error:
        raise LookupError(f"chat processor {name!r} cannot be loaded: {error}") from error
    if not callable(provider):
        raise LookupError(f"chat processor {name!r} is no function")
    return provider  # type: ignore[no-any-return]


def _accept_custom_processors(parser: argparse.ArgumentParser) -> None:
    processor = next(action for action in parser._actions if PROCESSOR_FLAG in action.option_strings)
    processor.choices = None
    processor.type = _processor_name
    processor.help = (
        f"{processor.help} Any other value names a custom processor: a registered name, or module:function."
    )
    parser.add_argument(
        CONFIG_FLAG,
        dest="chat_processor_config",
        metavar="JSON",
        type=json_object,
        default={},
        help="Options of the custom chat processor, a JSON object.",
    )


def _processor_name(value: str) -> str:
    if value not in BUILT_IN:
        try:
            resolve_provider(value)
        except LookupError as error:
            raise argparse.ArgumentTypeError(error.args[0]) from error
    return value


def _refuse_other_inputs(config: FrontendConfig) -> None:
    if config.chat_processor in BUILT_IN:
        return
    for flag, given in (("--interactive", config.interactive), ("--kserve-grpc-server", config.kserve_grpc_server)):
        if given:
            sys.exit(f"error: {PROCESSOR_FLAG} {config.chat_processor} serves HTTP only and cannot go with {flag}")


if __name__ == "__main__":
    main()
