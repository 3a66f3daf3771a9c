"""Conversations as agents have them, of a wanted length, new with every seed: prose, code, logs, tools, reasoning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from texts import CODE, RANGES, WORDS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

CHARACTERS_PER_TOKEN = 2.8  # of what is written here, about
_HALF_A_TURN = 1200  # of its characters, about
_SYLLABLES = (
    "ka",
    "ren",
    "to",
    "mi",
    "sol",
    "ver",
    "ex",
    "un",
    "ist",
    "or",
    "da",
    "ble",
    "ing",
    "pre",
    "con",
    "tra",
    "qu",
)


def conversation(source: random.Random, tokens: int) -> dict[str, Any]:
    """A request body whose prompt has about so many tokens; it ends with a user's turn."""
    body: dict[str, Any] = {
        "model": "stand-in",
        "messages": [{"role": "system", "content": _prose(source, 60)}],
        "tools": [_tool(source) for _ in range(2)],
        "reasoning_effort": "high",
        "max_tokens": 64,
    }
    size = len(json.dumps(body, ensure_ascii=False))
    while size + _HALF_A_TURN < tokens * CHARACTERS_PER_TOKEN:
        turn = _agents_turn(source, body["tools"])
        body["messages"] += turn
        size += len(json.dumps(turn, ensure_ascii=False))
    body["messages"].append({"role": "user", "content": _prose(source, 30)})
    return body


def next_turn(source: random.Random, body: dict[str, Any]) -> dict[str, Any]:
    """The conversation with its answer, and what the user says to that."""
    answer = {"role": "assistant", "reasoning_content": _prose(source, 60), "content": _text(source)}
    return {**body, "messages": [*body["messages"], answer, {"role": "user", "content": _prose(source, 30)}]}


def _agents_turn(source: random.Random, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A question, a tool that is called, what it says, and an answer."""
    name, call_id = source.choice(tools)["function"]["name"], f"call_{source.randrange(16**12):012x}"
    arguments = json.dumps({"query": _prose(source, 5), "limit": source.randrange(1000)}, ensure_ascii=False)
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "user", "content": _text(source)},
        {"role": "assistant", "reasoning_content": _prose(source, 40), "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": _log(source)},
        {"role": "assistant", "reasoning_content": _prose(source, 20), "content": _text(source)},
    ]


def _tool(source: random.Random) -> dict[str, Any]:
    properties = {
        "query": {"type": "string", "description": _prose(source, 12)},
        "limit": {"type": "integer", "minimum": 0},
        "order": {"type": "string", "enum": [_word(source) for _ in range(3)]},
    }
    parameters = {"type": "object", "properties": properties, "required": ["query"]}
    function = {"name": f"{_word(source)}_{_word(source)}", "description": _prose(source, 15), "parameters": parameters}
    return {"type": "function", "function": function}


def _text(source: random.Random) -> str:
    kinds: tuple[Callable[[random.Random], str], ...] = (_paragraph, _paragraph, _paragraph, _code, _foreign)
    return "\n\n".join(source.choice(kinds)(source) for _ in range(source.randint(1, 3)))


def _paragraph(source: random.Random) -> str:
    return _prose(source, source.randint(20, 80))


def _prose(source: random.Random, words: int) -> str:
    sentence = (source.choice(WORDS) if source.random() < 0.7 else _word(source) for _ in range(words))
    return " ".join(sentence).capitalize() + source.choice((".", "?", "!", ":", f" ({source.randrange(10**6)})."))


def _word(source: random.Random) -> str:
    return "".join(source.choices(_SYLLABLES, k=source.randint(2, 4)))


def _code(source: random.Random) -> str:
    lines = (f"{source.choice(CODE)}{_word(source)} = {source.random()}\n" for _ in range(source.randint(2, 6)))
    return f"```\n{''.join(lines)}```"


def _foreign(source: random.Random) -> str:
    first, last = source.choice(RANGES)
    return "".join(chr(source.randint(first, last)) for _ in range(source.randint(10, 60)))


def _log(source: random.Random) -> str:
    rows = [
        {"at": f"2026-07-{source.randint(1, 31):02}T{source.randrange(24):02}:00:00Z", _word(source): source.random()}
        for _ in range(source.randint(2, 6))
    ]
    return json.dumps({"rows": rows, "note": _prose(source, 10)}, ensure_ascii=False)
