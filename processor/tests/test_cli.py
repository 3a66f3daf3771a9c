"""The command line: a line in, a line out, whatever the line holds."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from sglang_parity import render_request
from sglang_parity.cli import main
from sglang_parity.errors import RequestError

SAMPLING = Path(__file__).parents[2] / "fixtures" / "sampling_parity" / "deepseek-v4.json"
SAMPLING_CASES: list[dict[str, Any]] = json.loads(SAMPLING.read_text(encoding="utf-8"))["cases"]
HI = {"messages": [{"role": "user", "content": "Hi"}]}


def run(
    lines: list[str], arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> list[dict[str, Any]]:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    assert main(["render", *arguments]) == 0
    return [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]


def test_one_answer_per_line(
    checkpoint_directory: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = [json.dumps(HI), "not json", "", "[]", json.dumps({"messages": []}), json.dumps(HI)]
    rendered, *errors, last = run(lines, ["--checkpoint", str(checkpoint_directory)], monkeypatch, capsysbinary)
    assert rendered == last
    assert rendered == {
        "prompt": "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜></think>",
        "token_ids": [0, 128803, 23166, 128804, 128822],
    }
    assert [error["error"]["status"] for error in errors] == [400, 400, 500, 400]
    assert errors[-1] == {"error": {"status": 400, "message": "Messages cannot be empty."}}


def test_it_prints_what_the_function_returns(
    checkpoint_directory: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    defaults = {"thinking": True, "reasoning_effort": "high"}
    arguments = ["--checkpoint", str(checkpoint_directory), "--default-chat-template-kwargs", json.dumps(defaults)]
    (printed,) = run([json.dumps(HI)], arguments, monkeypatch, capsysbinary)
    prompt = render_request(HI, checkpoint_directory, defaults)
    assert printed == {"prompt": prompt.text, "token_ids": prompt.token_ids}
    assert prompt.text.startswith("<｜begin▁of▁sentence｜>Reasoning Effort: Absolute maximum")


def test_a_line_nested_beyond_pythons_recursion_limit_is_an_error_line(
    checkpoint_directory: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    call = {"function": {"name": "f", "arguments": '{"a":' + "[" * 1000 + "]" * 1000 + "}"}}
    body = {"messages": [{"role": "assistant", "tool_calls": [call]}, *HI["messages"]]}
    nested, plain = run(
        [json.dumps(body), json.dumps(HI)], ["--checkpoint", str(checkpoint_directory)], monkeypatch, capsysbinary
    )
    assert nested["error"]["status"] == 500
    assert nested["error"]["message"].startswith("Internal server error: maximum recursion depth exceeded")
    assert "prompt" in plain


CONFLICT = next(case for case in SAMPLING_CASES if case["name"] == "required, definitions in conflict")


def test_forced_calls_whose_definitions_conflict_are_refused_as_recorded(
    checkpoint_directory: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """By the command and by the function: without a parser whatever the tools are, with one where no grammar fits."""
    recorded, functions = CONFLICT["request"], as_functions(CONFLICT["request"])
    refused = {"error": {key: CONFLICT["error"][key] for key in ("status", "message")}}
    directory = ["--checkpoint", str(checkpoint_directory)]
    parsers = ["--tool-call-parser", "deepseekv4", "--reasoning-parser", "deepseek-v4"]
    lines = [json.dumps(recorded), json.dumps(functions)]
    assert run(lines, directory, monkeypatch, capsysbinary) == [refused, refused]
    with_parser, rendered = run(lines, [*directory, *parsers], monkeypatch, capsysbinary)
    assert with_parser == refused
    assert "prompt" in rendered
    with pytest.raises(RequestError, match=re.escape(CONFLICT["error"]["message"])):
        render_request(functions, checkpoint_directory)


def as_functions(request: dict[str, Any]) -> dict[str, Any]:
    """The request with tools that a model's grammar has a form for."""
    return {**request, "tools": [{**tool, "type": "function"} for tool in request["tools"]]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["render"], "--checkpoint"),
        (["render", "--checkpoint", "{directory}", "--tool-call-parser", "x"], "unknown tool call parser 'x', known: "),
        (["render", "--checkpoint", "{directory}", "--reasoning-parser", "x"], "unknown reasoning parser 'x', known: "),
        (["render", "--checkpoint", "nowhere"], "nowhere has no config.json"),
        (["render", "--checkpoint", "{directory}", "--default-chat-template-kwargs", "x"], "not JSON"),
        (["render", "--checkpoint", "{directory}", "--default-chat-template-kwargs", "[]"], "not a JSON object"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: list[str], message: str, checkpoint_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([argument.format(directory=checkpoint_directory) for argument in arguments])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_checkpoint_of_another_model_is_named(
    checkpoint_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tokenizer.json").symlink_to(checkpoint_directory / "tokenizer.json")
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}', encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["render", "--checkpoint", str(tmp_path)])
    assert "no encoder for architectures ['LlamaForCausalLM']" in capsys.readouterr().err
