"""One model of a whole answer for both servers and both modes, and where two answers differ."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .sequence import body_in_dynamo, of_body, of_stream, stream_in_dynamo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SHOWN = 160  # characters of a value that a difference shows around the first place where the two part
ITEMS_SHOWN = 24  # the same for lists

INTERNALS = re.compile(
    r"Traceback|\b[A-Z]\w*(?:Error|Exception)\b|<class |\.py\b|(?:^|[\s\"'(])/(?:opt|usr|home|root|src)/"
)
# The class of an exception that a validator raised, which SGLang shows and the frontend does not.
SHOWN_EXCEPTION = re.compile(r"ValueError\((?P<message>(?P<quote>['\"]).*?(?P=quote))\)(?=\})")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call without its id, which is random on both servers."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One generated token, and the likeliest ones in its place. Dynamo carries logprobs in single precision."""

    token: str
    logprob: str
    top: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice, joined from its chunks where it was streamed. Text that is null and text that is empty are equal."""

    content: str = ""
    reasoning_content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    reasoning_tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """All that a client learns from an answer.

    Attributes:
        choices: in the order of their index.
        usage: None where the answer carries none.
        prompt_token_ids: what was sent to the engine.
        prompt: the same as text.
        whole: the body or the stream, in the form of ``sequence``.
    """

    choices: tuple[Choice, ...]
    usage: Usage | None
    prompt_token_ids: tuple[int, ...] = ()
    prompt: str = ""
    whole: dict[str, Any] = field(default_factory=dict, repr=False)

    def holds(self, text: str) -> bool:
        """Whether some text of the answer, or a finish reason, holds this text."""
        return any(
            text in part
            for choice in self.choices
            for part in (
                choice.content,
                choice.reasoning_content,
                choice.finish_reason or "",
                *(field for call in choice.tool_calls for field in (call.name, call.arguments)),
            )
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is no 200."""

    status: int
    content_type: str
    body: str

    @property
    def error(self) -> dict[str, Any]:
        """The error in a body, or in the one error event of a stream.

        Raises:
            ValueError: there is none, or it is not JSON.
        """
        if self.content_type.startswith("text/event-stream"):
            (event,) = (line for line in self.body.splitlines() if line.startswith('data: {"error"'))
            streamed: dict[str, Any] = json.loads(event.removeprefix("data: "))["error"]
            return streamed
        error: dict[str, Any] = json.loads(self.body)
        return error

    @property
    def message(self) -> str:
        """The text that says what is wrong.

        Raises:
            ValueError: the body is not JSON.
            KeyError: it has no ``message``.
        """
        message: str = self.error["message"]
        return message

    @property
    def internals(self) -> list[str]:
        """What a client must not read: a traceback, the name of an exception's class, the path of a file."""
        return [found[0] for found in INTERNALS.finditer(self.body)]


class BrokenAnswerError(Exception):
    """A 200 that is no well-formed answer."""


class StreamFailedError(BrokenAnswerError):
    """A stream that carries an error event; the text is the event."""


def read_body(body: dict[str, Any]) -> Answer:
    """Reads a unary body."""
    choices = []
    for expected, choice in enumerate(body["choices"]):
        if choice["index"] != expected:
            raise BrokenAnswerError(f"choice {choice['index']} stands in place {expected}")
        joined = _Joined()
        joined.add(choice["message"], choice)
        choices.append(joined.choice())
    return Answer(tuple(choices), _usage(body.get("usage")), *_prompt(body), whole=of_body(_without_prompt(body)))


def read_events(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The chunks of an event stream, up to its ``[DONE]``.

    Lines end in LF, and nothing else is the end of a line: JSON text may hold U+2028.

    Raises:
        StreamFailedError: an event reports an error.
        BrokenAnswerError: the stream ends without ``[DONE]``.
    """
    for line in _lines(pieces):
        data = line.removeprefix("data: ")
        if data == "[DONE]":
            return
        if line.startswith("event: error"):
            raise StreamFailedError(line)
        if data == line:  # no data: a comment, another event's name, the blank line after an event
            continue
        chunk = json.loads(data)
        if "error" in chunk:
            raise StreamFailedError(data)
        yield chunk
    raise BrokenAnswerError("the stream ended without [DONE]")


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode("utf-8") for line in whole)


def read_stream(pieces: Iterable[bytes]) -> Answer:
    """Joins a streamed answer.

    Raises:
        StreamFailedError: it carries an error event.
        BrokenAnswerError: a choice goes on after its finish reason, has none, or does not begin with the role; usage
            comes before the end; a tool call has no id or not its own.
    """
    joined: defaultdict[int, _Joined] = defaultdict(_Joined)
    usage: Usage | None = None
    token_ids: tuple[int, ...] = ()
    prompt = ""
    chunks = []
    for chunk in read_events(pieces):
        chunks.append(chunk)
        for choice in chunk["choices"]:
            joined[choice["index"]].add_delta(choice)
        if chunk.get("usage"):
            if not chunk["choices"]:
                usage = _usage(chunk["usage"])
        elif usage:
            raise BrokenAnswerError(f"a chunk follows the usage: {chunk}")
        ids, text = _prompt(chunk)
        token_ids, prompt = token_ids or ids, prompt or text
    for index, choice in joined.items():
        if choice.finish_reason is None:
            raise BrokenAnswerError(f"choice {index} has no finish reason")
    choices = tuple(joined[index].choice() for index in sorted(joined))
    return Answer(choices, usage, token_ids, prompt, of_stream(map(_without_prompt, chunks)))


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class _Joined:
    """A choice as far as it has been read."""

    started: bool = False
    finish_reason: str | None = None
    content: str = ""
    reasoning: str = ""
    calls: defaultdict[int, _Call] = field(default_factory=lambda: defaultdict(_Call))
    logprobs: list[TokenLogprob] | None = None

    def add_delta(self, choice: dict[str, Any]) -> None:
        if self.finish_reason is not None:
            raise BrokenAnswerError(f"a chunk follows the finish reason: {choice}")
        if not self.started and choice["delta"].get("role") != "assistant":
            raise BrokenAnswerError(f"the first chunk names no role: {choice}")
        self.started = True
        self.add(choice["delta"], choice)

    def add(self, part: dict[str, Any], choice: dict[str, Any]) -> None:
        """Takes a unary message or one delta."""
        self.content += part.get("content") or ""
        self.reasoning += part.get("reasoning_content") or ""
        for position, fragment in enumerate(part.get("tool_calls") or ()):
            # Dynamo leaves the index out of unary calls: their order is their index.
            index = fragment.get("index")
            call = self.calls[position if index is None else index]
            call.id += fragment.get("id") or ""
            call.name += fragment["function"].get("name") or ""
            call.arguments += fragment["function"].get("arguments") or ""
        self.finish_reason = choice.get("finish_reason")
        if choice.get("logprobs"):
            self.logprobs = self.logprobs or []
            self.logprobs += [_logprob(entry) for entry in choice["logprobs"]["content"] or ()]

    def choice(self) -> Choice:
        ids = [call.id for call in self.calls.values()]
        if not all(ids) or len(set(ids)) < len(ids):
            raise BrokenAnswerError(f"tool calls need an id each: {ids}")
        return Choice(
            content=self.content,
            reasoning_content=self.reasoning,
            tool_calls=tuple(ToolCall(call.name, call.arguments) for _, call in sorted(self.calls.items())),
            finish_reason=self.finish_reason,
            logprobs=None if self.logprobs is None else tuple(self.logprobs),
        )


def _usage(usage: dict[str, Any] | None) -> Usage | None:
    if usage is None:
        return None
    details = usage.get("completion_tokens_details") or {}
    return Usage(
        prompt_tokens=usage["prompt_tokens"],
        completion_tokens=usage["completion_tokens"],
        total_tokens=usage["total_tokens"],
        # SGLang's own place, and the one that Dynamo has for it.
        reasoning_tokens=usage.get("reasoning_tokens") or details.get("reasoning_tokens") or 0,
    )


def _prompt(part: dict[str, Any]) -> tuple[tuple[int, ...], str]:
    sglext, nvext = part.get("sglext") or {}, part.get("nvext") or {}
    return tuple(sglext.get("input_ids") or nvext.get("prompt_token_ids") or ()), nvext.get("prompt") or ""


def _without_prompt(part: dict[str, Any]) -> dict[str, Any]:
    """Without what only carries the prompt."""
    return {key: value for key, value in part.items() if key not in ("sglext", "nvext")}


def _logprob(entry: dict[str, Any]) -> TokenLogprob:
    top = tuple((likely["token"], f"{likely['logprob']:.6g}") for likely in entry["top_logprobs"])
    return TokenLogprob(entry["token"], f"{entry['logprob']:.6g}", top)


# ------------------------------------------------------------------------------------------------------- differences


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that the two servers answer differently, each value cut to where they part."""

    field: str
    reference: str
    frontend: str


class AnswersDifferError(AssertionError):
    """The two servers answered differently."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        self.differences = tuple(differences)
        lines = [
            f"\n  {difference.field}\n    reference: {difference.reference}\n    frontend:  {difference.frontend}"
            for difference in self.differences
        ]
        super().__init__(f"{len(self.differences)} fields differ:{''.join(lines)}")


def differences(reference: Answer | Refusal, frontend: Answer | Refusal, *, prompts: bool = True) -> list[Difference]:
    """Where two answers part, field by field, in all that they carry but ids and times.

    Of two refusals only the status is compared: the bodies have two forms. Without ``prompts`` the text of the prompt
    is left out, not its ids.
    """
    if isinstance(reference, Refusal) and isinstance(frontend, Refusal):
        equal = reference.status == frontend.status
        return [] if equal else [Difference("status", _refused(reference), _refused(frontend))]
    if isinstance(reference, Refusal) or isinstance(frontend, Refusal):
        return [Difference("status", _refused(reference), _refused(frontend))]
    left, right = (dict(_flat("", _in_dynamo(answer))) for answer in (reference, frontend))
    return [
        Difference(name, *_where_they_part(left.get(name), right.get(name)))
        for name in dict.fromkeys([*left, *right])
        if left.get(name) != right.get(name) and (prompts or name != "prompt")
    ]


def _in_dynamo(answer: Answer) -> dict[str, Any]:
    """All of an answer that Dynamo's front can carry; what it cannot is listed in ``gaps.FIELD_GAPS``."""
    whole = answer.whole
    carried = stream_in_dynamo(whole) if "usage_on" in whole else _folded(body_in_dynamo(whole))
    return {"prompt_token_ids": answer.prompt_token_ids, "prompt": answer.prompt, **carried}


def _folded(body: dict[str, Any]) -> dict[str, Any]:
    """A unary body as Dynamo's front folds it: an empty text is null, and calls have no index but their place."""
    choices = []
    for choice in body["choices"]:
        message = {key: value for key, value in choice["message"].items() if value != ""}
        if "tool_calls" in message:
            calls = message["tool_calls"]
            message["tool_calls"] = [{key: call[key] for key in call if key != "index"} for call in calls]
        choices.append({**choice, "message": message})
    return {**body, "choices": choices}


def _refused(answer: Answer | Refusal) -> str:
    return f"{answer.status} {answer.body[: 4 * SHOWN]}" if isinstance(answer, Refusal) else "200"


def _flat(path: str, value: Any) -> Iterator[tuple[str, object]]:
    """The values of an answer by path; token ids count as one. Dynamo carries logprobs in single precision."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(f"{path}.{key}" if path else key, item)
    elif isinstance(value, list):
        yield f"{path}.length", len(value)
        for index, item in enumerate(value):
            yield from _flat(f"{path}[{index}]", item)
    else:
        yield path, f"{value:.6g}" if isinstance(value, float) else value


def _where_they_part(left: object, right: object) -> tuple[str, str]:
    both_texts = isinstance(left, str) and isinstance(right, str)
    both_lists = isinstance(left, tuple) and isinstance(right, tuple)
    if not (both_texts or both_lists):
        return repr(left), repr(right)
    assert isinstance(left, str | tuple)
    assert isinstance(right, str | tuple)
    size = SHOWN if both_texts else ITEMS_SHOWN
    part = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    start = max(0, part - size // 4)
    return _window(left, start, size), _window(right, start, size)


def _window(value: str | tuple[object, ...], start: int, size: int) -> str:
    shown = value[start : start + size]
    text = repr(shown if isinstance(shown, str) else list(shown))
    if len(value) <= size and start == 0:
        return text
    return f"{text} (from {start} of {len(value)})"
