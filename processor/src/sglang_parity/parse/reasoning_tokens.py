"""How many of the generated tokens are reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ReasoningTokens:
    """Counts generated ids up to and including the one that ends the reasoning, or all where none does.

    Mirrors ``managers/schedule_batch.py`` (``update_reasoning_tokens``): the ids count as sampled, stop token
    included, and only where the request asked for reasoning.

    Attributes:
        count: the number so far.
    """

    def __init__(self, end_id: int | None) -> None:
        """``end_id`` is None where the request's reasoning is not counted."""
        self.count = 0
        self._end_id = end_id

    def feed(self, token_ids: Iterable[int]) -> None:
        for token_id in token_ids:
            if self._end_id is None:
                return
            self.count += 1
            if token_id == self._end_id:
                self._end_id = None
