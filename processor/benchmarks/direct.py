"""Requests straight to the worker: no HTTP, no frontend."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from dynamo.runtime import DistributedRuntime
from floor import to_engine

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDPOINT = "dynamo.backend.generate"


class Direct:
    """A client of the worker of a discovery folder, which the environment names as it does for a frontend."""

    def __init__(self) -> None:
        self._runtime = DistributedRuntime(asyncio.get_running_loop(), "file", "tcp", event_plane="zmq")

    async def connect(self) -> None:
        self._client = await self._runtime.endpoint(ENDPOINT).client()
        await self._client.wait_for_instances()

    async def seconds_to_first_token(self, token_ids: Sequence[int]) -> float:
        request = to_engine({"model": "m", "max_tokens": 2}) | {"token_ids": token_ids}
        started = time.perf_counter()
        first = 0.0
        async for item in await self._client.round_robin(request):
            data = item.data()
            if not first and data and data["token_ids"]:
                first = time.perf_counter() - started
        return first

    def close(self) -> None:
        self._runtime.shutdown()
