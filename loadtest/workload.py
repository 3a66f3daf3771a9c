"""What the load test asks: requests whose kinds and lengths depend on their number alone, their words on a seed too.

A workload is a file in ``workloads``. Token lengths are exact, and no request is rendered while the test runs: texts
are filled up with words that are one token each, and how many a kind needs is found out beforehand, with the tokenizer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    Body = dict[str, Any]

FOLDER = Path(__file__).parent / "workloads"

STAND_IN = "stand-in"  # the only model that says what a script tells it
# What stands between these two, the stand-in checkpoint says word for word. Another checkpoint is not asked with them.
_SCRIPT_BEGIN, _SCRIPT_END = "<｜search▁begin｜>", "<｜search▁end｜>"
_CONVERSATIONS = 4  # of one kind at a time: the next turn of one comes so many requests later
_CITIES = ("Berlin", "Kyoto", "Nairobi", "Oslo")
_TEXT = (
    "river city bridge market people trade news bread token measure count table change since letter garden window"
    " paper stone water morning night winter summer music answer question number color house street train school"
    " doctor animal forest island mountain machine engine signal memory value point line circle object weather"
)
_WORDS = _TEXT.split()
_WEATHER_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class WorkloadError(Exception):
    """The workload cannot be asked as its file says; the text says why."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of request.

    Attributes:
        prompt_tokens: least and greatest length of the rendered prompt, at the first turn of a conversation.
        output_tokens: length of the answer, the end token included.
        streamed: the share of requests that stream.
        prefix_tokens: length of a system prompt that all conversations share; 0 for none.
        turns: requests of one conversation, each with the whole history.
        turn_tokens: how much longer the prompt gets with each turn.
        thinking: the model is asked to think.
        tools: the model may call a tool. Its script calls it at each turn but the last.
    """

    name: str
    prompt_tokens: tuple[int, int]
    output_tokens: int
    streamed: float
    prefix_tokens: int = 0
    turns: int = 1
    turn_tokens: int = 0
    thinking: bool = False
    tools: bool = False

    @property
    def has_script(self) -> bool:
        return self.thinking or self.tools


@dataclass(frozen=True, slots=True)
class Fit:
    """How many filler words make the texts of a kind as long as they should be.

    Attributes:
        user: in the first user message, for the shortest prompt.
        reply: in what each further turn adds.
        script: in the script of each turn; empty where the kind has none.
    """

    user: int
    reply: tuple[int, ...]
    script: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """Attributes:
    body: without the model.
    prompt_tokens, output_tokens: what the server's usage must say.
    """

    kind: str
    body: Body
    streamed: bool
    prompt_tokens: int
    output_tokens: int


def kinds_of(name: str) -> list[Kind]:
    """The kinds of a workload, each as often as its share, in the order in which they take turns.

    Raises:
        WorkloadError: there is no such file.
    """
    path = FOLDER / f"{name}.yaml"
    if not path.exists():
        raise WorkloadError(f"no workload {name!r}; there are {', '.join(names())}")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if "mix" not in content:
        return [Kind(**{**kind, "prompt_tokens": tuple(kind["prompt_tokens"])}) for kind in content["kinds"]]
    order = [kind for part, share in content["mix"].items() for kind in kinds_of(part) for _ in range(share)]
    random.Random(0).shuffle(order)
    return order


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def fit(kind: Kind, scripted: bool, render: Callable[[Body], int], count: Callable[[str], int]) -> Fit:
    """Find out how many words each text of a kind needs.

    Args:
        scripted: the checkpoint says what a script tells it.
        render: the length of the prompt that a body makes, in tokens.
        count: the length of a text, in tokens.

    Raises:
        WorkloadError: the fixed parts alone are too long, or words are not one token each.
    """
    if longer := [word for word in _WORDS if count(f" {word}") != 1]:
        raise WorkloadError(f"with this tokenizer these words are not one token each: {', '.join(longer)}")
    # Measured with one word in each text: at an empty one, what stands before and after it could be one token.
    turns = range(kind.turns)
    script = tuple(kind.output_tokens - count(_script(kind, turn, f" {_WORDS[0]}")) for turn in turns)
    found = Fit(1, (), script if scripted and kind.has_script else ())
    for turn in turns:
        if turn:
            found = replace(found, reply=(*found.reply, 1))
        lacking = kind.prompt_tokens[0] + turn * kind.turn_tokens - render(_body(kind, found, 0, turn, 0, seed=0))
        words = 1 + lacking
        found = replace(found, reply=(*found.reply[:-1], words)) if turn else replace(found, user=words)
    if min(found.user, *found.reply, *found.script, 1) < 1:
        raise WorkloadError(f"the fixed parts of {kind.name!r} are longer than its lengths allow: {found}")
    return found


def request(number: int, order: list[Kind], fits: dict[str, Fit], seed: int) -> Request:
    """Request ``number``; ``fits`` by kind."""
    kind = order[number % len(order)]
    alike = [place for place, other in enumerate(order) if other.name == kind.name]
    index = number // len(order) * len(alike) + alike.index(number % len(order))
    turn = index // _CONVERSATIONS % kind.turns
    conversation = index // (_CONVERSATIONS * kind.turns) * _CONVERSATIONS + index % _CONVERSATIONS
    shortest, longest = kind.prompt_tokens
    more = random.Random(f"{kind.name}:{conversation}").randint(0, longest - shortest)
    streamed = int((index + 1) * kind.streamed) > int(index * kind.streamed)
    body = _body(kind, fits[kind.name], conversation, turn, more, seed)
    if streamed:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return Request(kind.name, body, streamed, shortest + more + turn * kind.turn_tokens, kind.output_tokens)


def _body(kind: Kind, fit: Fit, conversation: int, turn: int, more: int, seed: int) -> Body:
    def words(count: int, *where: object) -> str:
        return "".join(f" {word}" for word in random.Random(repr((seed, kind.name, *where))).choices(_WORDS, k=count))

    def script(at: int) -> str:
        if not fit.script:
            return ""
        return f" {_SCRIPT_BEGIN}{_script(kind, at, words(fit.script[at], conversation, 'script', at))}{_SCRIPT_END}"

    messages: list[dict[str, Any]] = []
    if kind.prefix_tokens:
        messages.append({"role": "system", "content": f"Answer briefly.{words(kind.prefix_tokens, 'prefix')}"})
    question = f"Tell me about{words(fit.user + more, conversation)}."
    messages.append({"role": "user", "content": question + script(0)})
    for past in range(turn):
        reply = words(fit.reply[past], conversation, past)
        if kind.tools:
            call = {"name": "get_weather", "arguments": f'{{"city": "{_CITIES[past % len(_CITIES)]}"}}'}
            messages.append(
                {"role": "assistant", "tool_calls": [{"id": f"call_{past}", "type": "function", "function": call}]}
            )
            messages.append(
                {"role": "tool", "tool_call_id": f"call_{past}", "content": f"It is{reply}.{script(past + 1)}"}
            )
        else:
            messages.append({"role": "assistant", "content": f"Well,{reply}."})
            messages.append({"role": "user", "content": f"And then?{script(past + 1)}"})
    body: Body = {"messages": messages, "temperature": 0, "max_tokens": kind.output_tokens}
    if not fit.script:
        body["ignore_eos"] = True
    if kind.thinking:
        body["chat_template_kwargs"] = {"thinking": True}
    if kind.tools:
        body["tools"] = [_WEATHER_TOOL]
    return body


def _script(kind: Kind, turn: int, words: str) -> str:
    """What the stand-in says: thoughts and an answer, a tool call, or at the end of a tool loop an answer."""
    if not kind.tools:
        return f"Let me think.{words}</think>So it is."
    if turn == kind.turns - 1:
        return f"In short:{words}"
    return (
        f"I look it up:{words}\n\n"
        "<｜DSML｜tool_calls>\n"
        '<｜DSML｜invoke name="get_weather">\n'
        f'<｜DSML｜parameter name="city" string="true">{_CITIES[turn % len(_CITIES)]}</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n"
        "</｜DSML｜tool_calls>"
    )
