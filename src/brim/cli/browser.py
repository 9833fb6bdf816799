"""Opens an address that holds a token in the browser, without the token in the arguments of a process."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<title>brim studio</title><meta http-equiv="refresh" content="0;url={address}">'
    '<p><a href="{address}">Open brim studio</a></p></html>'
)


@contextmanager
def opener() -> Iterator[Callable[[str], None]]:
    """Yield a function that opens an address by a page that leads to it; the page is removed at the end.

    Every user of a machine sees the arguments of a browser, and only the owner can read the page. A browser that may
    not read it shows an error; the address is printed as well.
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
