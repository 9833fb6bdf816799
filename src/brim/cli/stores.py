"""Which store a command opens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brim.errors import SourceError

if TYPE_CHECKING:
    from brim.store import Store

_FILE = "sqlite:///"
HERE = _FILE + "brim.db"


def store_url(url: str | None, config: str | None = None) -> str | None:
    """Return the address of the store: the option, else `store.url` of the settings, else `None`."""
    if url:
        return url
    from brim.settings import load_config

    value = load_config(config).resolve().value("store.url")
    return value if isinstance(value, str) else None


def open_existing(url: str | None) -> Store:
    """Open the store of the option or the settings, or `brim.db` in the current directory, without creating it.

    Raises:
        SourceError: it does not exist.
    """
    from brim.store import open_store

    where = store_url(url) or HERE
    if is_missing(where):
        problem = "this store does not exist"
        problem += "" if url else "; name the store of your sessions with --store or store.url"
        raise SourceError(where.removeprefix(_FILE), problem)
    return open_store(where)


def is_missing(url: str) -> bool:
    """Return whether a store is a file that does not exist."""
    return url.startswith(_FILE) and not os.path.isfile(url.removeprefix(_FILE))


def open_if_any(url: str | None) -> Store | None:
    """Open the same store, or return `None` if none is set and there is no `brim.db`.

    Raises:
        SourceError: the named store does not exist.
    """
    named = store_url(url) is not None or os.path.isfile(HERE.removeprefix(_FILE))
    return open_existing(url) if named else None
