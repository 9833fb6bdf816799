"""Stores of sessions: SQLite, or PostgreSQL if several machines share the store."""

from __future__ import annotations

from collections.abc import Callable

from brim.store.base import Body, LogEntry, Purged, Saved, SearchHit, SessionRow
from brim.store.store import Store
from brim.store.values import FILE, check_url, shown_url

__all__ = [
    "Body",
    "LogEntry",
    "Purged",
    "Saved",
    "SearchHit",
    "SessionRow",
    "Store",
    "check_url",
    "open_store",
    "opened_store",
    "shown_url",
]


def open_store(url: str, *, clock: Callable[[], float] | None = None) -> Store:
    """Open the store at an address, and create it if it does not exist.

    `sqlite:///brim.db` is a file in the current folder, `sqlite:////var/brim.db` one from the root,
    `sqlite:///:memory:` is lost when the process ends, `postgresql://user@host/db` is for several machines. Times are
    those of the machine or of the PostgreSQL server; tests can pass a `clock`.

    Raises:
        InvalidValue: the address is invalid.
        StoreError: it cannot be opened, or it is not a brim store, or a newer one.
    """
    check_url(url)
    if url.startswith(FILE):
        from brim.store.sqlite import Sqlite

        return Sqlite(url.removeprefix(FILE), clock)
    from brim.store.postgres import Postgres

    return Postgres(url, clock)


def opened_store(store: Store | str | None) -> tuple[Store | None, Store | None]:
    """Return a store, and again the store if this function opened it and the caller must close it, else `None`.

    Raises:
        InvalidValue: the address is invalid.
        StoreError: it cannot be opened.
    """
    if not isinstance(store, str):
        return store, None
    opened = open_store(store)
    return opened, opened
