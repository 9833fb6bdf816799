"""Stores of sessions, receipts and dropped texts: SQLite, or PostgreSQL if several machines share one."""

from __future__ import annotations

from collections.abc import Callable

from brim.errors import InvalidType, InvalidValue
from brim.store.address import FILE, SERVER, shown_url
from brim.store.base import META, Body, Lease, LogEntry, Purged, Saved, SearchHit, SessionRow, Store

__all__ = [
    "META",
    "Body",
    "Lease",
    "LogEntry",
    "Purged",
    "Saved",
    "SearchHit",
    "SessionRow",
    "Store",
    "open_store",
    "shown_url",
]


def open_store(url: str, *, clock: Callable[[], float] | None = None) -> Store:
    """Open the store at an address, and create it if it does not exist.

    `sqlite:///brim.db` is a file in the current folder, `sqlite:////var/brim.db` one from the root,
    `sqlite:///:memory:` is gone with the process, `postgresql://user@host/db` is for several machines. Time is the
    machine's, or that of the PostgreSQL server; `clock` replaces it in tests.

    Raises:
        InvalidValue: the address is invalid.
        StoreError: it cannot be opened, or it is not a brim store, or a newer one.
    """
    if not isinstance(url, str):
        raise InvalidType("the address of a store", url, "a text such as 'sqlite:///brim.db'")
    if url.startswith(FILE) and len(url) > len(FILE):
        from brim.store.sqlite import Sqlite

        return Sqlite(url.removeprefix(FILE), clock)
    if url.startswith(SERVER):
        from brim.store.postgres import Postgres

        return Postgres(url, clock)
    known = "'sqlite:///brim.db', 'sqlite:///:memory:' or 'postgresql://user@host/db'"
    raise InvalidValue("the address of a store", shown_url(url), f"like {known}")
