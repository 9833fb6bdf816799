"""How workers share the connections of one address: who has more than another lets that one accept first.

All of them wait at the same socket. The first to wake would take every connection that has come, and a client may keep
its connection for hours.
"""

from __future__ import annotations

import asyncio
import mmap
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

_PAUSE = 0.002
"""Seconds that a worker waits for each connection that it has more than another."""
_LONGEST = 0.02
"""The most that it waits: another one may be busy, or stopped."""
_NUMBER = 4
"""Bytes of a number."""


class ConnectionCounts:
    """How many connections each worker has, in memory that all of them see."""

    def __init__(self, workers: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, workers * _NUMBER)).cast("I")

    def tell(self, worker: int, count: int) -> None:
        """Tell how many connections a worker has."""
        self._counts[worker - 1] = count

    def excess(self, worker: int) -> int:
        """Return how many connections a worker has more than the one with fewest."""
        return self._counts[worker - 1] - min(self._counts)


class _ToldConnections(set[Any]):
    """The open connections of a worker; the others are told how many there are."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        super().__init__()
        self._tell = tell
        tell(0)

    def add(self, connection: Any) -> None:
        super().add(connection)
        self._tell(len(self))

    def discard(self, connection: Any) -> None:
        super().discard(connection)
        self._tell(len(self))


class SharedServer(uvicorn.Server):
    """The server of one worker."""

    def __init__(self, config: uvicorn.Config, counts: ConnectionCounts, worker: int) -> None:
        super().__init__(config)
        self._counts, self._worker = counts, worker
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, once the application is ready."""
        self.server_state.connections = _ToldConnections(lambda count: self._counts.tell(self._worker, count))
        await super().startup([])
        loop = asyncio.get_running_loop()
        self._accepting = [loop.create_task(self._accept(each)) for each in sockets or ()]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and finish what is under way."""
        for task in self._accepting:
            task.cancel()
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
                await loop.connect_accepted_socket(self._protocol, accepted)
            except OSError:  # The client has gone, or no descriptor is left.
                await asyncio.sleep(_LONGEST)
            await asyncio.sleep(min(_LONGEST, _PAUSE * self._counts.excess(self._worker)))

    def _protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
