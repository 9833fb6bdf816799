"""Runs the studio: listens, tells its address with the token, opens the browser, and ends when it is told to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from threading import Thread
from typing import Any

import uvicorn

from brim.errors import BrimError
from brim.hosts import listener
from brim.studio.app import Studio, app
from brim.studio.desk import Desk
from brim.studio.guard import Door


def run(mine: Desk, door: Door, *, demo: bool = False, told: Callable[[str], Any] = print) -> None:
    """Serve until the process is told to end.

    Args:
        mine: what to look at.
        door: the address, and who may come in.
        demo: whether the page opens on the recorded demo.
        told: what the address is told to, with the token in it.

    Raises:
        SourceError: the address cannot be listened on.
    """
    with listener(door.host, door.port) as taken:
        known = replace(door, port=taken.getsockname()[1])
        studio = Studio(mine, known, demo=demo)
        Thread(target=_prepare, args=(studio, "demo" if demo else "mine"), daemon=True).start()
        try:
            asyncio.run(_serve(uvicorn.Server(config(studio)), taken, lambda: told(address(known))))
        finally:
            studio.close()


def _prepare(studio: Studio, name: str) -> None:
    """Record the demo, or read the receipts, while the browser opens; what is asked meanwhile waits for it."""
    try:
        desk = studio.desk(name)
        desk.index.rows(desk)
    except (BrimError, OSError):
        return  # The screen that needs it says what is wrong.


def address(door: Door) -> str:
    """Return the address that lets its reader in."""
    return f"{door.address}?token={door.token}"


def config(studio: Studio) -> uvicorn.Config:
    """Return how the server is run: without its access log, since the first address holds the token."""
    return uvicorn.Config(
        app(studio),
        access_log=False,
        log_level="warning",
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        ws="none",
    )


async def _serve(server: uvicorn.Server, taken: socket.socket, started: Callable[[], Any]) -> None:
    listening = asyncio.create_task(server.serve(sockets=[taken]))
    while not server.started and not listening.done():
        await asyncio.sleep(0.01)
    if server.started:
        started()
    await listening
