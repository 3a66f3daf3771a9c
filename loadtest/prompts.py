"""The tokenizer that decides how long a prompt is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sglang_parity import render_request
from sglang_parity.checkpoint import Checkpoint
from sglang_parity.render import ChatModel, load_model
from workload import Fit, fit, kinds_of

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Prompts:
    """Renders with the processor's own code, so lengths are those that the engine counts."""

    checkpoint: Checkpoint
    model: ChatModel

    @classmethod
    def load(cls, directory: Path) -> Prompts:
        """Raises FileNotFoundError: the directory lacks ``config.json`` or ``tokenizer.json``."""
        checkpoint = Checkpoint.load(directory)
        return cls(checkpoint, load_model(checkpoint))

    def fits(self, workload: str, scripted: bool) -> dict[str, Fit]:
        """The fit of each kind, by its name.

        Raises:
            WorkloadError: the workload cannot be asked as its file says.
        """
        return {kind.name: fit(kind, scripted, self.length, self.count) for kind in set(kinds_of(workload))}

    def length(self, body: dict[str, Any]) -> int:
        """How many tokens the rendered prompt of a request has."""
        return len(render_request({"model": "any", **body}, self.model).token_ids)

    def count(self, text: str) -> int:
        return len(self.checkpoint.tokenizer.encode(text, add_special_tokens=False).ids)
