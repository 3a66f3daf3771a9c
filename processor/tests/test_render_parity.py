"""For every recorded request, the prompt, its ids and the errors are SGLang's."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sglang_parity.errors import RequestError
from sglang_parity.models import load_model
from sglang_parity.prepare import prepare
from sglang_parity.request import parse_json

if TYPE_CHECKING:
    from sglang_parity.checkpoint import Checkpoint

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = [
    pytest.param(fixture, case, id=f"{path.stem}-{case['name']}")
    for path in sorted((FIXTURES / "parity").glob("*.json"))
    for fixture in [json.loads(path.read_text(encoding="utf-8"))]
    for case in fixture["cases"]
]
RECORDED = ("prompt", "token_count", "token_sha256", "token_ids", "require_reasoning", "skip_special_tokens", "error")


@pytest.mark.parametrize(("fixture", "case"), CASES)
@pytest.mark.filterwarnings("ignore:SGLANG_DEFAULT_THINKING")
def test_processor_does_what_sglang_does(
    fixture: dict[str, Any], case: dict[str, Any], checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SGLANG_DEFAULT_THINKING", "SGLANG_DSV4_REASONING_EFFORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in case.get("server", {}).get("env", {}).items():
        monkeypatch.setenv(name, value)

    recorded = {key: case[key] for key in RECORDED if key in case}
    found = replay(case, checkpoint, effort_profile=fixture["effort_profile"])
    if "token_ids" not in recorded:
        found.pop("token_ids", None)
    assert found == recorded


def replay(case: dict[str, Any], checkpoint: Checkpoint, *, effort_profile: str) -> dict[str, Any]:
    """What the processor makes of a case, in the words in which SGLang's answer was recorded."""
    server = case.get("server", {})
    body = case["body"] if "body" in case else json.dumps(case["request"])
    model = load_model(
        checkpoint,
        tool_call_parser="deepseekv4",
        reasoning_parser="deepseek-v4",
        effort_profile=server.get("effort_profile", effort_profile),
        context_length=server.get("context_length"),
        default_chat_template_kwargs=server.get("default_chat_template_kwargs"),
    )
    try:
        prepared = prepare(parse_json(body), model)
    except RequestError as error:
        return {"error": {"status": error.status, "type": error.kind, "message": error.message}}
    prompt = prepared.prompt
    return {
        "prompt": prompt.text,
        "token_count": len(prompt.token_ids),
        "token_sha256": hashlib.sha256(struct.pack(f"<{len(prompt.token_ids)}I", *prompt.token_ids)).hexdigest(),
        "token_ids": prompt.token_ids,
        "require_reasoning": prepared.require_reasoning,
        "skip_special_tokens": prepared.chat.skip_special_tokens,
    }


def test_the_tokenizer_is_the_checkpoints(checkpoint: Checkpoint) -> None:
    """The ids and their digest were recorded with the real checkpoint."""
    prompt = prepare({"messages": [{"role": "user", "content": "Hi"}]}, load_model(checkpoint)).prompt
    assert prompt.token_ids == [0, 128803, 23166, 128804, 128822]
    packed = struct.pack("<5I", *prompt.token_ids)
    assert hashlib.sha256(packed).hexdigest() == "95aeed952d0173ec8849b13faec66eb61ec4412cd9c41dae0c405257559365a6"


def test_every_fixture_says_what_it_was_recorded_with() -> None:
    for path in (FIXTURES / "parity").glob("*.json"):
        head = json.loads(path.read_text(encoding="utf-8"))
        assert {"model", "revision", "sglang", "effort_profile", "bos_token_id"} <= head.keys()
        names = [case["name"] for case in head["cases"]]
        assert len(names) == len(set(names))
        assert all("prompt" in case or "error" in case for case in head["cases"])
