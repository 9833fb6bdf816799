"""The state of a gateway from request to request, and the threads in which it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from brim.gateway.activity import Activity
from brim.gateway.body import fetch_json
from brim.gateway.guard import ClientKeys
from brim.gateway.held_sections import HeldSections
from brim.gateway.key_mask import SeenKeys, spellings
from brim.gateway.metrics import GatewayMetrics
from brim.gateway.owner_tags import OwnerTags
from brim.gateway.problem import HttpProblem
from brim.gateway.settings import GatewaySettings
from brim.gateway.traffic import Traffic
from brim.gateway.upstream import address
from brim.gateway.upstream_client import UpstreamClient
from brim.gateway.worker_sums import WorkerSums
from brim.observe.uncaught import log_error, log_loop_error
from brim.sessions.conversations import Conversations
from brim.sessions.learning.meters import warm
from brim.sessions.learning.models import known
from brim.store import open_store

T = TypeVar("T")

_ASKED = 5.0
"""Seconds for which the state of upstream is known."""
_DOWN = (502, 503, 504)
"""Statuses of a proxy whose server does not answer."""


class GatewayState:
    """Everything that outlives a request."""

    def __init__(self, settings: GatewaySettings, worker: int = 1, folder: Path | None = None) -> None:
        """Begin.

        Args:
            settings: the settings.
            worker: the number of this process among those of the gateway.
            folder: what they share, with their sums; `None` if there is one process only.

        Raises:
            InvalidValue: a key is not set.
            StoreError: the store cannot be opened.
        """
        self.worker = worker
        """The number of this process among those of the gateway."""
        self.settings = settings
        """The current settings; a reload replaces them, and requests under way keep theirs."""
        self.keys = ClientKeys(settings.secrets())
        self.hidden = spellings(settings.own_keys().values())
        """The gateway's own keys for upstream, which no answer may hold."""
        self.seen = SeenKeys(_secrets(settings))
        place = store_address(settings, folder)
        self.store = open_store(place) if place is not None else None
        self.keeps = settings.store is not None
        """Whether the store is for the user; otherwise it only tells the other workers what was cut."""
        self.conversations = Conversations(
            store=self.store,
            most=settings.sessions,
            memory=settings.memory,
            log=False,
            stable=settings.stable,
            capture=settings.capture,
        )
        """The engine: windows, meters, conversations."""
        self.sections = HeldSections(settings.sessions)
        """The sections that rules added to the newest prompts of conversations that were cut."""
        self.owners = OwnerTags(self.conversations.store)
        self.upstream = UpstreamClient(proxy_env=settings.proxy_env)
        self._reached: tuple[float, str] = (-_ASKED, "")
        """When upstream was last asked whether it is there, and what is wrong with it."""
        self.metrics = GatewayMetrics()
        self.activity = Activity(self.metrics, self.conversations.windows, settings.sessions)
        self.on_end: Callable[[Mapping[str, Any]], Any] | None = None
        """Called with the summary when the gateway ends."""
        self.sums = WorkerSums(folder, worker, self.metrics, self.activity)
        name = f"{settings.host}:{settings.port}" + (f" worker {worker}" if folder is not None else "")
        self.traffic = Traffic(self.conversations.store, name, is_kept=self.keeps)
        self._writing: list[asyncio.Task[None]] = []
        self.ready = False
        """Whether everything that counting needs is loaded."""
        self._pool = ThreadPoolExecutor(settings.threads, thread_name_prefix="brim-gateway")
        self._tasks: dict[asyncio.Task[Any], str] = {}

    async def work(self, job: Callable[..., T], *given: Any) -> T:
        """Run a job in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: job(*given))

    def later(self, model: str, job: Coroutine[Any, Any, Any]) -> None:
        """Learn something about a model after the answer was sent; closing waits for it.

        An error of the job is logged, without its text.
        """
        task = asyncio.get_running_loop().create_task(self._caught(job))
        self._tasks[task] = model
        task.add_done_callback(self._tasks.pop)

    async def learned(self, model: str) -> None:
        """Wait until what answers of a model taught is learned: its client may be faster with the next request."""
        learning = [task for task, name in self._tasks.items() if name == model]
        if learning:
            await asyncio.wait(learning)

    async def _caught(self, job: Coroutine[Any, Any, Any]) -> None:
        try:
            await job
        except Exception as error:  # The answer was sent: whatever failed after it, nobody waits for it.
            log_error("a job after an answer", error)
            self.activity.fault(None, "other", "fault", "pass", error)

    @property
    def pending(self) -> int:
        """How many such jobs are not done."""
        return len(self._tasks)

    async def problem(self) -> str:
        """Return why no request can be served now; empty if all is well. Upstream is asked at most every 5 seconds."""
        if not self.ready:
            return "starting"
        now = asyncio.get_running_loop().time()
        if now - self._reached[0] >= _ASKED:
            self._reached = (now, self._reached[1])
            bases = dict.fromkeys((self.settings.upstream, self.settings.base("messages")))
            found = await asyncio.gather(*(self._unreachable(base) for base in bases))
            self._reached = (now, next(filter(None, found), ""))
        return self._reached[1]

    async def _unreachable(self, base: str) -> str:
        """Return why an upstream cannot be used; any answer but that of a proxy without a server is one."""
        try:
            status, _ = await fetch_json(self.upstream, address(base, "/v1/models"), [])
        except HttpProblem as problem:
            return problem.message
        return f"upstream answered {status}" if status in _DOWN else ""

    async def open(self) -> None:
        """Load what counting needs."""
        asyncio.get_running_loop().set_exception_handler(log_loop_error)
        await self.work(warm)
        if self.store is not None:
            both = (self.traffic.run(self.work), self.sums.run(self.work))
            self._writing = [asyncio.get_running_loop().create_task(each) for each in both]
        self.ready = True

    async def close(self) -> None:
        """Finish what is under way, and close connections, threads and the store."""
        self.ready = False
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._writing:
            for each in self._writing:
                each.cancel()
            await asyncio.wait(self._writing)
            await self.work(self.traffic.stop)
            await self.work(self.sums.write)
        await self.upstream.close()
        self._pool.shutdown(wait=True)
        if self.store is not None:
            self.store.close()
        if self.on_end is not None:
            self.on_end(self.activity.summary())

    def reload(self, settings: GatewaySettings) -> None:
        """Continue with other settings. The address and the store stay as they are.

        Raises:
            InvalidValue: a key is not set.
        """
        keys = ClientKeys(settings.secrets())
        hidden = spellings(settings.own_keys().values())
        self.seen.see(_secrets(settings))
        self.settings, self.keys, self.hidden = settings, keys, hidden
        self.conversations.stable = settings.stable
        self.sections.clear()
        known.cache_clear()


def store_address(settings: GatewaySettings, folder: Path | None) -> str | None:
    """Return the address of the store: that of the settings, or one in the folder that workers share."""
    return settings.store or (f"sqlite:///{folder}/brim.db" if folder is not None else None)


def _secrets(settings: GatewaySettings) -> list[str]:
    """Return every key of the settings.

    Raises:
        InvalidValue: one is not set.
    """
    return [*settings.secrets().values(), *settings.own_keys().values()]
