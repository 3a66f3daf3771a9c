"""The processor as a guest of a real Dynamo Frontend: how it is named, when its factory is called, what it serves."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest
from frontends import resident_mib
from local_dynamo import CLIENT, NAMED, LocalDynamo, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from local_dynamo import Frontend


@pytest.fixture
def dynamo(tmp_path: Path, checkpoint_directory: Path) -> LocalDynamo:
    return LocalDynamo(tmp_path, checkpoint_directory)


def context_length(frontend: Frontend, model: str = "m") -> str:
    """What a refusal says of the limit that the model's card has."""
    message: str = frontend.chat({}, model=model, max_tokens=9000).json()["message"]
    return message.removeprefix("max_completion_tokens is too large: 9000.This model supports at most ").split()[0]


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (NAMED, {}),
        (("--dyn-chat-processor", "sglang_parity.provider:provider"), {}),
        ((), {"DYN_CHAT_PROCESSOR": "sglang-parity"}),
    ],
    ids=["registered name", "module:function", "environment"],
)
def test_it_is_named_by(served: LocalDynamo, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    with served.frontend(*arguments, **environment) as frontend:
        wait_until(lambda: frontend.models() == ["m"])
        answer = frontend.chat({"say": "Hello"}, nvext={"extra_fields": ["chat_processor"]})
        assert answer.json()["nvext"]["chat_processor"].startswith("sglang-parity/")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ('{"rendr_workers": 8}', "rendr_workers: Extra inputs are not permitted"),
        ('{"render_workers": "8"}', "render_workers: Input should be a valid integer"),
        ('{"default_chat_template_kwargs": []}', "default_chat_template_kwargs: Input should be a valid dictionary"),
    ],
)
def test_wrong_options_end_the_start_and_are_named(served: LocalDynamo, options: str, text: str) -> None:
    with served.frontend(*NAMED, "--dyn-chat-processor-config", options) as frontend:
        log = frontend.log.read_text(encoding="utf-8")
    assert f"error: --dyn-chat-processor-config: {text}" in log
    assert "Traceback" not in log


def test_a_factory_that_raises_is_called_again(served: LocalDynamo) -> None:
    with served.frontend("--dyn-chat-processor", "flaky_processor:provider") as frontend:
        wait_until(lambda: frontend.models() == ["m"])
        assert frontend.says("Hello")
        assert "no model yet" in frontend.log.read_text(encoding="utf-8")


def test_each_of_two_models_has_its_own_card(dynamo: LocalDynamo) -> None:
    with (
        dynamo.worker("small", "--component", "one", "--context-length", "500"),
        dynamo.worker("large", "--component", "two", "--context-length", "800"),
        dynamo.frontend(*NAMED) as frontend,
    ):
        wait_until(lambda: sorted(frontend.models()) == ["large", "small"])
        assert (context_length(frontend, "small"), context_length(frontend, "large")) == ("500", "800")
        assert frontend.says("Hello", model="small")
        assert frontend.says("Hello", model="large")


def test_a_card_that_changes_makes_a_new_engine(dynamo: LocalDynamo) -> None:
    with dynamo.frontend(*NAMED) as frontend:
        for length in ("500", "800"):
            with dynamo.worker("m", "--context-length", length):
                wait_until(lambda: frontend.models() == ["m"])
                assert context_length(frontend) == length
            wait_until(lambda: frontend.models() == [])


def test_a_model_that_is_not_supported_is_not_served_until_its_card_is_right(dynamo: LocalDynamo) -> None:
    with dynamo.frontend(*NAMED) as frontend:
        with dynamo.worker("m", "--tool-call-parser", "kimi_k3"):
            wait_until(lambda: "unknown tool call parser 'kimi_k3'" in frontend.log.read_text(encoding="utf-8"))
            assert frontend.chat({}).status_code in (404, 503)
        with dynamo.worker("m"):
            wait_until(lambda: frontend.models() == ["m"])
            assert frontend.says("Hello")


def test_forced_calls_without_a_parser_are_refused_where_their_definitions_conflict(dynamo: LocalDynamo) -> None:
    """As SGLang refuses them, though by Dynamo's front, which forces no call without a parser."""
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"$defs": {"n": {"type": name}}}}}
        for name in ("string", "null")
    ]
    with dynamo.worker("m", "--tool-call-parser", ""), dynamo.frontend(*NAMED) as frontend:
        wait_until(lambda: frontend.models() == ["m"])
        assert frontend.says("Hello")
        assert frontend.chat({"say": "Hello"}, tools=tools, tool_choice="required").status_code == 400


def test_a_text_input_model_passes_by_the_processor(dynamo: LocalDynamo) -> None:
    with dynamo.worker("m", "--text-input"), dynamo.frontend(*NAMED) as frontend:
        wait_until(lambda: frontend.models() == ["m"])
        answer = frontend.chat({"say": "Hello"})
        assert answer.json()["choices"][0]["message"]["content"] == 'text input: {"say": "Hello"}'


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL], ids=["leaves", "is killed"])
def test_a_worker_comes_back(dynamo: LocalDynamo, sent: signal.Signals) -> None:
    with dynamo.frontend(*NAMED) as frontend:
        with dynamo.worker() as worker:
            wait_until(lambda: frontend.models() == ["m"])
            assert frontend.says("Hello")
            worker.send_signal(sent)
            worker.wait()
            assert frontend.chat({"say": "Hello"}).status_code in (404, 503)
        with dynamo.worker():
            wait_until(lambda: frontend.models() == ["m"] and frontend.says("Hello"))


def test_a_client_that_does_not_read_holds_its_worker_up_and_fills_no_memory(dynamo: LocalDynamo) -> None:
    text = "amber birch cedar " * 200
    endless = {"say": text, "times": 50_000}  # 180 MB, which a worker that is not held up has said in some seconds
    with dynamo.worker("m", "--context-length", "100000"), dynamo.frontend(*NAMED) as frontend:
        wait_until(lambda: frontend.models() == ["m"])
        assert frontend.says(text)
        before = resident_mib(frontend.process_id)
        body = {"model": "m", "messages": [{"role": "user", "content": json.dumps(endless)}], "stream": True}
        with CLIENT.stream("POST", f"{frontend.url}/v1/chat/completions", json=body) as answer:
            assert answer.status_code == 200
            time.sleep(10)
            grown = resident_mib(frontend.process_id) - before
        assert grown < 40
        wait_until(lambda: frontend.says("Hello"))
