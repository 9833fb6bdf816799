"""The state of a gateway that outlives single requests, and its threads for counting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from brim.gateway.client.names import owner_salt, owner_tag
from brim.gateway.http.admitted import ONCE, Admitted
from brim.gateway.http.key_mask import spellings
from brim.gateway.http.problem import HttpProblem
from brim.gateway.report.activity import Activity, GatewayMetrics
from brim.gateway.settings import GatewaySettings
from brim.gateway.upstream.client import VERSION, UpstreamClient, address, sent_headers
from brim.hosts import Access, Secrets
from brim.observe.uncaught import log_error, log_loop_error
from brim.sessions.conversations import Conversations
from brim.sessions.learning.meters import warm
from brim.sessions.learning.models import known
from brim.store import open_store

T = TypeVar("T")

_THREADS = 2
"""Threads that parse, count and fit, so that a large request does not block the event loop."""
_ASKED = 5.0
"""Seconds for which the result of a readiness check is reused."""
_DOWN = (502, 503, 504)
"""Statuses with which a proxy reports that its server does not respond."""
_DENIED = (401, 403)


class GatewayState:
    """The state of a gateway that outlives single requests."""

    def __init__(self, settings: GatewaySettings) -> None:
        """Create the state.

        Raises:
            InvalidValue: a key is not set.
            StoreError: the store cannot be opened.
        """
        self.use(settings)
        self.store = None if settings.store is None else open_store(settings.store)
        self.conversations = Conversations(
            store=self.store,
            memory=settings.memory,
            log=False,
            stable=settings.stable,
            capture=settings.capture,
        )
        """The engine: windows, meters, conversations."""
        self._salt = b""
        """The salt of the tags of clients; read from the store at the start."""
        self.upstream = UpstreamClient()
        self._reached: tuple[float, str] = (-_ASKED, "")
        """The time and the result of the last readiness check."""
        self.metrics = GatewayMetrics()
        self.activity = Activity(self.metrics, self.conversations.windows)
        self.on_end: Callable[[dict[str, Any]], Any] | None = None
        """Called with the summary when the gateway ends."""
        self.ready = False
        """Whether everything needed for counting is loaded."""
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="brim-gateway")
        self._tasks: dict[asyncio.Task[Any], Hashable] = {}

    def use(self, settings: GatewaySettings) -> None:
        """Use settings for new requests.

        Raises:
            InvalidValue: a key is not set.
        """
        clients, own = settings.secrets(), settings.own_keys()
        self.settings = settings
        self.access = Access(settings.host, settings.hosts, once=ONCE)
        self.keys = Secrets(clients)
        self.secrets = (*clients.values(), *own.values())
        """All keys of the settings, which must not be part of a name."""
        self.hidden = spellings(own.values())
        """The spellings of the upstream keys, which are masked in answers."""

    async def work(self, job: Callable[..., T], *given: Any) -> T:
        """Run a job in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: job(*given))

    def later(self, about: Hashable, job: Coroutine[Any, Any, Any]) -> None:
        """Run a job that learns about a model from an answer, after that answer; closing waits for it.

        An error of the job is logged without its text.
        """
        task = asyncio.get_running_loop().create_task(self._caught(job))
        self._tasks[task] = about
        task.add_done_callback(self._tasks.pop)

    async def learned(self, about: Hashable) -> None:
        """Wait for the jobs about a model, since its client may send the next request before they end."""
        learning = [task for task, each in self._tasks.items() if each == about]
        if learning:
            await asyncio.wait(learning)

    async def _caught(self, job: Coroutine[Any, Any, Any]) -> None:
        try:
            await job
        except Exception as error:  # The client already has the answer.
            log_error("a job after an answer", error)
            self.activity.fault(None, "other", error, kind="fault", became="pass")

    async def problem(self) -> str:
        """Return why requests cannot be served now; empty if they can."""
        if not self.ready:
            return "starting"
        now = asyncio.get_running_loop().time()
        if now - self._reached[0] >= _ASKED:
            self._reached = (now, self._reached[1])
            self._reached = (now, await self.unreachable())
        return self._reached[1]

    async def unreachable(self, *, sends_keys: bool = False) -> str:
        """Return why an upstream cannot be used; empty if all answer, even with an error of their own."""
        settings = self.settings
        for base, route in {settings.base(route): route for route in ("messages", "chat")}.items():
            headers = sent_headers([VERSION], settings, route) if sends_keys else []
            try:
                status, _ = await self.upstream.get_json(address(base, "/v1/models"), headers)
            except HttpProblem as problem:
                return problem.message
            if status in _DOWN:
                return f"upstream answered {status}"
            if status in _DENIED and sends_keys and settings.key(route) is not None:
                return f"upstream rejects the gateway's key ({status})"
        return ""

    def owner(self, admitted: Admitted, route: str) -> tuple[str, ...]:
        """Return the owner of a request: the name of its gateway key, the route, and a tag of any other keys.

        Conversations and learned values belong to one owner.
        """
        tag = owner_tag(admitted.credentials, self._salt)
        return (admitted.key, route, tag) if tag else (admitted.key, route)

    def status(self, key: str) -> dict[str, Any]:
        """Return the totals of this process, and the conversations of the clients with a key, newest first."""
        return {"summary": self.activity.summary(), "conversations": self.activity.conversations(key)}

    async def open(self) -> None:
        """Load everything needed for counting."""
        asyncio.get_running_loop().set_exception_handler(log_loop_error)
        await self.work(warm)
        self._salt = await self.work(owner_salt, self.conversations.store)
        self.ready = True

    async def close(self) -> None:
        """Finish pending jobs, and close connections, threads and the store."""
        self.ready = False
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
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
        self.use(settings)
        self.conversations.stable = settings.stable
        known.cache_clear()
