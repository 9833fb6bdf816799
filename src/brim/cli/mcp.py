"""`brim mcp`: count, fit, status and recall as tools of the Model Context Protocol."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

from typer import Option

from brim.cli import options
from brim.cli.output import announce
from brim.cli.stores import open_if_any
from brim.errors import SourceError


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
    json: options.Json = False,
) -> None:
    """Offer count, fit, status and recall to agents, as an MCP server.

    The agent's program starts it and uses standard input and output; with --http it listens on this machine only. It
    reads no file but its store. Without a store, status and recall return an error.

    Example: brim mcp --store sqlite:///brim.db
    """
    try:
        from brim.integrations import mcp
    except ImportError as error:
        raise SourceError("brim mcp", str(error)) from error

    opened = open_if_any(store)
    with opened or nullcontext():
        if http:
            mcp.run_http(opened, host, port, lambda address: announce("mcp", address, {"address": address}, json=json))
        else:
            mcp.run(opened)
