"""What the load test asks: the same requests in the same order for every server and every run."""

from __future__ import annotations

import random
from typing import Any

_SEED = 20260731

# What stands between these two, the stand-in checkpoint says word for word. Another checkpoint reads it as text.
_SCRIPT_BEGIN, _SCRIPT_END = "<｜search▁begin｜>", "<｜search▁end｜>"

_TEXT = (
    "the river of a quiet city runs past old bridges and bright markets where people trade news for bread while "
    "engineers measure every token, count 数据 and café tables, and ask what changed since yesterday"
)
_WORDS = _TEXT.split()
_CITIES = ("Berlin", "Kyoto", "São Paulo", "北京", "Nairobi", "Oslo")
_WEATHER_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}


def chat_request(number: int) -> dict[str, Any]:
    """The body of request ``number``, without its model. The four kinds take turns."""
    rng = random.Random(f"{_SEED}:{number}")
    kind = (_short_chat, _long_prompt, _thinking, _tool_call)[number % 4]
    return {**kind(rng), "stream": True, "stream_options": {"include_usage": True}, "temperature": 0}


def _short_chat(rng: random.Random) -> dict[str, Any]:
    return {"messages": _user(_sentence(rng, 12)), "max_tokens": 64, "ignore_eos": True}


def _long_prompt(rng: random.Random) -> dict[str, Any]:
    prompt = f"Summarize: {_sentence(rng, rng.randint(500, 1000))}"
    return {"messages": _user(prompt), "max_tokens": 32, "ignore_eos": True}


def _thinking(rng: random.Random) -> dict[str, Any]:
    script = f"{_sentence(rng, 40)}</think>{_sentence(rng, 20)}"
    return {
        "messages": _user(f"{_sentence(rng, 12)}?", script),
        "max_tokens": 256,
        "chat_template_kwargs": {"thinking": True},
    }


def _tool_call(rng: random.Random) -> dict[str, Any]:
    city, days = rng.choice(_CITIES), rng.randint(1, 7)
    script = (
        f"{_sentence(rng, 8)}\n\n"
        "<｜DSML｜tool_calls>\n"
        '<｜DSML｜invoke name="get_weather">\n'
        f'<｜DSML｜parameter name="city" string="true">{city}</｜DSML｜parameter>\n'
        f'<｜DSML｜parameter name="days" string="false">{days}</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n"
        "</｜DSML｜tool_calls>"
    )
    return {
        "messages": _user(f"{_sentence(rng, 6)}: what is the weather in {city}?", script),
        "max_tokens": 256,
        "tools": [_WEATHER_TOOL],
    }


def _sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def _user(text: str, script: str = "") -> list[dict[str, str]]:
    return [{"role": "user", "content": f"{text} {_SCRIPT_BEGIN}{script}{_SCRIPT_END}" if script else text}]
