"""What Dynamo's releases do differently: the documented way where the installed one has it, 1.6's where it has not."""

from __future__ import annotations

from dynamo.llm import exceptions

from sglang_parity.errors import WorkerError


class _NeverRaisedError(Exception):
    """Stands for an exception that the installed Dynamo does not have."""


# Dynamo knows what to answer for it.
RoutedEngineError: type[Exception] = getattr(exceptions, "RoutedEngineError", _NeverRaisedError)


def as_worker_error(error: Exception) -> Exception:
    """What a failed stream of Dynamo's routed engine has raised, as what it stands for.

    Dynamo 1.6 has classified an error of the worker, or of the way to it, but raises a plain ``ValueError``, or
    ``Exception`` where no worker took the request, and would answer 400 to the one and 500 to the other.

    Returns:
        WorkerError: for such an error.
        RoutedEngineError: the same of a later Dynamo.
        dynamo.llm.exceptions.DynamoException: as the router raised it.
    """
    if isinstance(error, exceptions.DynamoException | RoutedEngineError):
        return error
    return WorkerError.read(str(error))
