"""The processor with a factory that fails at first, as one does whose model cannot be fetched yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sglang_parity.provider import provider as sglang_parity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def provider(config: Any, options: dict[str, Any]) -> Callable[..., Awaitable[Any]]:
    factory = sglang_parity(config, options)
    failures = iter([RuntimeError("no model yet")])

    async def fails_once(*arguments: Any) -> Any:
        for failure in failures:
            raise failure
        return await factory(*arguments)

    return fails_once
