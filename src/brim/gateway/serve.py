"""Runs the gateway: listens, drains at the end, reads its settings again on SIGHUP, and checks itself on request."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from brim.errors import BrimError
from brim.gateway.app import App
from brim.gateway.protocol import BoundedProtocol
from brim.gateway.settings import GatewaySettings, secret
from brim.gateway.upstream import Upstream, address
from brim.hosts import BACKLOG, listener
from brim.store import open_store

LOG = logging.getLogger("brim.gateway")


def run(
    settings: GatewaySettings, again: Callable[[], GatewaySettings] | None = None, told: Callable[[str], Any] = print
) -> None:
    """Serve until the process is told to end; streams that are open then have `drain` seconds to finish.

    Args:
        settings: what to go by.
        again: what reads the settings anew on SIGHUP.
        told: what the address is told to.

    Raises:
        InvalidValue: a key is not set.
        StoreError: the store cannot be opened.
        SourceError: the address cannot be listened on.
    """
    with listener(settings.host, settings.port) as taken:
        app = App(settings)
        server = uvicorn.Server(config(app, settings))
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(server, app, taken, again, told))


def config(app: App, settings: GatewaySettings) -> uvicorn.Config:
    """Return how the server is run: without its own logs, since addresses may hold keys."""
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        access_log=False,
        log_level="critical",
        lifespan="on",
        server_header=False,
        date_header=True,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, int(settings.drain)),
        ws="none",
    )


async def _serve(
    server: uvicorn.Server, app: App, taken: socket.socket, again: Callable[[], GatewaySettings] | None, told: Any
) -> None:
    def reload() -> None:
        if again is None:
            return
        try:
            app.state.reload(again())
            LOG.warning("the settings were read again")
        except BrimError as error:
            LOG.error("the settings stay as they are: %s", error)  # noqa: TRY400 - the sentence says it all

    settings = app.state.settings
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None:
        asyncio.get_running_loop().add_signal_handler(hangup, reload)
    listening = asyncio.create_task(server.serve(sockets=[taken]))
    while not server.started and not listening.done():
        await asyncio.sleep(0.01)
    if server.started:
        port = taken.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        told(f"http://{host}:{port}/v1 -> {settings.upstream}")
    await listening


def checked(settings: GatewaySettings) -> list[tuple[str, bool, str]]:
    """Return what was looked at before serving: a name, whether it is well, and a sentence."""
    return asyncio.run(_checked(settings))


async def _checked(settings: GatewaySettings) -> list[tuple[str, bool, str]]:
    found = [("settings", True, f"policy {settings.usual.policy}, {len(settings.rules)} rules")]
    headers: list[tuple[str, str]] = []
    try:
        settings.secrets()
        if settings.upstream_key is not None:
            headers = [("authorization", f"Bearer {secret(settings.upstream_key)}")]
        found.append(("keys", True, f"{len(settings.keys)} for clients"))
    except BrimError as error:
        found.append(("keys", False, str(error)))
    if settings.store is not None:
        try:
            with open_store(settings.store) as store:
                found.append(("store", True, store.url))
        except BrimError as error:
            found.append(("store", False, str(error)))
    upstream = Upstream()
    for base in dict.fromkeys((settings.upstream, settings.base("messages"))):
        answer = await upstream.json(address(base, "/v1/models"), headers, timeout=10)
        listed = answer.get("data") if isinstance(answer, dict) else None
        well = isinstance(listed, list)
        told = f"{len(listed)} models" if isinstance(listed, list) else "it does not list its models at /v1/models"
        found.append((f"upstream {base}", well, told))
    await upstream.close()
    return found
