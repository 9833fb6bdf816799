"""`brim studio`: a page on the store and the settings, for this machine alone."""

from __future__ import annotations

import os
from json import dumps
from typing import Annotated

import typer

from brim.cli import options
from brim.errors import InvalidValue, SourceError

_HERE = "sqlite:///brim.db"


def run(
    *,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="The store, if not that of brim.yaml or brim.db here."),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config", "-c", metavar="PATH", help="A file of settings or its directory, if not the one here."
        ),
    ] = None,
    runs: Annotated[str, typer.Option("--runs", metavar="DIR", help="Where the receipts of flows are.")] = "runs",
    demo: Annotated[bool, typer.Option("--demo", help="Open on a recorded demo.")] = False,
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65_535, help="The port; 0 takes a free one.")] = 8_090,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="VARIABLE", help="The NAME of the variable with a token, if not a new one."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A name by which it may be called; may come several times."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    json: options.Json = False,
) -> None:
    """See what the model sees, move the budget, and know why: a page in your browser.

    It shows the sessions of a store, the receipts of flows and the settings of the project. It listens on this machine
    alone and prints its address with a token that lets you in; another --host needs a --token of your own.

    Example: brim studio --port 8090 --store sqlite:///brim.db --no-open
    """
    try:
        from brim.studio import server
    except ImportError as error:
        raise SourceError("brim studio", "it needs more than brim itself: pip install 'brim[studio]'") from error
    from brim.studio.access import StudioAccess
    from brim.studio.workspace import Workspace

    _silence()
    chosen = {} if token is None else {"token": _secret(token), "chosen": True}
    access = StudioAccess(host=host, port=port, names=tuple(allow_host or ()), **chosen)  # type: ignore[arg-type]
    workspace = Workspace(name="mine", url=store or _set(config) or _HERE, config=config, runs=runs)

    def started(address: str) -> None:
        print(dumps({"address": address}) if json else f"brim studio: {address}", flush=True)
        if not no_open:
            import webbrowser

            webbrowser.open(address)

    server.run(workspace, access, demo=demo, started=started)


def _secret(name: str) -> str:
    """Return the token that a variable holds.

    Raises:
        InvalidValue: it is not set.
    """
    value = os.environ.get(name, "")
    if not value:
        raise InvalidValue("--token", name, "the NAME of an environment variable that is set")
    return value


def _set(config: str | None) -> str | None:
    """Return the store that the settings name, if any do."""
    from brim.settings import load_config

    value = load_config(config).resolve().value("store.url")
    return value if isinstance(value, str) else None


def _silence() -> None:
    """Keep warnings about settings out of the log: the page shows them."""
    import logging

    logging.getLogger("brim.settings").addHandler(logging.NullHandler())
