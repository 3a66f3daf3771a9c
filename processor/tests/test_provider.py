"""Start-up: the options that are taken and refused, and what a model's card decides."""

from __future__ import annotations

from typing import Any

import pytest
from sglang_parity.errors import OptionsError
from sglang_parity.provider import provider


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
