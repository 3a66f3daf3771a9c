"""Which encoder renders a checkpoint, and with which effort texts."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from sglang_parity.checkpoint import Checkpoint
from sglang_parity.models import UnsupportedModelError, load_model
from sglang_parity.models.deepseek_v4.prompt import DeepseekV4
from sglang_parity.models.registry import encoding_spec
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

V4 = "DeepseekV4ForCausalLM"
OFFICIAL_ENCODER = """
REASONING_EFFORT_MAX = "text"
DEFAULT_REASONING_EFFORT: str = "low"
REASONING_EFFORT_PROMPTS = {"low": "", "high": "h", "max": REASONING_EFFORT_MAX and "m" or "m"}
"""


def checkpoint_of(
    config: dict[str, Any], *, path: Path = Path("nowhere"), has_chat_template: bool = False
) -> Checkpoint:
    return Checkpoint(
        path=path,
        config=config,
        generation_config={},
        tokenizer=Tokenizer(WordLevel()),
        tokenize=lambda _: [],
        bos_token_id=0,
        eos_token_ids=(1,),
        has_chat_template=has_chat_template,
    )


@pytest.mark.parametrize(
    ("architecture", "model_type", "parser", "has_chat_template", "spec"),
    [
        (V4, "deepseek_v4", None, False, "dsv4"),
        (V4, "deepseek_v4", None, True, "dsv4"),
        (V4, "deepseek_v4", "deepseekv4", False, "dsv4"),
        (V4, "deepseek_v4", "qwen25", False, "dsv4"),
        (V4, "deepseek_v4", "deepseekv41", False, "dsv41"),
        (V4, "deepseek_v4", "deepseekv32", False, "dsv32"),
        (V4, "deepseek_v41", None, False, "dsv41"),
        ("DeepseekV41ForCausalLM", "deepseek_v4", None, False, "dsv41"),
        ("LlamaForCausalLM", "llama", "deepseekv4", True, "dsv4"),
        ("LlamaForCausalLM", "llama", None, False, None),
        ("DeepseekV3ForCausalLM", "deepseek_v3", None, False, "dsv32"),
        ("DeepseekV3ForCausalLM", "deepseek_v3", None, True, None),
        ("KimiK3ForCausalLM", "kimi_k3", None, False, "kimi_k3"),
        ("InklingForConditionalGeneration", "inkling", None, False, "inkling"),
    ],
)
def test_encoder_is_chosen_in_sglangs_order(
    architecture: str, model_type: str, parser: str | None, has_chat_template: bool, spec: str | None
) -> None:
    config = {"architectures": [architecture], "model_type": model_type}
    assert encoding_spec(checkpoint_of(config, has_chat_template=has_chat_template), parser) == spec


def test_a_configured_effort_profile_names_the_encoder_where_nothing_else_does() -> None:
    config = {"architectures": ["StandInForCausalLM"], "dsv4_reasoning_effort_profile": "official"}
    assert encoding_spec(checkpoint_of(config), None) == "dsv4"
    assert encoding_spec(checkpoint_of(config, has_chat_template=True), None) is None


@pytest.mark.parametrize("config", [{}, {"architectures": None}, {"architectures": []}, {"architectures": ["Other"]}])
def test_an_unsupported_model_is_refused_by_what_was_found(config: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedModelError, match=r"architectures .*its chat template, and only 'dsv4' is supported"):
        load_model(checkpoint_of(config))


@pytest.mark.parametrize(
    ("option", "config", "encoder_source", "profile"),
    [
        ("preview", {"dsv4_reasoning_effort_profile": "official"}, OFFICIAL_ENCODER, "preview"),
        (None, {"dsv4_reasoning_effort_profile": "preview", "dspark_x": 1}, OFFICIAL_ENCODER, "preview"),
        (None, {"dspark_x": 1}, "REASONING_EFFORT_MAX = 'text'", "preview"),
        (
            None,
            {},
            'DEFAULT_REASONING_EFFORT = "low"\nREASONING_EFFORT_PROMPTS = {"low": "", "high": "", "max": ""}',
            "official",
        ),
        (
            None,
            {},
            'DEFAULT_REASONING_EFFORT = "high"\nREASONING_EFFORT_PROMPTS = {"low": "", "high": "", "max": ""}',
            "preview",
        ),
        (None, {"dspark_x": 1}, "not python (", "official"),
        (None, {"dspark_x": 1}, None, "official"),
        (None, {}, None, "preview"),
    ],
)
def test_effort_profile_comes_from_the_first_source_that_knows(
    option: str | None,
    config: dict[str, Any],
    encoder_source: str | None,
    profile: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if encoder_source is not None:
        (tmp_path / "encoding").mkdir()
        (tmp_path / "encoding" / "encoding_dsv4.py").write_text(encoder_source, encoding="utf-8")
    with caplog.at_level(logging.INFO):
        encoder = DeepseekV4.for_checkpoint(checkpoint_of(config, path=tmp_path), effort_profile=option)
    assert encoder.effort_profile == profile
    assert profile in caplog.text


def test_an_encoder_is_read_not_run(tmp_path: Path) -> None:
    (tmp_path / "encoding").mkdir()
    (tmp_path / "encoding" / "encoding_dsv4.py").write_text("raise SystemExit\n" + OFFICIAL_ENCODER, encoding="utf-8")
    assert DeepseekV4.for_checkpoint(checkpoint_of({}, path=tmp_path)).effort_profile == "preview"


@pytest.mark.parametrize(("option", "config"), [("best", {}), (None, {"dsv4_reasoning_effort_profile": "best"})])
def test_an_effort_profile_that_does_not_exist_is_an_error_at_start_up(
    option: str | None, config: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="Invalid dsv4_reasoning_effort_profile: 'best'"):
        load_model(checkpoint_of({"architectures": [V4], **config}), effort_profile=option)
