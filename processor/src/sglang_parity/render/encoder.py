"""What a model must supply to be rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sglang_parity.request import ChatRequest


@dataclass(frozen=True, slots=True)
class Segments:
    """A rendered conversation, in the pieces that are tokenized apart.

    Attributes:
        prompt: everything up to where the model would begin to write.
        continuation: the unfinished assistant turn the model is to continue, empty where there is none.
    """

    prompt: str
    continuation: str


class Encoder(Protocol):
    """Turns a conversation into a model's prompt text."""

    def encode(self, request: ChatRequest) -> Segments:
        """Renders the request.

        Raises:
            RequestError: SGLang fails on these messages.
        """
        ...
