"""Hostile requests. Each is made of the seed and its number alone; those that reach the engine ask for a few tokens."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sglang_parity.host.bodies import CARRIED_FIELDS

from stand.cases import CARRIED, CASES, carried
from stand.refusals import REFUSALS

from .places import Place, at, places, put, put_text, written

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
HUGE = 50 * MIB
HUGE_EVERY = 500  # of the requests one has a huge body
JSON = "application/json"


Body = dict[str, Any]


class Kind(StrEnum):
    WRONG_TYPE = "a wrong type"
    WRONG_TYPES = "wrong types everywhere"
    UNKNOWN_FIELD = "fields of other servers"
    CARRIED = "wrong types in carried fields"
    NUMBER = "numbers at their limits"
    DEEP = "deep nesting"
    LONG_TEXT = "long text"
    LONG_ARRAY = "long arrays"
    NOT_A_NUMBER = "NaN, Infinity, 1e999"
    SURROGATE = "half of a surrogate pair"
    SPECIAL_TOKEN = "special tokens as text"
    DUPLICATE_KEY = "duplicate keys"
    BROKEN_UTF8 = "no UTF-8"
    BROKEN_JSON = "no JSON"
    CONTENT_TYPE = "another content type"
    HUGE_BODY = "a body of 50 MB"


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """What is sent to the chat route.

    Attributes:
        number: its place in the run.
        content_type: the header; empty where it is not sent.
        content: the body.
    """

    number: int
    kind: Kind
    content_type: str
    content: bytes

    @property
    def for_reference(self) -> HostileRequest:
        """What the front makes of it: carried fields at the top, where SGLang has them; any kind of JSON as JSON."""
        if self.content_type.endswith("+json"):
            return replace(self, content_type=JSON).for_reference
        try:
            body = json.loads(self.content)
            kwargs = dict(body["chat_template_kwargs"])
            carries = {**kwargs.pop("sglang")}
        except (ValueError, LookupError, TypeError, RecursionError):
            return self
        content = written({**body, "chat_template_kwargs": kwargs, **carries}).encode("utf-8", "surrogatepass")
        return replace(self, content=content)


USUAL = tuple(kind for kind in Kind if kind is not Kind.HUGE_BODY)


def hostile_request(seed: int, number: int, model: str) -> HostileRequest:
    """The request of this number, for a server that serves ``model``."""
    source = random.Random(f"{seed}:{number}")
    kind = Kind.HUGE_BODY if number % HUGE_EVERY == HUGE_EVERY - 1 else source.choice(USUAL)
    content_type = source.choice(CONTENT_TYPES) if kind is Kind.CONTENT_TYPE else JSON
    content = MAKERS[kind](source, {"model": model, **valid(source)})
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return HostileRequest(number, kind, content_type, content)


# -------------------------------------------------------------------------------------------------- what is spoilt

# Requests of every shape, refused ones among them, short enough to be told apart in a report.
BODIES = tuple(
    body
    for body in (
        *(case.body for case in CASES),
        *(carried(case.body) for case in CARRIED),
        *(case.body for case in REFUSALS),
    )
    if len(json.dumps(body)) < 4000
)
# An answer goes on until the limit under these, whatever the model means to say.
ENDLESS = ("ignore_eos", "min_tokens", "logit_bias", "response_format", "tool_choice")
LIMITS = ("max_tokens", "max_completion_tokens")
FEW = 4
MANY_CHOICES = range(5, 129)


def valid(source: random.Random) -> Body:
    """A request as a client sends it, but for the model."""
    body = dict(source.choice(BODIES))
    if source.random() < 0.5:
        body["stream"] = True
    return body


def modest(body: Any) -> Any:
    """The request, with little work for the engine: few tokens, or an answer that ends by itself; few choices."""
    if not isinstance(body, dict):
        return body
    body = {key: value for key, value in body.items() if not (key == "n" and value in MANY_CHOICES)}
    if any(is_large(body.get(limit)) for limit in LIMITS):
        return {key: value for key, value in body.items() if key not in ENDLESS and not is_grammar(key, value)}
    return body if any(body.get(limit) for limit in LIMITS) else {**body, "max_tokens": FEW}


def is_large(limit: Any) -> bool:
    return isinstance(limit, int | float) and limit > FEW


def is_grammar(key: str, value: Any) -> bool:
    return key == "chat_template_kwargs" and isinstance(value, dict) and "sglang" in value


# -------------------------------------------------------------------------------------------------- what spoils it

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.5, "", " ", "x", "0", "1.5", "true", "null", "auto", "none", "user"),
    *([], [[]], [None], [0], ["x"], [{}], {}, {"": None}, {"a": 1}, {"type": "object"}, {"type": "text", "text": 5}),
    *({"type": "function"}, {"function": {}}, {"name": None}, [{"role": "user"}], [{"type": "text"}]),
)
NUMBERS = (
    *(0, -0.0, -1, 1e-300, 0.1, 1.0000001, 2, 2.5, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32),
    *(2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**40, 1e38, 1e39, 1.7e308, -1e308),
)
NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 400, "0x10", "01", "1.", ".5", "+1", "1_000")
NUMERIC = (
    *("max_tokens", "max_completion_tokens", "min_tokens", "n", "seed", "temperature", "top_p", "top_k", "min_p"),
    *("frequency_penalty", "presence_penalty", "repetition_penalty", "top_logprobs", "length_penalty", "priority"),
)
SGLANG_FIELDS = (
    *("task", "reasoning", "reasoning_effort", "separate_reasoning", "stream_reasoning", "stop_token_ids", "regex"),
    *("ebnf", "structural_tag", "response_format", "skip_special_tokens", "min_p", "custom_params", "rid", "lora_path"),
)
CARRIED_NAMES = sorted(CARRIED_FIELDS)
FIELDS = (
    *NUMERIC,
    *SGLANG_FIELDS,
    *("messages", "model", "stream", "stream_options", "stop", "logprobs", "logit_bias", "tools", "tool_choice"),
    *("parallel_tool_calls", "user", "metadata", "store", "functions", "function_call", "modalities", "audio"),
    *("prediction", "service_tier", "verbosity", "web_search_options", "chat_template_kwargs", "chat_template"),
    *("chat_template_args", "continue_final_message", "add_generation_prompt", "nvext", "mm_processor_kwargs"),
    *("ignore_eos", "input_ids", "bootstrap_room", "data_parallel_rank", "session_params", "return_hidden_states"),
    *("", "__proto__", "__class__", "messages\x00", "m" * 1000, "токен"),
)
NVEXT = ("extra_fields", "annotations", "greed_sampling", "use_raw_prompt", "backend_instance_id", "token_data", "x")
TOKENS = (
    *("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<think>", "</think>"),
    *("<｜search▁begin｜>", "<｜search▁end｜>", "<｜action｜>", "<｜latest_reminder｜>", "<tool_result>", "<|im_end|>"),
    *(
        "<｜DSML｜tool_calls>",
        '<｜DSML｜invoke name="f">',
        "</｜DSML｜tool_calls>",
        "｜DSML｜",
        "<｜place▁holder▁no▁0｜>",
    ),
    *("\x00", "\x1b[2J", "\u2028", "\ufeff", "\u202e", "\U0010ffff", "{{ messages }}", "{% raw %}", "%s%n", "${x}"),
)
HALVES = (r"\ud800", r"\udfff", r"\ud83d", r"\ude00\ud83d", r"\ud83dx", r"\\ud800", r"\u0000\ud83d\ud83d\ude00")
NO_UTF8 = (
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\x80",
)
CONTENT_TYPES = (
    *(
        "",
        "text/plain",
        "text/json",
        "application/xml",
        "application/x-www-form-urlencoded",
        "application/octet-stream",
    ),
    *(
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "application/vnd.api+json",
        "application/json; x=" + "y" * 4000,
    ),
    *(
        "application/json; charset=utf-16",
        "application/json; charset=",
        "application/jsonx",
        "APPLICATION/JSON",
        ";",
        "*/*",
    ),
)
LETTERS = ("a", " ", "\n", "ab ", "漢", "🙂", "\u0301", "a\u0301", "</", "<｜", "0", "\x00", "'", "ÿ", "👩‍👩‍👧")


def wrong_value(source: random.Random) -> Any:
    if source.random() < 0.2:
        return source.choice(NUMBERS)
    value = source.choice(VALUES)
    return [value] * source.randint(1, 3) if source.random() < 0.1 else value


def some_place(source: random.Random, value: Any, holds: Callable[[Any], bool] = lambda _: True) -> Place:
    """A place below the whole; the whole where there is none."""
    return source.choice([place for place in places(value, holds) if place] or [()])


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_array(value: Any) -> bool:
    return isinstance(value, list)


def wrong_type(source: random.Random, body: Body) -> str:
    return written(modest(put(body, some_place(source, body), wrong_value(source))))


def wrong_types(source: random.Random, body: Body) -> str:
    for _ in range(source.randint(2, 8)):
        place = some_place(source, body)
        body = put(body, place, wrong_value(source))
    return written(modest(body))


def unknown_fields(source: random.Random, body: Body) -> str:
    fields = {source.choice(FIELDS): wrong_value(source) for _ in range(source.randint(1, 4))}
    if source.random() < 0.2:
        fields["nvext"] = {source.choice(NVEXT): wrong_value(source)}
    return written(modest({**body, **fields}))


def carried_fields(source: random.Random, body: Body) -> str:
    """What Dynamo's front does not look at, and the processor has to."""
    fields: Any = {source.choice(CARRIED_NAMES): wrong_value(source) for _ in range(source.randint(1, 3))}
    roll = source.random()
    if roll < 0.1:
        fields[source.choice(FIELDS)] = wrong_value(source)
    elif roll < 0.2:
        fields = wrong_value(source)
    others = {source.choice(("thinking", "enable_thinking", "reasoning_effort", "x")): wrong_value(source)}
    kwargs = {"sglang": fields, **(others if source.random() < 0.5 else {})}
    return written(modest({**body, "chat_template_kwargs": kwargs}))


def numbers(source: random.Random, body: Body) -> str:
    fields = {source.choice(NUMERIC): source.choice(NUMBERS) for _ in range(source.randint(1, 3))}
    return written(modest({**body, **fields}))


def deep(source: random.Random, body: Body) -> str:
    """JSON nested in JSON, where any value may stand, and in the text of a call's arguments."""
    depth = source.choice((20, 100, 126, 127, 128, 129, 200, 500, 900, 1000, 1024, 1100, 5000, 100_000))
    opening, closing = source.choice(
        (("[", "]"), ('{"a":', "}"), ('[{"a":', "}]"), ('{"items":', "}"), ('{"anyOf":[', "]}"))
    )
    nested = opening * depth + "1" + closing * depth
    body = modest(body)
    if source.random() < 0.4:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": f'{{"x":{nested}}}'}}
        turns = [{"role": "assistant", "content": None, "tool_calls": [call]}]
        turns += [{"role": "tool", "tool_call_id": "c", "content": "r"}]
        return written({**body, "messages": [{"role": "user", "content": "Hi"}, *turns]})
    schema = {"type": "object", "properties": {"x": {}}}
    holders: tuple[Body, ...] = (
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}},
        {"chat_template_kwargs": {"x": {}}},
        {"chat_template_kwargs": {"sglang": {"reasoning": {}}}},
        {"metadata": {"x": {}}},
        {},
    )
    body = {**body, **source.choice(holders)}
    return put_text(body, some_place(source, body), nested)


def long_text(source: random.Random, body: Body) -> str:
    body = modest(body)
    letters = source.choice(LETTERS)
    text = letters * (source.choice((1000, 20_000, 200_000, 2_000_000)) // len(letters))
    if source.random() < 0.2:
        return written({**body, text: 1})
    return written(put(body, some_place(source, body, is_text), text))


def long_array(source: random.Random, body: Body) -> str:
    """An array with one of its items, or with another, many times over."""
    body = modest(body)
    many = source.choice((100, 1000, 10_000, 50_000))
    if source.random() < 0.3:
        fields = ("stop", "tools", "stop_token_ids", "logit_bias", "metadata")
        made = {"logit_bias": {str(i): 1 for i in range(many)}, "metadata": {f"k{i}": "v" for i in range(many)}}
        field = source.choice(fields)
        return written({**body, field: made.get(field, [source.choice(("a", 5, {}))] * many)})
    place = some_place(source, body, is_array)
    items = at(body, place)
    item = source.choice(items) if isinstance(items, list) and items else source.choice(VALUES)
    return written(put(body, place, [item] * many))


def no_number(source: random.Random, body: Body) -> str:
    body = modest(body)
    if source.random() < 0.5:
        body = {**body, source.choice(NUMERIC): 1}
    return put_text(body, some_place(source, body), source.choice(NO_NUMBERS))


def half_pair(source: random.Random, body: Body) -> str:
    body = modest(body)
    text = f'"x{source.choice(HALVES)}y"'
    if source.random() < 0.2:
        return put_text({**body, "metadata": {"x": 1}}, ("metadata",), f"{{{text}: 1}}")
    return put_text(body, some_place(source, body, is_text), text)


def special_tokens(source: random.Random, body: Body) -> str:
    body = modest(body)
    for _ in range(source.randint(1, 4)):
        place = some_place(source, body, is_text)
        text = "".join(source.choices(TOKENS, k=source.choice((1, 2, 5, 200))))
        body = put(body, place, text if source.random() < 0.5 else f"{at(body, place)}{text}")
    return written(body)


def duplicate_keys(source: random.Random, body: Body) -> str:
    """A key of some object twice, once with another value."""
    body = modest(body)
    place = some_place(source, body, lambda value: isinstance(value, dict) and bool(value))
    pairs = list(at(body, place).items())
    key, value = source.choice(pairs)
    pairs.insert(source.randint(0, len(pairs)), (key, source.choice((value, wrong_value(source)))))
    return put_text(body, place, "{" + ",".join(f"{written(k)}:{written(v)}" for k, v in pairs) + "}")


def broken_utf8(source: random.Random, body: Body) -> bytes:
    text = written(modest(body))
    if source.random() < 0.2:
        return text.encode(source.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-be")))
    content = text.encode()
    for _ in range(source.randint(1, 3)):
        cut = source.randint(0, len(content))
        content = content[:cut] + source.choice(NO_UTF8) + content[cut:]
    return content


def broken_json(source: random.Random, body: Body) -> bytes:
    content = written(modest(body)).encode()
    cut = source.randint(0, len(content))
    return source.choice(
        (
            *(content[:cut], content + b",", content + content, content[1:], content.replace(b'"', b"'")),
            *(content[:cut] + b"," + content[cut:], content[:cut] + b"\x00" + content[cut:], b"//\n" + content),
            *(b"", b" ", b"null", b"true", b"5", b'"x"', b"[]", b"{}", b"[" + content + b"]", source.randbytes(200)),
        )
    )


def any_body(_source: random.Random, body: Body) -> str:
    return written(modest(body))


def huge_body(source: random.Random, body: Body) -> str:
    body = modest(body)
    small = {"role": "user", "content": "a"}
    return source.choice(
        (
            lambda: written({**body, "messages": [{"role": "user", "content": "word " * (HUGE // 5)}]}),
            lambda: written({**body, "messages": [{"role": "user", "content": "a" * HUGE}]}),
            lambda: written({**body, "messages": [small] * (HUGE // len(written(small)))}),
            lambda: put_text({**body, "metadata": 0}, ("metadata",), "[" * HUGE),
            lambda: written(body) + " " * HUGE,
            lambda: put_text({**body, "logit_bias": 0}, ("logit_bias",), "1" * HUGE),
        )
    )()


MAKERS: dict[Kind, Callable[[random.Random, Body], str | bytes]] = {
    Kind.WRONG_TYPE: wrong_type,
    Kind.WRONG_TYPES: wrong_types,
    Kind.UNKNOWN_FIELD: unknown_fields,
    Kind.CARRIED: carried_fields,
    Kind.NUMBER: numbers,
    Kind.DEEP: deep,
    Kind.LONG_TEXT: long_text,
    Kind.LONG_ARRAY: long_array,
    Kind.NOT_A_NUMBER: no_number,
    Kind.SURROGATE: half_pair,
    Kind.SPECIAL_TOKEN: special_tokens,
    Kind.DUPLICATE_KEY: duplicate_keys,
    Kind.BROKEN_UTF8: broken_utf8,
    Kind.BROKEN_JSON: broken_json,
    Kind.CONTENT_TYPE: any_body,
    Kind.HUGE_BODY: huge_body,
}
