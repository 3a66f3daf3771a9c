"""What can go wrong with a request, and what each cause becomes for Dynamo and for the client.

| cause | raised as | goes to Dynamo as | the client sees |
|---|---|---|---|
| SGLang refuses the request | ``RequestError`` 400 | ``InvalidArgument`` | 400, SGLang's message |
| SGLang's server breaks on it | ``RequestError`` 500 | ``HttpError`` | 500 |
| the worker refuses it | ``WorkerError`` InvalidRequest | ``InvalidArgument`` | 400, the worker's message |
| the worker refuses it with another status | ``WorkerError`` RateLimited, ... | ``HttpError`` | that 4xx or 529 |
| there is no worker, or it died, or is overloaded | ``WorkerError`` Unavailable | ``WorkerUnavailable`` | 503 |
| the worker does not answer in time | ``WorkerError`` DeadlineExceeded | ``ConnectionTimeout`` | 504 |
| the worker fails in any other way | ``WorkerError`` Internal, ... | ``HttpError`` | 500 |
| the client has gone | ``Cancelled``, ``WorkerError`` Cancelled | ``Cancelled`` | nothing |
| the engine gives a generation up | ``EngineError`` | ``HttpError`` | 500 |
| what Dynamo itself has classified | its own | itself | what Dynamo maps it to |
| a fault of ours | anything else | ``HttpError`` | 500 |

Where no message is named, the client sees a text of Dynamo's front that goes with the status.
SGLang's message is cleared of the class of an exception that it shows (``for_clients``), as of the place in its code.
A stream that has begun ends with an error event of the same content. The log has every cause once, with the request's
id, and a traceback where the fault is ours.
"""

from __future__ import annotations

import json
import logging
import re
from typing import ClassVar

from dynamo.llm import exceptions
from dynamo.llm.exceptions import (
    Cancelled,
    ConnectionTimeout,
    DynamoException,
    HttpError,
    InvalidArgument,
    WorkerUnavailable,
)

from sglang_parity.errors import EngineError, RequestError

logger = logging.getLogger(__name__)

LONGEST_MESSAGE = 64 << 10  # characters that a client is told
LONGEST_LOGGED = 2000  # characters of it in the log

# An exception that a validator raised, in the text of a failed validation: its class, and its message as a literal.
_RAISED = re.compile(r"""(?<='ctx': \{'error': )[A-Z]\w*\(('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\)""")


class _NeverRaisedError(Exception):
    """Stands for an exception that the installed Dynamo does not have."""


# An exception of later Dynamos than 1.6, which they know what to answer for.
RoutedEngineError: type[Exception] = getattr(exceptions, "RoutedEngineError", _NeverRaisedError)


class WorkerError(Exception):
    """A worker refused a request or failed it, or no worker could be reached.

    Attributes:
        category: Dynamo's word for what went wrong, a key of ``STATUS``.
        message: the worker's words.
    """

    STATUS: ClassVar = {
        "InvalidRequest": 400,
        "Unauthenticated": 401,
        "PermissionDenied": 403,
        "NotFound": 404,
        "Conflict": 409,
        "PayloadTooLarge": 413,
        "UnsupportedMedia": 415,
        "RateLimited": 429,
        "Cancelled": 499,
        "Internal": 500,
        "Unavailable": 503,
        "DeadlineExceeded": 504,
        "CapacityExhausted": 529,
    }

    def __init__(self, category: str, message: str) -> None:
        super().__init__(f"{category}: {message}")
        self.category = category
        self.message = message

    @property
    def status(self) -> int:
        return self.STATUS[self.category]

    @classmethod
    def read(cls, text: str) -> WorkerError:
        """Reads ``CATEGORY: MESSAGE``, as Dynamo 1.6 writes a worker's error.

        The message is the worker's own, or JSON with it (``dynamo.llm.HttpError``), or the exception that the worker's
        handler let escape. Of those SGLang takes a ``ValueError`` for a refusal, and answers 500 to all others
        (``serving_base.py::handle_request``); Dynamo takes a ``TypeError`` for one too.
        """
        category, _, message = text.partition(": ")
        if category not in cls.STATUS:
            return cls("Internal", text)
        if message.startswith("{"):
            return cls(category, _message_of(message))
        if category == "InvalidRequest" and (escaped := re.match(r"(\w+): ", message)):
            if escaped[1] == "TypeError":
                return cls("Internal", message)
            if escaped[1].endswith("Error"):
                return cls(category, message[escaped.end() :])
        return cls(category, message)


def _message_of(text: str) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError):
        return text


def as_worker_error(error: Exception) -> Exception:
    """What a failed stream of Dynamo's routed engine has raised, as what it stands for.

    Dynamo 1.6 has classified an error of the worker, or of the way to it, but raises a plain ``ValueError``, or
    ``Exception`` where no worker took the request, and would answer 400 to the one and 500 to the other.

    Returns:
        WorkerError: for such an error.
        RoutedEngineError: the same of a later Dynamo.
        dynamo.llm.exceptions.DynamoException: as the router raised it.
    """
    if isinstance(error, DynamoException | RoutedEngineError):
        return error
    return WorkerError.read(str(error))


def for_clients(message: str) -> str:
    """SGLang's text without the names of exception classes in it: ``ValueError('why')`` becomes ``'why'``.

    Text that repeats megabytes of a request is cut: it is written, logged and sent a few times over.
    """
    message = _RAISED.sub(r"\1", message)
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"


def to_dynamo(error: Exception, request_id: str) -> Exception:
    """The exception that makes Dynamo's front answer as this module's table says, and the line in the log.

    Args:
        error: what was raised.
        request_id: the request's name in the log.
    """
    match error:
        case RequestError():
            message = for_clients(error.message)
            logger.info("request %s refused with %d: %.*s", request_id, error.status, LONGEST_LOGGED, message)
            return InvalidArgument(message) if error.status == 400 else HttpError(error.status, message)
        case WorkerError():
            level = logging.INFO if error.status < 500 else logging.ERROR
            logger.log(level, "request %s failed at the worker: %s", request_id, error)
            # Only a refusal's words are for the client.
            match error.category:
                case "InvalidRequest":
                    return InvalidArgument(error.message)
                case "Cancelled":
                    return Cancelled(error.category)
                case "Unavailable":
                    return WorkerUnavailable(error.category)
                case "DeadlineExceeded":
                    return ConnectionTimeout(error.category)
            return HttpError(error.status, error.category)
        case DynamoException() | RoutedEngineError():
            logger.info("request %s ended by Dynamo: %r", request_id, error)
            return error
        case EngineError():
            logger.error("request %s failed: %s", request_id, error)
            return HttpError(500, str(error))
        case _:
            logger.error("request %s failed", request_id, exc_info=error)
            return HttpError(500, "internal error of the chat processor")
