"""Runs the gateway: listens, reloads the settings on SIGHUP, and lets open streams finish on shutdown."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from typing import Any

import uvicorn

from brim.errors import BrimError, SourceError
from brim.gateway.http.app import GatewayApp
from brim.gateway.http.protocol import MOST_HEAD, BoundedProtocol
from brim.gateway.report.lines import ActivityLines
from brim.gateway.settings import GatewaySettings
from brim.gateway.state import GatewayState
from brim.hosts import BACKLOG, listener
from brim.observe.uncaught import told_without_text
from brim.redaction import redact

LOG = logging.getLogger("brim.gateway")
_SWITCH = 0.001
"""Seconds after which a counting thread yields to the event loop. With Python's default of 5 ms, the delays of an
answer add up.
"""


def run(
    settings: GatewaySettings,
    reload: Callable[[], GatewaySettings],
    started: Callable[[str], Any],
    lines: ActivityLines | None = None,
) -> None:
    """Serve until the process is terminated; open streams may then take `drain` seconds to finish.

    Args:
        settings: the settings.
        reload: reads the settings again on SIGHUP.
        started: called with the address and the upstream once the gateway listens.
        lines: prints the events, and a summary at the end.

    Raises:
        InvalidValue: a key is not set.
        StoreError: the store cannot be opened.
        SourceError: the address is not available.
    """
    sys.setswitchinterval(_SWITCH)
    with told_without_text(), listener(settings.host, settings.port) as listening:
        app = GatewayApp(settings)
        server = uvicorn.Server(config(app, settings))
        if lines is not None:
            app.state.activity.observers.append(lines)
            app.state.on_end = lines.end

        def reload_settings() -> None:
            try:
                app.state.reload(reload())
                LOG.warning("the settings were reloaded")
            except BrimError as error:
                LOG.error("the settings were not reloaded: %s", redact(str(error)))  # noqa: TRY400 - the message is enough

        async def serve() -> None:
            if hasattr(signal, "SIGHUP"):
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload_settings)
            task = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started and not task.done():
                await asyncio.sleep(0.01)
            if server.started:
                host = f"[{settings.host}]" if ":" in settings.host else settings.host
                started(f"http://{host}:{listening.getsockname()[1]}/v1 -> {settings.upstream}")
            await task

        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(serve())


def check(settings: GatewaySettings) -> None:
    """Check the keys, the store and each upstream.

    Raises:
        InvalidValue: a key is not set.
        StoreError: the store cannot be opened.
        SourceError: an upstream cannot be reached, or rejects the gateway's key.
    """

    async def ask() -> str:
        state = GatewayState(settings)
        try:
            return await state.unreachable(sends_keys=True)
        finally:
            await state.close()

    if problem := asyncio.run(ask()):
        raise SourceError("brim gateway", problem)


def config(app: GatewayApp, settings: GatewaySettings) -> uvicorn.Config:
    """Return the configuration of uvicorn; its logs are disabled, since URLs may contain keys."""
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        h11_max_incomplete_event_size=MOST_HEAD,
        access_log=False,
        log_level="critical",
        lifespan="on",
        server_header=False,
        date_header=True,
        proxy_headers=False,
        backlog=BACKLOG,
        limit_concurrency=settings.most_connections,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, int(settings.drain)),
        ws="none",
    )
