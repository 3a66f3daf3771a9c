"""``sglang-parity``: what the processor does to a request, without a server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from sglang_parity.arguments import json_object
from sglang_parity.checkpoint import Checkpoint
from sglang_parity.errors import RequestError
from sglang_parity.models import load_model
from sglang_parity.prepare import prepare
from sglang_parity.request import parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sglang_parity.models import ChatModel


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        model = load_model(
            Checkpoint.load(options.checkpoint),
            tool_call_parser=options.tool_call_parser,
            reasoning_parser=options.reasoning_parser,
            default_chat_template_kwargs=options.default_chat_template_kwargs,
        )
    except ValueError as error:
        parser.error(str(error))
    for line in sys.stdin.buffer:
        answer = _render_line(line.rstrip(b"\r\n"), model)
        sys.stdout.buffer.write(orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.buffer.flush()
    return 0


def _render_line(line: bytes, model: ChatModel) -> dict[str, Any]:
    try:
        prompt = prepare(parse_json(line), model).prompt
    except RequestError as error:
        return {"error": {"status": error.status, "message": error.message}}
    return {"prompt": prompt.text, "token_ids": prompt.token_ids}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sglang-parity", description="Shows what SGLang's Python server would make of a chat request."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    render = commands.add_parser(
        "render",
        help="render chat requests to prompts and token ids",
        description="Reads one chat request body (JSON) per line on standard input and writes one line each: "
        '{"prompt": str, "token_ids": [int]}, or {"error": {"status": int, "message": str}} where SGLang refuses the '
        "request. A line in error does not end the run.",
        epilog="""example: echo '{"messages": [{"role": "user", "content": "Hi"}]}' """
        "| sglang-parity render --checkpoint DIR",
    )
    render.add_argument(
        "--checkpoint",
        type=_checkpoint_directory,
        required=True,
        metavar="DIR",
        help="checkpoint directory: config.json, tokenizer.json, tokenizer_config.json",
    )
    render.add_argument(
        "--default-chat-template-kwargs",
        type=json_object,
        metavar="JSON",
        help="the server's default chat_template_kwargs; a request's own win (default: none)",
    )
    for parsed in ("tool-call", "reasoning"):
        render.add_argument(
            f"--{parsed}-parser", metavar="NAME", help=f"the server's --{parsed}-parser (default: none, as there)"
        )
    return parser


def _checkpoint_directory(text: str) -> Path:
    for name in ("config.json", "tokenizer.json"):
        if not (Path(text) / name).is_file():
            raise argparse.ArgumentTypeError(f"{text} has no {name}")
    return Path(text)
