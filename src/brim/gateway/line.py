"""The connection to a client, as far as a request on it has to know: that the client has left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

KEY = "brim.line"
"""Where the scope of a request has its line."""


class ClientGone(Exception):
    """The client has gone."""


class ClientConnection:
    """The connection to one client."""

    def __init__(self) -> None:
        self.gone = False
        self._tasks: set[asyncio.Task[object]] = set()

    def lose(self) -> None:
        """Cancel what is done for the client, who has left."""
        self.gone = True
        for task in self._tasks:
            task.cancel()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Cancel what is done inside as soon as the client leaves.

        Raises:
            Left: it did.
        """
        if self.gone:
            raise ClientGone
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self.gone:
                raise
            task.uncancel()
            raise ClientGone from None
        finally:
            self._tasks.discard(task)
