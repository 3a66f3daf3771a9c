"""What Dynamo's releases do differently: the documented way where the installed one has it, 1.6's where it has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo.llm import exceptions

from sglang_parity.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class _NeverRaisedError(Exception):
    """Stands for an exception that the installed Dynamo does not have."""


# Dynamo knows what to answer for it.
RoutedEngineError: type[Exception] = getattr(exceptions, "RoutedEngineError", _NeverRaisedError)


async def routed_items(
    routed_engine: Any, request: dict[str, Any], context: Any
) -> AsyncGenerator[dict[str, Any], None]:
    """Sends a preprocessed request to a worker; the engine's items, less those that carry no data.

    Raises:
        WorkerError: Dynamo 1.6 has classified an error of the worker, or of the way to it. It raises a plain
            ``ValueError``, or ``Exception`` where no worker took the request, and would answer 400 to the one and 500
            to the other.
        RoutedEngineError: the same of a later Dynamo.
        dynamo.llm.exceptions.DynamoException: as the router raised it.
    """
    try:
        async for item in await routed_engine.generate(request, context=context):
            data = item.data()
            if data is not None:
                yield data
    except (exceptions.DynamoException, RoutedEngineError):
        raise
    except Exception as error:
        raise WorkerError.read(str(error)) from error
