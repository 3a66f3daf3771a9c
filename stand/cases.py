"""The requests that both servers must answer alike, and those that Dynamo's front does not let through unchanged.

A scripted request carries, between two marker tokens, the text that the stand-in checkpoint answers with. Names begin
with the id of the field report that a case stands for, where there is one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sglang_parity.host.bodies import CARRIED_FIELDS

from .servers import MODES, Body, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator

Message = dict[str, Any]

BOS = "<｜begin▁of▁sentence｜>"
THINKING = {"chat_template_kwargs": {"thinking": True}}
GREEDY = {"temperature": 0}


@dataclass(frozen=True, slots=True)
class Case:
    """One request, without ``model`` and ``stream``.

    Attributes:
        name: id of the test.
        body: the request.
        needs: text that the reference's answer must hold somewhere, so that a case cannot pass for want of a script.
        modes: the modes in which both servers take the request.
        ids_spell_prompt: False where the prompt's text holds more than its ids: a BOS that SGLang drops on the way.
    """

    name: str
    body: Body
    needs: str = ""
    modes: tuple[Mode, ...] = MODES
    ids_spell_prompt: bool = True

    @property
    def scripted(self) -> bool:
        return "<｜search▁begin｜>" in json.dumps(self.body, ensure_ascii=False)


def says(script: str) -> str:
    """What a prompt carries to be answered with the script."""
    return f"<｜search▁begin｜>{script}<｜search▁end｜>"


def user(content: str | list[Message], script: str | None = None) -> Message:
    if script is None:
        return {"role": "user", "content": content}
    assert isinstance(content, str)
    return {"role": "user", "content": f"{content} {says(script)}"}


def system(content: str) -> Message:
    return {"role": "system", "content": content}


def assistant(content: str | list[Message] | None, **fields: Any) -> Message:
    return {"role": "assistant", "content": content, **fields}


def called(call_id: str, name: str, arguments: Any) -> Message:
    """A tool call of the history; ``arguments`` as they go over the wire."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, content: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def text_part(text: str) -> Message:
    return {"type": "text", "text": text}


def tool(name: str, description: str, **properties: Any) -> Message:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def carried(body: Body) -> Body:
    """The body with the fields that Dynamo's front refuses or hides in the one place that it leaves alone."""
    fields = {key: body[key] for key in CARRIED_FIELDS & body.keys()}
    if not fields:
        return body
    rest = {key: value for key, value in body.items() if key not in CARRIED_FIELDS}
    return {**rest, "chat_template_kwargs": {**body.get("chat_template_kwargs", {}), "sglang": fields}}


# What the model writes for a call: every parameter with its JSON text, or its bare text where it is a string.
def call_block(*calls: tuple[str, dict[str, Any]]) -> str:
    invokes = "\n".join(
        f'<｜DSML｜invoke name="{name}">\n'
        + "".join(_parameter(*item) for item in arguments.items())
        + "</｜DSML｜invoke>"
        for name, arguments in calls
    )
    return f"<｜DSML｜tool_calls>\n{invokes}\n</｜DSML｜tool_calls>"


def _parameter(name: str, value: Any) -> str:
    is_text = isinstance(value, str)
    text = value if is_text else json.dumps(value, ensure_ascii=False)
    return f'<｜DSML｜parameter name="{name}" string="{str(is_text).lower()}">{text}</｜DSML｜parameter>\n'


WEATHER = tool("get_weather", "Weather of a city", city={"type": "string"})
SEARCH = tool("search_db", "Search a table", table={"type": "string"}, limit={"type": "integer"})
MATRIX = tool(
    "invert", "Invert a matrix", rows={"type": "array", "items": {"type": "array"}}, options={"type": "object"}
)
SHELL = tool("run", "Run a command", command={"type": "string"})
TOOLS = {"tools": [WEATHER, SEARCH]}

PARIS = call_block(("get_weather", {"city": "Paris"}))
PARIS_AND_ORDERS = call_block(("get_weather", {"city": "Paris"}), ("search_db", {"table": "orders", "limit": 10}))
NESTED = {
    "rows": [[1, 0.5, -2e-7], [[], {}, None], ["x", '"quoted"', "日本"]] + [[n, n * n, n / 7] for n in range(12)],
    "options": {"deep": {"er": {"est": [True, False, {"k": "v"}]}}, "empty": {}},
}
THOUGHTS = "The user greets me.\nI should greet back, briefly."

CJK = "敏捷的棕色狐狸跳过懒狗。すばやい茶色の狐。빠른 갈색 여우. 𠜎𠮷𡃁龘"
EMOJI = "👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈🇯🇵❤️‍🔥 0️⃣ 🫠"
COMBINING = "e\u0301 o\u0308\u0323 n\u0303 Z͑ͫ̓a̴l̶g̷o̸ क्षि กำ้"
RTL = "שלום עולם – مرحبا بالعالم \u202bמעורב mixed\u202c 123"
RARE = "🜁𓀀𒀱🧿"  # several tokens a character
PROSE = "The quick brown fox jumps over the lazy dog while the band plays on. "


def _cases() -> Iterator[Case]:
    yield from _plain()
    yield from _thinking()
    yield from _calls()
    yield from _history()
    yield from _text()
    yield from _ends()
    yield from _options()


def _plain() -> Iterator[Case]:
    """The prompt alone decides the answer."""
    hi = user("Hi")
    yield Case("plain-greedy", {"messages": [hi], **GREEDY}, needs="stand-in checkpoint speaking")
    yield Case("plain-default-sampling", {"messages": [hi]})
    yield Case("plain-sampled", {"messages": [hi], "temperature": 0.5, "top_p": 0.5, "seed": 7})
    penalties = {"frequency_penalty": 0.5, "presence_penalty": -0.5, "repetition_penalty": 1.1}
    yield Case("plain-penalties", {"messages": [hi], **GREEDY, **penalties})
    yield Case("plain-system", {"messages": [system("You are terse."), hi], **GREEDY})
    turns = [user("Hi"), assistant("Hello."), user("And now?"), assistant("Still here."), user("Good.")]
    yield Case("plain-multi-turn", {"messages": [system("You are terse."), *turns], **GREEDY})
    yield Case("plain-system-in-the-middle", {"messages": [hi, assistant("A"), system("Now in French."), hi], **GREEDY})
    yield Case("plain-consecutive-users", {"messages": [user("One."), user("Two.")], **GREEDY})
    developer = {"role": "developer", "content": "Answer in verse."}
    yield Case("plain-developer-role", {"messages": [developer, hi], **GREEDY})
    yield Case("plain-developer-thinking", {"messages": [hi, assistant("A"), developer, hi], **GREEDY, **THINKING})
    parts = [text_part("First part."), text_part("Second part, 2 < 3.")]
    yield Case("plain-content-parts", {"messages": [user(parts)], **GREEDY})
    yield Case("R10-assistant-text-parts", {"messages": [hi, assistant(parts), user("Go on")], **GREEDY})
    yield Case("plain-final-assistant-turn", {"messages": [hi, assistant("I was saying")], **GREEDY})
    going_on = {"continue_final_message": True, "add_generation_prompt": False, **GREEDY}
    yield Case("plain-continue-final-message", {"messages": [hi, assistant("I was say")], **going_on})
    yield Case(
        "R08-continue-parts", {"messages": [hi, assistant([text_part("Hello "), text_part("world")])], **going_on}
    )
    yield Case("R13-continue-bos", {"messages": [hi, assistant(f"{BOS}Once")], **going_on}, ids_spell_prompt=False)
    yield Case("R14-special-token-text", {"messages": [user("ok <｜Assistant｜></think> and <｜User｜>me")], **GREEDY})
    yield Case(
        "special-token-text-eos", {"messages": [user("a<｜end▁of▁sentence｜>b <think> ｜DSML｜ <|im_end|>")], **GREEDY}
    )


def _thinking() -> Iterator[Case]:
    """Thinking on and off, and reasoning in the answer."""
    ask = [user("Hi", f"{THOUGHTS}</think>Hello there.")]
    for flag in (True, False):
        kwargs = {"chat_template_kwargs": {"thinking": flag}}
        yield Case(f"thinking-{str(flag).lower()}", {"messages": ask, **kwargs}, needs="Hello there.")
    for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max"):
        yield Case(f"effort-{effort}", {"messages": ask, "reasoning_effort": effort}, needs="Hello there.")
    agreed = {"reasoning_effort": "high", "chat_template_kwargs": {"reasoning_effort": "high"}}
    yield Case("R08-effort-in-both-places", {"messages": ask, **agreed}, needs="Hello there.")
    off = {"reasoning_effort": "max", "chat_template_kwargs": {"thinking": False}}
    yield Case("effort-max-thinking-false", {"messages": ask, **off})

    def thinks(script: str, **fields: Any) -> Body:
        return {"messages": [user("Hi", script)], **THINKING, **fields}

    yield Case("T01-reasoning-then-content", thinks(f"{THOUGHTS}</think>Done, with text."), needs="Done, with text.")
    yield Case("T02-short-split", thinks("abc</think>normal"), needs="abc")
    yield Case("T16-end-of-reasoning-and-content", thinks("abc.</think>\n\n  indented"), needs="indented")
    yield Case("reasoning-never-closed", thinks("thinking, thinking, and no end"), needs="no end")
    yield Case("S06-reasoning-only", thinks("only reasoning</think>"), needs="only reasoning")
    yield Case("reasoning-empty", thinks("</think>only content"), needs="only content")
    yield Case("reasoning-opened-again", thinks("<think>a</think>b<think>c</think>d"), needs="a")
    yield Case("reasoning-ends-in-half-marker", thinks("almost closed </thi"), needs="almost")
    yield Case("thinking-with-tools-and-no-call", thinks(f"{THOUGHTS}</think>No tool needed.", **TOOLS))
    turns = [user("Hi"), assistant("Hello", reasoning_content="greet"), user("More", "again</think>yes")]
    yield Case("reasoning-in-history", {"messages": turns, **THINKING})


def _calls() -> Iterator[Case]:
    """Tool calls in the answer."""

    def calls(script: str, **fields: Any) -> Body:
        return {"messages": [user("Go.", script)], **TOOLS, **fields}

    yield Case("call-one", calls(PARIS), needs="Paris")
    yield Case("call-after-content", calls(f"Let me look.\n\n{PARIS}"), needs="Let me look.")
    yield Case("T11-calls-parallel", calls(PARIS_AND_ORDERS), needs="orders")
    yield Case("T13-call-n-2", calls(PARIS, n=2), needs="Paris")
    yield Case("call-after-reasoning", calls(f"{THOUGHTS}</think>Looking.\n\n{PARIS}", **THINKING), needs="greet back")
    yield Case("call-inside-open-reasoning", calls(f"I had better look.\n\n{PARIS}", **THINKING), needs="better look")
    yield Case("call-only-after-reasoning", calls(f"{THOUGHTS}</think>\n\n{PARIS_AND_ORDERS}", **THINKING))
    nested = call_block(("invert", NESTED))
    yield Case("T05-call-nested-arguments", calls(nested, tools=[MATRIX]), needs="deep")
    shell = call_block(("run", {"command": 'make -j2 "all" > out.txt 2>&1'}))
    yield Case("T04-call-value-ends-in-marker-like-text", calls(shell, tools=[SHELL]), needs="2>&1")
    non_ascii = call_block(("get_weather", {"city": f"{CJK}\n{EMOJI}"}))
    yield Case("call-non-ascii-arguments", calls(non_ascii), needs="get_weather")
    yield Case("call-without-arguments", calls(call_block(("get_weather", {}))), needs="get_weather")
    yield Case("call-unknown-tool", calls(call_block(("no_such_tool", {"a": 1}))))
    yield Case(
        "call-unknown-beside-known", calls(call_block(("no_such_tool", {"a": 1}), ("get_weather", {"city": "Rome"})))
    )
    yield Case("T09-call-tool-choice-none", calls(PARIS, tool_choice="none"), needs="Paris")
    yield Case("call-without-tools", {"messages": [user("Go.", PARIS)]}, needs="Paris")
    yield Case("call-never-closed", calls(PARIS[: PARIS.index("</｜DSML｜parameter>")]))
    yield Case("T19-marker-that-is-none", calls("hello<｜DS and more < text"), needs="hello")
    yield Case("T19-marker-cut-at-the-end", calls("hello<｜DSML｜tool_ca"), needs="hello")
    yield Case("call-text-after-the-block", calls(f"{PARIS}\nThat was it."), needs="Paris")
    yield Case("call-tool-choice-auto", calls(PARIS, tool_choice="auto", parallel_tool_calls=False), needs="Paris")


def _history() -> Iterator[Case]:
    """Tool calls and results in the prompt."""

    def goes_on(*history: Message, **fields: Any) -> Body:
        return {"messages": [user("Weather?"), *history], **TOOLS, **GREEDY, **fields}

    def asks(*calls: Message, content: str | None = None, **fields: Any) -> Message:
        return assistant(content, tool_calls=list(calls), **fields)

    orders = called("c1", "search_db", '{"table":"orders","limit":10}')
    yield Case("R01-history-arguments-string", goes_on(asks(orders), result("c1", "3 rows")))
    first = [asks(called("c1", "get_weather", '{"city": "Oslo"}')), result("c1", "rain")]
    second = [asks(called("c2", "get_weather", '{"city": "Rome"}'), content="And Rome."), result("c2", "sun")]
    third = [user("Thanks."), asks(orders, called("c4", "get_weather", "{}")), result("c1", "9"), result("c4", "?")]
    yield Case("history-one-round", goes_on(*first))
    yield Case("history-three-rounds", goes_on(*first, *second, *third))
    yield Case("history-three-rounds-thinking", goes_on(*first, *second, *third, **THINKING))
    both = asks(called("a", "get_weather", '{"city": "A"}'), called("b", "get_weather", '{"city": "B"}'))
    yield Case("history-results-in-wrong-order", goes_on(both, result("b", "second"), result("a", "first")))
    yield Case("history-result-missing", goes_on(both, result("b", "second"), user("Why?")))
    numbers = '{"x": 0.000001, "y": 1e16, "z": 3.0, "i": 12345678901234567890, "n": {"a": [1, {"b": null}]}, "t": true}'
    yield Case("history-arguments-nested-numbers", goes_on(asks(called("c", "f", numbers)), result("c", "ok")))
    spoken = json.dumps({"city": f"{CJK} {EMOJI}", "note": RTL}, ensure_ascii=False)
    yield Case("R18-history-arguments-non-ascii", goes_on(asks(called("c", "get_weather", spoken)), result("c", RTL)))
    escaped = json.dumps({"city": "Zürich 日本", "quote": "\"'\\/\b\n"})
    as_object = {"city": "Zürich 日本", "x": 0.000001, "z": 3.0, "n": {"a": [1, {"b": None}]}}
    yield Case("R18-history-arguments-object", goes_on(asks(called("c", "get_weather", as_object)), result("c", "ok")))
    yield Case("history-arguments-escaped", goes_on(asks(called("c", "get_weather", escaped)), result("c", "ok")))
    thought = asks(called("c", "get_weather", '{"city": "Oslo"}'), reasoning_content="I must look.")
    yield Case("R06-reasoning-before-call", goes_on(thought, result("c", "rain"), user("And?"), **THINKING))
    scripted = {**result("c", ""), "content": f"rain {says('Take an umbrella.')}"}
    yield Case("history-answer-after-result", goes_on(thought, scripted), needs="umbrella")
    order = {"zeta": {"type": "string", "description": "the user's city"}, "alpha": {"type": "integer"}}
    yield Case("R03-tool-key-order", {"messages": [user("Hi")], "tools": [tool("f", "it's", **order)], **GREEDY})
    defaults = {"a": {"type": "number", "default": 1e-06}, "b": {"default": 1e16}, "c": {"default": 100.0}}
    yield Case("R04-tool-number-defaults", {"messages": [user("Hi")], "tools": [tool("f", "n", **defaults)], **GREEDY})
    wide = tool("f", f'{CJK} <b>&amp;</b> "q" {EMOJI}', ключ={"enum": ["é", "日", None, 1, 1.5]})
    yield Case("tool-non-ascii", {"messages": [user("Hi")], "tools": [wide], **GREEDY})


def _text() -> Iterator[Case]:
    """Text of many scripts, in the prompt and in the answer."""
    for name, text in (("cjk", CJK), ("emoji", EMOJI), ("combining", COMBINING), ("rtl", RTL), ("rare", RARE)):
        yield Case(f"S01-text-{name}", {"messages": [user(text, text)]}, needs=text)
    mixed = f"{CJK}</think>{EMOJI} {COMBINING}\n{RTL}"
    yield Case("S01-text-in-reasoning", {"messages": [user("Hi", mixed)], **THINKING}, needs=EMOJI)
    code = 'def f(x):\n\treturn {"a": [x, "\\n"]}  # 100%\r\n\n\n    <b>&lt;</b>\u2028\u0000'
    yield Case("text-code-and-whitespace", {"messages": [user(code, code)]})
    yield Case("text-spaces-kept", {"messages": [user("  Hi \n", "  two  spaces \n\n")]}, needs="two  spaces")
    yield Case("text-special-tokens-in-answer", {"messages": [user("Hi", "a<｜User｜>b<｜Assistant｜>c｜DSML｜d")]})
    long_text = PROSE * 1450
    first = [system(long_text), user("How long is that?", "Long.")]
    yield Case("long-prompt", {"messages": first}, needs="Long.")
    second = [*first, assistant("Long."), user("Are you sure?", "Quite.")]
    yield Case("long-prompt-second-turn", {"messages": second}, needs="Quite.")


def _ends() -> Iterator[Case]:
    """Answers that are cut: by a limit, by a stop string."""

    def cut(script: str, limit: int, **fields: Any) -> Body:
        return {"messages": [user("Go.", script)], "max_tokens": limit, **fields}

    yield Case("length-content", cut(PROSE, 5), needs="length")
    yield Case("length-one-token", cut(PROSE, 1), needs="length")
    yield Case("length-max-completion-tokens", {"messages": [user("Go.", PROSE)], "max_completion_tokens": 4})
    yield Case("length-exactly", cut("One two three", 3))
    yield Case("length-in-reasoning", cut(f"{THOUGHTS}</think>Hello", 6, **THINKING), needs="length")
    yield Case("length-after-reasoning", cut("abc</think>Hello there, you", 5, **THINKING), needs="length")
    yield Case("T14-length-in-call", cut(PARIS, 22, **TOOLS), needs="length")
    yield Case("T14-length-in-second-call", cut(PARIS_AND_ORDERS, 40, **TOOLS), needs="length")
    yield Case("T14-length-in-call-marker", cut(f"Look.\n\n{PARIS}", 5, **TOOLS), needs="length")
    for limit in (1, 2, 3, 5):
        yield Case(f"length-in-character-{limit}", cut(RARE, limit), needs="length")
    yield Case("length-in-character-of-reasoning", cut(RARE, 3, **THINKING), needs="length")

    def stops(script: str, stop: str | list[str], **fields: Any) -> Body:
        return {"messages": [user("Go.", script)], "stop": stop, **fields}

    yield Case("S02-stop-newline", stops("line one\nline two", ["\n"]), needs="line one")
    yield Case("S02-stop-split-across-tokens", stops("alpha beta gamma delta", ["ta gam"]), needs="alpha be")
    yield Case("stop-several-first-wins", stops("one two three four", ["three", "two", "zz"]), needs="one")
    yield Case("stop-never-seen", stops("one two three", ["four", " thr33"]), needs="three")
    yield Case("stop-half-seen-at-the-end", stops("one two thr", "three"), needs="thr")
    yield Case("stop-at-once", stops("stop here", "stop"))
    yield Case("stop-in-reasoning", stops(f"{THOUGHTS}</think>Hello", ["greet back"], **THINKING), needs="greets me")
    yield Case("stop-in-call", stops(PARIS, ["Par"], **TOOLS))
    yield Case("stop-non-ascii", stops("前半。後半、終わり", ["後半"]), needs="前半")
    yield Case("stop-in-emoji", stops(f"a{EMOJI}b", ["👨‍👩‍👧"]))
    yield Case("stop-and-limit", stops("one two three four five", ["five"], max_tokens=3), needs="length")


def _options() -> Iterator[Case]:
    """Several choices, logprobs, usage."""
    hi = [user("Hi", "Hello there, friend.")]
    yield Case("S10-n-2", {"messages": hi, "n": 2}, needs="friend")
    yield Case("S10-n-2-thinking", {"messages": [user("Hi", "abc</think>Hello")], "n": 2, **THINKING}, needs="abc")
    yield Case("S04-logprobs", {"messages": hi, "logprobs": True}, needs="friend")
    yield Case("S04-logprobs-top-0", {"messages": hi, "logprobs": True, "top_logprobs": 0})
    yield Case("S04-logprobs-top-2", {"messages": hi, "logprobs": True, "top_logprobs": 2})
    yield Case("S04-logprobs-cjk", {"messages": [user("Hi", CJK)], "logprobs": True, "top_logprobs": 1})
    yield Case("logprobs-reasoning-and-call", _thinking_call(logprobs=True, top_logprobs=1))
    yield Case("S04-logprobs-n-2", {"messages": hi, "logprobs": True, "n": 2})
    yield Case("logprobs-stop-string", {"messages": hi, "logprobs": True, "stop": [" there"]})
    yield Case("S07-no-usage-asked", {"messages": hi, "stream_options": {"include_usage": False}}, modes=("stream",))
    continuous = {"include_usage": True, "continuous_usage_stats": True}
    yield Case("usage-continuous", {"messages": hi, "stream_options": continuous}, modes=("stream",))
    yield Case("ignored-fields", {"messages": hi, "user": "someone", "store": False, "metadata": {"a": "b"}})
    yield Case(
        "ignore-eos", {"messages": [user("Go.", "Short.")], "ignore_eos": True, "max_tokens": 12}, needs="length"
    )
    yield Case("min-tokens", {"messages": [user("Go.", "Short.")], "min_tokens": 8, "max_tokens": 12})
    yield Case("response-format-text", {"messages": hi, "response_format": {"type": "text"}}, needs="friend")


def _thinking_call(**fields: Any) -> Body:
    return {"messages": [user("Go.", f"Look.</think>Looking.\n\n{PARIS}")], **THINKING, **TOOLS, **fields}


CASES = tuple(_cases())


def _carried_cases() -> Iterator[Case]:
    """Requests with fields that only ``carried`` brings through Dynamo's front."""
    think = [user("Hi", f"{THOUGHTS}</think>Hello there.")]
    for task in ("action", "query", "title"):
        yield Case(f"task-{task}", {"messages": [user("Hi", "Done.")], "task": task}, needs="Done.")
    for name, reasoning in (
        ("effort-low", {"effort": "low"}),
        ("effort-none", {"effort": "none"}),
        ("enabled", {"enabled": True}),
        ("disabled", {"enabled": False}),
    ):
        yield Case(f"reasoning-{name}", {"messages": think, "reasoning": reasoning}, needs="Hello there.")
    for effort in (0, 0.5, 0.99):
        yield Case(f"reasoning-effort-{effort}", {"messages": think, "reasoning_effort": effort}, needs="Hello there.")
    yield Case("separate-reasoning-false", {"messages": think, "separate_reasoning": False, **THINKING}, needs="Hello")
    yield Case("stream-reasoning-false", {"messages": think, "stream_reasoning": False, **THINKING}, needs="Hello")
    whole = {"separate_reasoning": False, "stream_reasoning": False}
    yield Case("neither", {"messages": think, **whole, **THINKING}, needs="Hello there.")
    comma = {"stop_token_ids": [14]}
    yield Case("stop-token-ids", {"messages": [user("Go.", "one, two, three")], **comma}, needs="one")
    yield Case("stop-token-ids-in-reasoning", {"messages": [user("Go.", "a, b</think>c")], **comma, **THINKING})


CARRIED = tuple(_carried_cases())
assert len({case.name for case in CASES}) == len(CASES)

# Asked one by one and all at once; batching must not change any answer.
TOGETHER = tuple(
    Case(f"together-{number}", {"messages": [user(f"Request {number}.", f"{PROSE * (number % 4)} Answer {number}.")]})
    if number % 2
    else Case(f"together-{number}", _thinking_call(seed=number, max_tokens=20 + 5 * number))
    for number in range(16)
)
