"""The tokenizer that decides how long a prompt is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sglang_parity.checkpoint import Checkpoint
from sglang_parity.models import ChatModel, load_model
from sglang_parity.prepare import prepare
from workload import Fit, fit, kinds_of

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Prompts:
    """Renders with the processor's own code, so lengths are those that the engine counts."""

    model: ChatModel

    @classmethod
    def load(cls, directory: Path) -> Prompts:
        """Raises FileNotFoundError: the directory lacks ``config.json`` or ``tokenizer.json``."""
        return cls(load_model(Checkpoint.load(directory)))

    def fits(self, workload: str, scripted: bool) -> dict[str, Fit]:
        """The fit of each kind, by its name.

        Raises:
            WorkloadError: the workload cannot be asked as its file says.
        """
        return {kind.name: fit(kind, scripted, self.length, self.count) for kind in set(kinds_of(workload))}

    def length(self, body: dict[str, Any]) -> int:
        """How many tokens the rendered prompt of a request has."""
        return len(prepare({"model": "any", **body}, self.model).prompt.token_ids)

    def count(self, text: str) -> int:
        return len(self.model.checkpoint.tokenizer.encode(text, add_special_tokens=False).ids)
