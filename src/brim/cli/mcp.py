"""`brim mcp`: tools of the Model Context Protocol by which an agent counts, fits, and looks after its own context."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Annotated

from typer import Option

from brim.cli import options
from brim.cli.output import announce
from brim.cli.stores import open_if_any
from brim.errors import HIDDEN, InvalidValue, SourceError


def run(
    *,
    store: options.Store = None,
    http: Annotated[bool, Option("--http", help="Serve over HTTP instead of standard input.")] = False,
    host: Annotated[
        str, Option("--host", metavar="ADDRESS", help="With --http: the address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, Option("--port", "-p", metavar="PORT", min=0, max=65_535, help="With --http: the port; 0 for a free one.")
    ] = 8_091,
    session: Annotated[
        list[str] | None,
        Option("--session", metavar="ID", help="The only session that is read or changed; repeatable."),
    ] = None,
    token: Annotated[
        str | None,
        Option("--token", metavar="VARIABLE", help="With --http: the NAME of a variable with the token for clients."),
    ] = None,
    allow_host: Annotated[
        list[str] | None, Option("--allow-host", metavar="NAME", help="With --http: another host name; repeatable.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Offer count, fit, room, status, recall, compact and restart to agents, as an MCP server.

    The agent's program starts it and uses standard input and output. With --http it listens on this machine only, and
    offers count and fit; with --token also the others, and on any --host. It uses no file but its store, and of that no
    conversation of a gateway's client unless --session names it.

    Example: brim mcp --store sqlite:///brim.db
    """
    try:
        from brim.integrations import mcp
    except ImportError as error:
        raise SourceError("brim mcp", str(error)) from error

    if not http and (token is not None or allow_host):
        raise InvalidValue("--token and --allow-host", "one of them", "used with --http")
    secret = None if token is None else os.environ.get(token, "").strip()
    if token is not None and not secret:
        raise InvalidValue("--token", HIDDEN, "the NAME of an environment variable that is set")
    sessions = tuple(session or ())
    opened = open_if_any(store)
    with opened or nullcontext():
        if not http:
            mcp.run(opened, sessions)
            return
        mcp.run_http(
            opened,
            host,
            port,
            lambda address: announce("mcp", address, {"address": address}, json=json),
            sessions=sessions,
            token=secret,
            names=tuple(allow_host or ()),
        )
