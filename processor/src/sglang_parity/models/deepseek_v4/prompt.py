"""DeepSeek-V4: from messages to the text the model was trained on.

Mirrors the ``dsv4`` branch of SGLang 0.5.21's ``serving_chat.py::_apply_jinja_template`` and
``entrypoints/openai/encoding_dsv4.py``.
"""

from __future__ import annotations

import ast
import json
import logging
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from sglang_parity.errors import RequestError
from sglang_parity.models.deepseek_v4.markers import (
    ASSISTANT,
    BLOCK,
    BOS,
    END_BLOCK,
    END_INVOKE,
    END_PARAMETER,
    END_THINK,
    EOS,
    GAP,
    INVOKE,
    LATEST_REMINDER,
    PARAMETER,
    THINK,
    USER,
)
from sglang_parity.models.deepseek_v4.thinking import prompt_thinks
from sglang_parity.render.encoder import Segments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sglang_parity.checkpoint import Checkpoint
    from sglang_parity.request import ChatRequest, Message, Tool

logger = logging.getLogger(__name__)

_EFFORT_VERY_THOROUGH = (
    "Reasoning Effort: Absolute maximum with no shortcuts permitted.\n"
    "You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the root cause, "
    "rigorously stress-testing your logic against all potential paths, edge cases, and adversarial scenarios.\n"
    "Explicitly write out your entire deliberation process, documenting every intermediate step, considered "
    "alternative, and rejected hypothesis to ensure absolutely no assumption is left unchecked.\n\n"
)
_EFFORT_EXHAUSTIVE = (
    "Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.\n"
    "You MUST reason with the utmost depth and rigor, leaving absolutely nothing to chance: exhaustively decompose the "
    "problem into its most fundamental components, trace every causal chain to its root, and resolve the underlying "
    "cause rather than any surface symptom.\n"
    "Do not stop reasoning until you have independently verified the solution from multiple angles and are certain "
    "that no assumption remains unchecked and no error remains undiscovered.\n\n"
)

# Text that opens a thinking prompt, by checkpoint generation and effort. Any other effort adds no text.
EFFORT_PROFILES: Mapping[str, Mapping[str, str]] = {
    "preview": {"high": "", "max": _EFFORT_VERY_THOROUGH},
    "official": {"low": "", "high": _EFFORT_VERY_THOROUGH, "max": _EFFORT_EXHAUSTIVE},
}

_TOOLS_SECTION = f"""## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a \
"{BLOCK}" block like the following:

{BLOCK}
{INVOKE} name="$TOOL_NAME">
{PARAMETER} name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE{END_PARAMETER}
...
{END_INVOKE}
{INVOKE} name="$TOOL_NAME2">
...
{END_INVOKE}
{END_BLOCK}

String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, \
objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by {THINK}), you MUST output your complete reasoning inside \
{THINK}...{END_THINK} BEFORE any tool calls or final response.

Otherwise, output directly after {END_THINK} with tool calls or final response.

### Available Tool Schemas

%s

You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.
"""


class _Call(NamedTuple):
    """A call the assistant made. Arguments may be missing; only a turn that is rendered needs them."""

    id: str | None
    name: str | None
    arguments: dict[str, Any] | None


class _Block(NamedTuple):
    """A piece of a user turn: a user text, or the result of a tool call."""

    text: str
    is_result: bool = False
    tool_call_id: str | None = None


@dataclass(slots=True)
class _Turn:
    """One message on its way into the prompt.

    A user turn may hold several messages: user texts and tool results that follow each other share one turn.
    """

    role: str
    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[_Call] = ()
    tool_call_id: str | None = None
    tools: Sequence[Tool] = ()
    task: str | None = None
    blocks: list[_Block] = field(default_factory=list)
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class DeepseekV4:
    """Renders DeepSeek-V4 prompts.

    Attributes:
        effort_profile: which of ``EFFORT_PROFILES`` the checkpoint was trained with.
    """

    effort_profile: str

    @classmethod
    def for_checkpoint(cls, checkpoint: Checkpoint, effort_profile: str | None = None) -> DeepseekV4:
        """Finds the checkpoint's effort profile and logs it.

        The order is: the given profile, ``dsv4_reasoning_effort_profile`` in ``config.json``, the checkpoint's own
        encoder (all as in ``chat_encoding.py::resolve_dsv4_reasoning_effort_profile``), then ``dspark_*`` keys in
        ``config.json``, which only the official checkpoints have: a frontend sees no encoder file.

        Raises:
            ValueError: the given or configured profile does not exist.
        """
        profile, source = effort_profile, "option"
        if profile is None:
            profile, source = checkpoint.config.get("dsv4_reasoning_effort_profile"), "config.json"
        if profile is not None and profile not in EFFORT_PROFILES:
            raise ValueError(
                f"Invalid dsv4_reasoning_effort_profile: {profile!r}; expected one of {list(EFFORT_PROFILES)}"
            )
        if profile is None:
            profile, source = _profile_of_encoder(checkpoint.path / "encoding" / "encoding_dsv4.py"), "its encoder"
        if profile is None and any(key.startswith("dspark_") for key in checkpoint.config):
            profile, source = "official", "dspark keys in config.json"
        if profile is None:
            profile, source = "preview", "nothing in the checkpoint says otherwise"
        logger.info("reasoning-effort profile of %s: %s (%s)", checkpoint.path, profile, source)
        return cls(effort_profile=profile)

    def encode(self, request: ChatRequest) -> Segments:
        """Renders a request as text.

        Raises:
            RequestError: status 400, kind ``BadRequest``: a history tool call whose arguments are no JSON object, or a
                ``task`` without a user turn. Status 500, kind ``InternalServerError``: nothing is left to render, an
                empty developer message, a ``function`` message, or an effort that is a list or an object.
        """
        turns = [_turn(message) for message in request.messages]
        continuation = _settle_final_assistant(turns, continues=request.continue_final_message)
        if not turns:
            raise _internal_error("list index out of range")
        if turns[0].role != "system":
            turns.insert(0, _Turn("system"))
        if request.tools:
            turns[0].tools = request.tools
        effort_text = self._effort_text(request.reasoning_effort)
        if request.task is not None:
            _attach_task(turns, request.task)

        turns = _merge_user_turns(turns)
        _order_tool_results(turns)
        thinking = prompt_thinks(request)
        keeps_reasoning = any(turn.tools for turn in turns)  # with tools, earlier reasoning stays in the prompt
        if thinking and not keeps_reasoning:
            turns = _without_stale_turns(turns)
        return Segments(
            prompt=BOS + (effort_text if thinking else "") + _render(turns, thinking, keeps_reasoning),
            continuation=continuation,
        )

    def _effort_text(self, requested: object) -> str:
        """The request's effort, else ``SGLANG_DSV4_REASONING_EFFORT``, read anew for every request as SGLang does."""
        effort = os.environ.get("SGLANG_DSV4_REASONING_EFFORT", "") if requested is None else requested
        if isinstance(effort, (list, dict)):
            raise _internal_error(f"unhashable type: '{type(effort).__name__}'")
        texts = EFFORT_PROFILES[self.effort_profile]
        return texts.get(effort, "") if isinstance(effort, str) else ""


def _turn(message: Message) -> _Turn:
    if message.role == "user":
        return _Turn("user", message.text)
    calls = message.tool_calls or () if message.role == "assistant" else ()
    return _Turn(
        message.role,
        message.text,
        reasoning=message.reasoning_content or "",
        tool_calls=[_Call(call.id, call.function.name, _arguments(call.function.arguments)) for call in calls],
        tool_call_id=message.tool_call_id,
        tools=message.tools or (),
        message=message,
    )


def _arguments(arguments: str | dict[str, Any] | None) -> dict[str, Any] | None:
    """Mirrors ``serving_chat.py::normalize_assistant_tool_call_arguments``: text is parsed, all else stays."""
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed = orjson.loads(arguments)
    except orjson.JSONDecodeError as error:
        raise RequestError("Assistant tool call function.arguments must be valid JSON.", kind="BadRequest") from error
    if not isinstance(parsed, dict):
        raise _not_an_object()
    return parsed


def _settle_final_assistant(turns: list[_Turn], *, continues: bool) -> str:
    """A final assistant turn is continued, or else becomes a user turn of the same text and nothing more.

    Returns:
        The text to continue. Mirrors ``serving_chat.py::_handle_last_assistant_message``.
    """
    if turns[-1].role != "assistant":
        return ""
    final = turns.pop()
    if continues:
        return final.text
    turns.append(_Turn("user", final.text))
    return ""


def _attach_task(turns: list[_Turn], task: str) -> None:
    last_user = _last_user_index(turns)
    if last_user == -1:
        raise RequestError("`task` requires at least one message with role='user' or 'developer'.", kind="BadRequest")
    turns[last_user].task = task


def _last_user_index(turns: Sequence[_Turn]) -> int:
    return next((i for i in range(len(turns) - 1, -1, -1) if turns[i].role in ("user", "developer")), -1)


def _merge_user_turns(turns: Sequence[_Turn]) -> list[_Turn]:
    """Puts adjoining user texts and tool results into one user turn (``encoding_dsv4.py::merge_tool_messages``).

    Of merged user messages only the first one's task survives, so a task on a later one is lost.
    """
    merged: list[_Turn] = []
    for turn in turns:
        previous = merged[-1] if merged and merged[-1].role == "user" else None
        if turn.role == "tool":
            if previous is None:
                previous = _Turn("user")
                merged.append(previous)
            previous.blocks.append(_Block(turn.text, is_result=True, tool_call_id=turn.tool_call_id))
        elif turn.role == "user":
            if previous is None:
                merged.append(turn)
            (previous or turn).blocks.append(_Block(turn.text))
        else:
            merged.append(turn)
    return merged


def _order_tool_results(turns: Sequence[_Turn]) -> None:
    """Puts the results of a user turn into the order of the latest calls; unknown ids go first.

    Mirrors ``encoding_dsv4.py::sort_tool_results_by_call_order``: texts keep their places.
    """
    call_order: dict[str, int] = {}
    for turn in turns:
        if turn.tool_calls:
            call_order = {call.id: index for index, call in enumerate(turn.tool_calls) if call.id}
        if len(turn.blocks) < 2 or not call_order:
            continue
        results = [block for block in turn.blocks if block.is_result]
        if len(results) > 1:
            ordered = iter(sorted(results, key=lambda result: call_order.get(result.tool_call_id or "", 0)))
            turn.blocks = [next(ordered) if block.is_result else block for block in turn.blocks]


def _without_stale_turns(turns: Sequence[_Turn]) -> list[_Turn]:
    """Before the last user turn, only what the model is trained to look back on (``_drop_thinking_messages``)."""
    last_user = _last_user_index(turns)
    kept = ("user", "system", "latest_reminder", "assistant")
    return [turn for index, turn in enumerate(turns) if index >= last_user or turn.role in kept]


def _render(turns: Sequence[_Turn], thinking: bool, keeps_reasoning: bool) -> str:
    """Mirrors ``encoding_dsv4.py::render_message``, for all turns."""
    last_user = _last_user_index(turns)
    pieces: list[str] = []
    for index, turn in enumerate(turns):
        is_current = keeps_reasoning or index >= last_user  # whether reasoning belongs here
        if turn.role == "assistant":
            answers_task = index > 0 and turns[index - 1].task is not None
            pieces.append(_assistant(turn, shows_reasoning=thinking and is_current and not answers_task))
        else:
            pieces.append(_prompting(turn))

        is_answered = index + 1 == len(turns) or turns[index + 1].role in ("assistant", "latest_reminder")
        if not is_answered:
            continue
        if turn.task == "action":
            pieces.append(f"{ASSISTANT}{THINK if thinking else END_THINK}<｜action｜>")
        elif turn.task is not None:
            pieces.append(f"<｜{turn.task}｜>")
        elif turn.role in ("user", "developer"):
            pieces.append(ASSISTANT + (THINK if thinking and is_current else END_THINK))
    return "".join(pieces)


def _prompting(turn: _Turn) -> str:
    match turn.role:
        case "system":
            return turn.text + _tools_section(turn.tools)
        case "user":
            return USER + "\n\n".join(map(_block, turn.blocks))
        case "developer":
            if not turn.text:
                raise _internal_error(f"Invalid message for role `developer`: {_as_sglang_shows(turn)}")
            return USER + turn.text + _tools_section(turn.tools)
        case "latest_reminder":
            return LATEST_REMINDER + turn.text
        case role:
            raise _internal_error(f"Unknown role: {role}")


def _block(block: _Block) -> str:
    return f"<tool_result>{block.text}</tool_result>" if block.is_result else block.text


def _assistant(turn: _Turn, *, shows_reasoning: bool) -> str:
    reasoning = turn.reasoning + END_THINK if shows_reasoning else ""
    return reasoning + turn.text + _tool_calls(turn.tool_calls) + EOS


def _tool_calls(calls: Sequence[_Call]) -> str:
    if not calls:
        return ""
    invokes = "\n".join(f'{INVOKE} name="{call.name}">\n{_parameters(call)}\n{END_INVOKE}' for call in calls)
    return f"{GAP}{BLOCK}\n{invokes}\n{END_BLOCK}"


def _parameters(call: _Call) -> str:
    """Mirrors ``encoding_dsv4.py::encode_arguments_to_dsml``: strings as they are, all else as JSON."""
    if call.arguments is None:
        raise _not_an_object()
    return "\n".join(
        f'{PARAMETER} name="{name}" string="true">{value}{END_PARAMETER}'
        if isinstance(value, str)
        else f'{PARAMETER} name="{name}" string="false">{_json(value)}{END_PARAMETER}'
        for name, value in call.arguments.items()
    )


def _tools_section(tools: Sequence[Tool]) -> str:
    if not tools:
        return ""
    return "\n\n" + _TOOLS_SECTION % "\n".join(_json(tool.function.model_dump()) for tool in tools)


# What ``json.dumps`` would make anew for every value.
_json = json.JSONEncoder(ensure_ascii=False).encode


def _as_sglang_shows(turn: _Turn) -> dict[str, Any]:
    """The message in the state in which SGLang's encoder has it when it gives up on it."""
    assert turn.message is not None
    shown = turn.message.model_dump()
    if isinstance(shown["content"], list):
        shown = {key: value for key, value in shown.items() if value is not None}
    shown["content"] = ""
    return shown if turn.task is None else shown | {"task": turn.task}


def _not_an_object() -> RequestError:
    return RequestError("Assistant tool call function.arguments must be a JSON object.", kind="BadRequest")


def _internal_error(message: str) -> RequestError:
    return RequestError(f"Internal server error: {message}", status=500, kind="InternalServerError")


def _profile_of_encoder(path: Path) -> str | None:
    """Reads the effort profile off the encoder a checkpoint ships, without running it.

    Mirrors ``chat_encoding.py::_detect_dsv4_reasoning_effort_profile``.
    """
    try:
        if path.stat().st_size > 1 << 20:
            return None
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None

    constants: dict[str, Any] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names = [name]
            case _:
                continue
        try:
            constants |= dict.fromkeys(names, ast.literal_eval(value))
        except (TypeError, ValueError):
            continue

    prompts = constants.get("REASONING_EFFORT_PROMPTS")
    if (
        constants.get("DEFAULT_REASONING_EFFORT") == "low"
        and isinstance(prompts, dict)
        and {"low", "high", "max"} <= prompts.keys()
    ):
        return "official"
    return "preview" if "REASONING_EFFORT_MAX" in constants else None
