"""What can go wrong with a request, and what each cause becomes for the client."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)


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


def to_dynamo(error: Exception, request_id: str) -> Exception:
    """The exception that makes Dynamo's front answer as it should.

    | cause | becomes | the client sees |
    |---|---|---|
    | ``RequestError``, status 400 | ``InvalidArgument`` | 400 and the message |
    | ``RequestError``, other status | ``HttpError`` | that status and its standard text |
    | the router's or the worker's own | itself | what Dynamo maps it to |
    | ``EngineError`` | ``HttpError`` 500 | 500, or an error event in a stream that has begun |
    | anything else, a fault of ours | ``HttpError`` 500 | the same; the log has the traceback |

    Args:
        error: what was raised.
        request_id: Dynamo's id of the request, for the log.
    """
    # Rendering without a server needs no Dynamo.
    from dynamo.llm.exceptions import DynamoException, HttpError, InvalidArgument

    match error:
        case RequestError(status=400):
            logger.info("request %s refused: %s", request_id, error.message)
            return InvalidArgument(error.message)
        case RequestError():
            logger.info("request %s refused with %d: %s", request_id, error.status, error.message)
            return HttpError(error.status, error.message)
        case DynamoException() | HttpError():
            return error
        case EngineError():
            return HttpError(500, str(error))
        case _:
            logger.error("request %s failed", request_id, exc_info=error)
            return HttpError(500, "internal error of the chat processor")
