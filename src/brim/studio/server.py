"""The process of the studio: listens, prints its address with the token, and serves until it is stopped."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import uvicorn

from brim.hosts import listener
from brim.observe.uncaught import log_loop_error, told_without_text
from brim.studio.access import StudioAccess
from brim.studio.app import Studio, app
from brim.studio.workspace import Workspace

_MOST_HEAD = 65_536
"""Bytes of the first line and the headers of a request."""
_MOST_CONNECTIONS = 256


def run(workspace: Workspace, access: StudioAccess, started: Callable[[str], Any] = print) -> None:
    """Serve until the process is stopped.

    Args:
        workspace: what the page shows; it is closed at the end.
        access: the address and the token.
        started: called with the address, which includes the token, once the server listens.

    Raises:
        SourceError: the address cannot be bound.
    """
    with closing(workspace), told_without_text(), listener(access.host, access.port) as bound:
        access = replace(access, port=bound.getsockname()[1])
        server = uvicorn.Server(config(Studio(workspace, access)))
        asyncio.run(_serve(server, bound, lambda: started(f"{access.address}?token={access.token}")))


def config(studio: Studio) -> uvicorn.Config:
    """Return the configuration of the server; it has no access log, since the first address contains the token."""
    return uvicorn.Config(
        app(studio),
        access_log=False,
        log_level="warning",
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        ws="none",
        # Both limits apply before the token is checked.
        http="h11",
        h11_max_incomplete_event_size=_MOST_HEAD,
        limit_concurrency=_MOST_CONNECTIONS,
    )


async def _serve(server: uvicorn.Server, bound: socket.socket, started: Callable[[], Any]) -> None:
    asyncio.get_running_loop().set_exception_handler(log_loop_error)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        started()
    await serving
