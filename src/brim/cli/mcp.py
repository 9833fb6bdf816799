"""`brim mcp`: count, fit, status and recall as tools for agents that speak the Model Context Protocol."""

from __future__ import annotations

import os
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from brim.cli import options
from brim.errors import SourceError

if TYPE_CHECKING:
    from brim.store import Store

_FILE = "sqlite:///"
_HERE = "brim.db"


def run(
    *,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="The store, if not that of brim.yaml or brim.db here."),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP on this machine instead of standard input.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65_535, help="With --http: the port; 0 takes a free one.")
    ] = 8_091,
    json: options.Json = False,
) -> None:
    """Offer count, fit, status and recall to agents, as an MCP server.

    It is started by the agent's program and speaks over standard input and output; with --http it listens on this
    machine alone. It reads no file but its store; without one, count and fit are there and the others say so.

    Example: brim mcp --store sqlite:///brim.db
    """
    try:
        from brim.integrations import mcp
    except ImportError as error:
        raise SourceError("brim mcp", str(error)) from error

    opened = _opened(store)
    try:
        if http:
            mcp.run_http(opened, host, port, lambda address: _tell(address, json=json))
        else:
            mcp.run(opened)
    finally:
        if opened is not None:
            opened.close()


def _tell(address: str, *, json: bool) -> None:
    print(dumps({"address": address}) if json else f"brim mcp: {address}", flush=True)


def _opened(url: str | None) -> Store | None:
    """Open the store that was named, that of the settings, or the one here; nothing where there is none.

    Raises:
        SourceError: the file that was named is not there.
    """
    from brim.settings import load_config
    from brim.store import open_store

    where = url or load_config().resolve().value("store.url")
    if where is None and not os.path.isfile(_HERE):
        return None
    path = (where or _HERE).removeprefix(_FILE)
    if (where is None or where.startswith(_FILE)) and not os.path.isfile(path):
        raise SourceError(path, "there is no such store: give the one of your sessions with --store, or set store.url")
    return open_store(where or _FILE + _HERE)
