"""What a gateway keeps from request to request, and the threads in which it counts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from brim.gateway.guard import Keys
from brim.gateway.keeping import Keeping
from brim.gateway.known import known
from brim.gateway.meters import Meters, warm
from brim.gateway.settings import Settings, secret
from brim.gateway.talks import Talks
from brim.gateway.tally import Tally
from brim.gateway.upstream import Upstream
from brim.gateway.windows import Windows
from brim.store import open_store

T = TypeVar("T")


class State:
    """Everything that lasts."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        """What holds now; a reload puts another one in its place, and requests under way keep theirs."""
        self.keys = Keys(settings.secrets())
        if settings.upstream_key is not None:
            secret(settings.upstream_key)
        self.store = open_store(settings.store) if settings.store is not None else None
        self.keeping = Keeping(self.store)
        self.windows = Windows(self.keeping)
        self.meters = Meters(self.store)
        self.talks = Talks(settings.sessions, self.keeping)
        self.upstream = Upstream()
        self.tally = Tally()
        self.ready = False
        """Whether everything that counting needs is loaded."""
        self._pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="brim-gateway")
        self._tasks: set[asyncio.Task[Any]] = set()

    async def work(self, job: Callable[..., T], *given: Any) -> T:
        """Do something that takes a while in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: job(*given))

    def later(self, job: Coroutine[Any, Any, Any]) -> None:
        """Do something after the answer was sent; closing waits for it."""
        task = asyncio.get_running_loop().create_task(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def pending(self) -> int:
        """How many such things are still to be done."""
        return len(self._tasks)

    async def open(self) -> None:
        """Load what counting needs."""
        await self.work(warm)
        self.ready = True

    async def close(self) -> None:
        """Finish what is under way, and let go of connections, threads and the store."""
        self.ready = False
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.upstream.close()
        self._pool.shutdown(wait=True)
        if self.store is not None:
            self.store.close()

    def reload(self, settings: Settings) -> None:
        """Go on with other settings. Where it listens and what keeps its state stay as they are.

        Raises:
            InvalidValue: a key is not set.
        """
        keys = Keys(settings.secrets(os.environ))
        if settings.upstream_key is not None:
            secret(settings.upstream_key)
        self.settings, self.keys = settings, keys
        known.cache_clear()
