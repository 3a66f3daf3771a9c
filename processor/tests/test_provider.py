"""Start-up: the options that are taken and refused, and what a model's card decides."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

import pytest
from sglang_parity.errors import OptionsError
from sglang_parity.provider import Options, favour_the_event_loop, load_served_model, provider
from test_engine import Card

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"render_workers": 8},
        {"default_chat_template_kwargs": {"thinking": True}},
        {"tool_call_parser": "deepseekv4", "reasoning_parser": "deepseek-v4", "effort_profile": "official"},
    ],
)
def test_options_are_taken(options: dict[str, Any]) -> None:
    assert callable(provider(None, options))


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"rendr_workers": 8}, "rendr_workers: Extra inputs are not permitted"),
        ({"render_workers": "8"}, "render_workers: Input should be a valid integer"),
        ({"render_workers": 0}, "render_workers: Input should be greater than 0"),
        ({"default_chat_template_kwargs": []}, "default_chat_template_kwargs: Input should be a valid dictionary"),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, Any], key: str) -> None:
    with pytest.raises(OptionsError) as caught:
        provider(None, options)
    assert key in str(caught.value)


def test_a_worker_that_does_not_know_its_context_length_publishes_none(checkpoint_directory: Path) -> None:
    """Dynamo's mocker says 0: no request is too long for it."""
    published = {"tool_call_parser": "deepseekv4", "reasoning_parser": "deepseek-v4", "context_length": 0}
    assert load_served_model(Card(checkpoint_directory, published), Options()).chat_model.context_length is None


def test_what_is_loaded_is_not_walked_by_the_garbage_collector() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.005)
    try:
        favour_the_event_loop()
        assert gc.get_freeze_count() > 0
        assert sys.getswitchinterval() == pytest.approx(0.001)
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)
