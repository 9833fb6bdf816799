"""The state of a gateway from request to request, and the threads in which it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from brim.gateway.client.names import owner_salt, owner_tag
from brim.gateway.fit.added_sections import HeldSections
from brim.gateway.fit.compactions import KeptCompactions
from brim.gateway.fit.fitted import Fitter
from brim.gateway.http.admitted import ONCE, Admitted
from brim.gateway.http.key_mask import spellings
from brim.gateway.http.problem import HttpProblem
from brim.gateway.report.activity import Activity, GatewayMetrics
from brim.gateway.report.traffic import Traffic
from brim.gateway.settings import GatewaySettings
from brim.gateway.upstream.client import UpstreamClient, address
from brim.hosts import Access, Secrets
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

    def __init__(self, settings: GatewaySettings, worker: int | None = None, store: str | None = None) -> None:
        """Begin.

        Args:
            settings: the settings.
            worker: the number of this process among those of the gateway; `None` if it is the only one.
            store: the address of the store that they share, if the settings have none.

        Raises:
            InvalidValue: a key is not set.
            StoreError: the store cannot be opened.
        """
        self.worker = worker
        self.use(settings)
        place = settings.store or store
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
        self._salt = b""
        """By which clients are told apart; read from the store once."""
        self.fitter = Fitter(
            engine=self.conversations,
            sections=HeldSections(settings.sessions),
            keeps=self.keeps,
        )
        self.compactions = KeptCompactions(self.conversations.store)
        self.upstream = UpstreamClient(proxy_env=settings.proxy_env)
        self._reached: tuple[float, str] = (-_ASKED, "")
        """When upstream was last asked whether it is there, and what is wrong with it."""
        self.metrics = GatewayMetrics()
        self.activity = Activity(self.metrics, self.conversations.windows, settings.sessions)
        self.on_end: Callable[[Mapping[str, Any]], Any] | None = None
        """Called with the summary when the gateway ends."""
        name = f"{settings.host}:{settings.port}" + (f" worker {worker}" if worker is not None else "")
        self.traffic = Traffic(self.conversations.store, name, is_kept=self.keeps)
        self._writing: asyncio.Task[None] | None = None
        self.ready = False
        """Whether everything that counting needs is loaded."""
        self._pool = ThreadPoolExecutor(settings.threads, thread_name_prefix="brim-gateway")
        self._tasks: dict[asyncio.Task[Any], Hashable] = {}

    def use(self, settings: GatewaySettings) -> None:
        """Take settings; requests under way keep theirs.

        Raises:
            InvalidValue: a key is not set.
        """
        clients, own = settings.secrets(), settings.own_keys()
        self.settings = settings
        self.access = Access(settings.host, settings.hosts, once=ONCE)
        self.keys = Secrets(clients)
        self.secrets = (*clients.values(), *own.values())
        """Every key of the settings, none of which may be part of a name."""
        self.hidden = spellings(own.values())
        """The keys for upstream, which no answer may hold."""

    async def work(self, job: Callable[..., T], *given: Any) -> T:
        """Run a job in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: job(*given))

    def later(self, about: Hashable, job: Coroutine[Any, Any, Any]) -> None:
        """Learn something after the answer was sent, about a model for an owner; closing waits for it.

        An error of the job is logged, without its text.
        """
        task = asyncio.get_running_loop().create_task(self._caught(job))
        self._tasks[task] = about
        task.add_done_callback(self._tasks.pop)

    async def learned(self, about: Hashable) -> None:
        """Wait until what answers taught about a model is learned: its client may be faster with the next request."""
        learning = [task for task, each in self._tasks.items() if each == about]
        if learning:
            await asyncio.wait(learning)

    async def _caught(self, job: Coroutine[Any, Any, Any]) -> None:
        try:
            await job
        except Exception as error:  # The answer was sent: whatever failed after it, nobody waits for it.
            log_error("a job after an answer", error)
            self.activity.fault(None, "other", error, kind="fault", became="pass")

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
            status, _ = await self.upstream.get_json(address(base, "/v1/models"), [])
        except HttpProblem as problem:
            return problem.message
        return f"upstream answered {status}" if status in _DOWN else ""

    def owner(self, admitted: Admitted, route: str) -> tuple[str, ...]:
        """Return whose request it is: the name of its key here, the route, and a tag of any other keys that it sends.

        What it teaches, and its conversation, are that owner's alone.
        """
        tag = owner_tag(admitted.credentials, self._salt)
        return (admitted.key, route, tag) if tag else (admitted.key, route)

    def status(self, key: str) -> dict[str, Any]:
        """Return the sums of this process, and the conversations of the clients with a key, the newest first."""
        worker = {} if self.worker is None else {"worker": self.worker}
        return {**worker, "summary": self.activity.summary(), "conversations": self.activity.conversations(key)}

    async def open(self) -> None:
        """Load what counting needs."""
        asyncio.get_running_loop().set_exception_handler(log_loop_error)
        await self.work(warm)
        self._salt = await self.work(owner_salt, self.conversations.store)
        if self.keeps:
            self._writing = asyncio.get_running_loop().create_task(self.traffic.run(self.work))
        self.ready = True

    async def close(self) -> None:
        """Finish what is under way, and close connections, threads and the store."""
        self.ready = False
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait({self._writing})
            await self.work(self.traffic.stop)
        await self.upstream.close()
        self._pool.shutdown(wait=True)
        if self.store is not None:
            self.store.close()
        if self.on_end is not None:
            self.on_end(self.activity.summary())

    def reload(self, settings: GatewaySettings) -> None:
        """Continue with other settings. The address, the workers and the store stay as they are.

        Raises:
            InvalidValue: a key is not set.
        """
        self.use(settings)
        self.conversations.stable = settings.stable
        self.fitter.sections.clear()
        known.cache_clear()
