"""`brim studio`: a local web page on the store and the settings."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from brim.cli import options, stores
from brim.cli.output import announce, exit_on_sigterm, mute_settings
from brim.errors import InvalidValue, SourceError

_PATIENCE = 3.0
"""Seconds to wait for a file to be read, so that errors in a small file are shown at once."""
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<title>brim studio</title><meta http-equiv="refresh" content="0;url={address}">'
    '<p><a href="{address}">Open brim studio</a></p></html>'
)


def run(
    file: Annotated[
        str | None,
        Argument(metavar="FILE", help="A request, a log, a trace, a session, a receipt or a store to open."),
    ] = None,
    *,
    store: options.Store = None,
    config: options.Config = None,
    demo: Annotated[bool, Option("--demo", help="Show a recorded demo instead.")] = False,
    port: Annotated[
        int, Option("--port", "-p", metavar="PORT", min=0, max=65_535, help="The port; 0 for a free one.")
    ] = 8_090,
    host: Annotated[str, Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    token: Annotated[
        str | None, Option("--token", metavar="VARIABLE", help="The NAME of the environment variable with your token.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, Option("--allow-host", metavar="NAME", help="Another host name for the page; repeatable.")
    ] = None,
    no_open: Annotated[bool, Option("--no-open", help="Do not open the browser.")] = False,
    json: options.Json = False,
) -> None:
    """Show your sessions, prompts and budgets on a local web page.

    FILE may be a single request or anything that brim audit reads, such as a log or a trace. The page also shows the
    sessions of a store and the settings of the project. The server listens on this machine only
    and prints its address with a token. Another --host needs your own --token.

    Example: brim studio request.json
    """
    try:
        from brim.studio import server
    except ImportError as error:
        raise SourceError("brim studio", f"{error}; install it: pip install 'brim[studio]'") from error
    from brim.studio.access import StudioAccess
    from brim.studio.workspace import Workspace

    mute_settings()
    chosen: dict[str, Any] = {}
    if token is not None:
        chosen = {"token": os.environ.get(token, ""), "chosen": True}
        if not chosen["token"]:
            # Not `--token`: in an error, the word after it would be masked.
            raise InvalidValue("the studio's token", token, "the NAME of an environment variable that is set")
    access = StudioAccess(host=host, port=port, names=tuple(allow_host or ()), **chosen)
    if file is not None and _is_store(file):
        store, file = f"sqlite:///{file}", None
    exit_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="brim-studio-") as folder, _opener() as open_address:
        if demo:
            from brim.studio import demo as recorded_demo

            workspace = recorded_demo.record(folder)
        else:
            workspace = Workspace(url=stores.store_url(store, config) or stores.HERE, config=config)
        if file is not None:
            workspace.files.open(file, wait=_PATIENCE)

        def started(address: str) -> None:
            announce("studio", address, {"address": address}, json=json)
            if not no_open:
                open_address(address)

        server.run(workspace, access, started)


def _is_store(path: str) -> bool:
    """Return whether a file is an SQLite database."""
    try:
        with open(path, "rb") as opened:
            return opened.read(16) == b"SQLite format 3\x00"
    except OSError:
        return False  # Opening it reports the problem.


@contextmanager
def _opener() -> Iterator[Callable[[str], None]]:
    """Yield a function that opens an address through a page that redirects to it; the page is removed at the end.

    Every user of a machine can see the arguments of a browser, but only the owner can read the page. If the browser
    cannot read it, use the printed address.
    """
    folders = []

    def open_address(address: str) -> None:
        with suppress(OSError):
            folders.append(tempfile.TemporaryDirectory(prefix="brim-open-"))
            page = Path(folders[-1].name, "studio.html")
            descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(_PAGE.format(address=escape(address)))
            webbrowser.open(page.as_uri())

    try:
        yield open_address
    finally:
        for folder in folders:
            folder.cleanup()
