"""Runs the studio: listens, tells its address with the token, opens the browser, and ends when it is told to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn

from brim.errors import SourceError
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
        if demo:
            studio.desk("demo")
        try:
            asyncio.run(_serve(uvicorn.Server(config(studio)), taken, lambda: told(address(known))))
        finally:
            studio.close()


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


def listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address.

    Raises:
        SourceError: it cannot be listened on.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SourceError(f"{host}:{port}", f"cannot be listened on: {error.strerror or error}") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen()
    except OSError as error:
        made.close()
        advice = "--port 0 takes any that is free"
        raise SourceError(
            f"{host}:{port}", f"cannot be listened on: {(error.strerror or '').lower()}; {advice}"
        ) from error
    return made


async def _serve(server: uvicorn.Server, taken: socket.socket, started: Callable[[], Any]) -> None:
    listening = asyncio.create_task(server.serve(sockets=[taken]))
    while not server.started and not listening.done():
        await asyncio.sleep(0.01)
    if server.started:
        started()
    await listening
