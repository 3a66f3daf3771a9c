"""A model family is one folder and one line in the registry: a family that only these tests know is served."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import toy_family
from local_dynamo import LocalDynamo, wait_until
from sglang_parity import render_request
from sglang_parity.models import load_model, registry
from sglang_parity.parse import StreamParser, parse_whole
from sglang_parity.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_dynamo import Frontend
    from sglang_parity.checkpoint import Checkpoint

PACKAGE = Path(registry.__file__).parents[1]
TOOLS: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "f"}}]}
PONDER: dict[str, Any] = {"chat_template_kwargs": {"ponder": True}}
REQUEST = {"messages": [{"role": "user", "content": "Hi"}], **TOOLS, **PONDER}
OUTPUT = 'Hm.}Yes. @f({"a": 1})'


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FAMILIES", (*registry.FAMILIES, toy_family.FAMILY))


@pytest.mark.usefixtures("toy")
def test_it_renders(checkpoint: Checkpoint) -> None:
    assert render_request(REQUEST, checkpoint, tool_call_parser="toy").text == "[user]Hi[model]"


@pytest.mark.usefixtures("toy")
def test_its_forced_calls_are_held_to_its_grammar(checkpoint: Checkpoint) -> None:
    model = load_model(checkpoint, tool_call_parser="toy", reasoning_parser="toy")
    (constraint,) = prepare({**REQUEST, "tool_choice": "required"}, model).constraints
    assert isinstance(constraint.value, str)
    assert json.loads(constraint.value)["format"]["elements"][0]["begin"] == " @f("


@pytest.mark.usefixtures("toy")
def test_it_parses(checkpoint: Checkpoint) -> None:
    model = load_model(checkpoint, tool_call_parser="toy", reasoning_parser="toy")
    prepared = prepare(REQUEST, model)
    whole = parse_whole(OUTPUT, model.output_format, prepared.options)
    assert (whole.reasoning, whole.content) == ("Hm.", "Yes.")
    assert [(call.name, call.arguments) for call in whole.tool_calls] == [("f", '{"a": 1}')]
    stream = StreamParser(model.output_format, prepared.options)
    deltas = [stream.feed(OUTPUT[:6]), stream.finish(OUTPUT[6:])]
    assert "".join(delta.reasoning for delta in deltas) == whole.reasoning
    assert "".join(delta.content for delta in deltas) == whole.content
    assert deltas[-1].tool_calls == whole.tool_calls


@pytest.fixture(scope="module")
def frontend(tmp_path_factory: pytest.TempPathFactory, checkpoint_directory: Path) -> Iterator[Frontend]:
    dynamo = LocalDynamo(tmp_path_factory.mktemp("toy"), checkpoint_directory)
    parsers = json.dumps({"tool_call_parser": "toy", "reasoning_parser": "toy"})  # Dynamo lets a worker publish none
    with (
        dynamo.worker("m", "--marks", *toy_family.MARKS),
        dynamo.frontend(
            "--dyn-chat-processor", "toy_family:provider", "--dyn-chat-processor-config", parsers
        ) as running,
    ):
        wait_until(lambda: running.models() == ["m"])
        yield running


def test_it_serves_a_request(frontend: Frontend) -> None:
    answer = frontend.chat({"say": OUTPUT}, **TOOLS, **PONDER)
    (choice,) = answer.json()["choices"]
    message: dict[str, Any] = choice["message"]
    assert (message["reasoning_content"], message["content"]) == ("Hm.", "Yes.")
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}


def test_no_mechanism_knows_a_family() -> None:
    """Outside ``models/`` no module imports a family or spells its markers."""
    found = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name not in {family.name for family in (PACKAGE / "models").iterdir()} | {"models"}
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"sglang_parity\.models\.\w+\.|｜|deepseek_v4\b(?!_xml)", line)
    ]
    assert found == []
