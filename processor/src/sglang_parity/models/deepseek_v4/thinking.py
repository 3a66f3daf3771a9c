"""When a request asks DeepSeek-V4 to reason: SGLang has one rule for the prompt and another for the output."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sglang_parity.request import ChatRequest


def prompt_thinks(request: ChatRequest) -> bool:
    """Whether the prompt opens a thinking block: Python truthiness of the kwarg, else the server's default.

    Mirrors ``serving_chat.py::_apply_jinja_template``.
    """
    kwargs = request.chat_template_kwargs or {}
    return bool(kwargs["thinking"]) if "thinking" in kwargs else _default_thinking()


def output_reasons(request: ChatRequest) -> bool:
    """Whether the output is read as reasoning: only where the kwarg is ``True`` itself.

    Mirrors ``serving_chat.py::_get_reasoning_from_request`` for a reasoning parser whose default is
    ``explicit_thinking``.
    """
    return request.chat_template_kwargs is not None and request.chat_template_kwargs.get("thinking") is True


def _default_thinking() -> bool:
    """``SGLANG_DEFAULT_THINKING``, read anew for every request as SGLang does (``environ.py::EnvBool``)."""
    value = os.environ.get("SGLANG_DEFAULT_THINKING")
    if value is None or value.lower() in ("false", "0", "no", "n"):
        return False
    if value.lower() in ("true", "1", "yes", "y"):
        return True
    warnings.warn(f"SGLANG_DEFAULT_THINKING={value!r} is no boolean, thinking stays off", stacklevel=2)
    return False
