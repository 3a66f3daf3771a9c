"""What can go wrong with a request or at start-up, apart from what Dynamo reports; ``host.errors`` tells Dynamo."""

from __future__ import annotations


class RequestError(Exception):
    """A request that SGLang's server refuses.

    Attributes:
        status: HTTP status that SGLang answers with.
        message: the text that SGLang answers with.
        kind: the ``type`` field of SGLang's error body (``"BadRequestError"``, ``"Bad Request"``, ...).
    """

    def __init__(self, message: str, *, status: int = 400, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind


class OptionsError(ValueError):
    """The options of the processor are wrong; the text names the key."""


class EngineError(Exception):
    """The engine did not finish an answer."""
