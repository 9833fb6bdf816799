"""`brim mcp`: tools of the Model Context Protocol by which an agent counts, fits, and looks after its own context."""

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
        Option("--session", metavar="ID", help="The only session that is read or changed; repeatable."),
    ] = None,
) -> None:
    """Offer count, fit, room, status, recall, compact and restart to agents, as an MCP server.

    The agent's program starts it and uses standard input and output. It uses no file but its store, and of that no
    conversation of a gateway's client unless --session names it.

    Example: brim mcp --store sqlite:///brim.db
    """
    try:
        from brim.integrations import mcp
    except ImportError as error:
        raise SourceError("brim mcp", str(error)) from error

    opened = open_if_any(store)
    with opened or nullcontext():
        mcp.run(opened, tuple(session or ()))
