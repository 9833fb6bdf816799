"""`brim mcp`: an MCP server with which an agent counts, fits and manages its context."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

from typer import Option

from brim.cli import options
from brim.cli.stores import open_if_any
from brim.errors import SourceError


def run(
    *,
    store: options.Store = None,
    session: Annotated[
        list[str] | None,
        Option("--session", metavar="ID", help="Limit the tools to this session; repeatable."),
    ] = None,
) -> None:
    """Serve the tools count, fit, room, status, recall, compact and restart over MCP.

    An agent starts this command and talks to it over standard input and output. It reads and writes only its store, and
    leaves conversations of a gateway's clients alone unless --session names them.

    Example: brim mcp --store sqlite:///brim.db
    """
    try:
        from brim.integrations import mcp
    except ImportError as error:
        raise SourceError("brim mcp", str(error)) from error

    opened = open_if_any(store)
    with opened or nullcontext():
        mcp.run(opened, tuple(session or ()))
