"""The interface of a store: a log for each session, and small documents.

A session is an append-only log; everything else is derived from it. A write is durable before its method returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

Body = Mapping[str, Any]
"""A JSON object, which may also have bytes. Every value is returned unchanged, whatever its characters."""


class LogEntry(NamedTuple):
    """One line of a session's log."""

    session: str
    number: int
    """Starts at 1 in each session, without gaps."""
    kind: str
    """The kind of the body, such as message, prompt, usage, warning, compaction, dropped, turn, text, event or note."""
    at: float
    """When it was written, in seconds since 1970."""
    body: Body


class SessionRow(NamedTuple):
    """One session in a list of sessions."""

    id: str
    created: float
    updated: float
    entries: int
    """The number of entries in its log."""
    meta: Body
    """The last `meta` of `append`; empty if there was none."""


class SearchHit(NamedTuple):
    """One entry that a search found."""

    handle: str
    """The hash of its text, by which `text` returns it."""
    session: str
    number: int
    kind: str
    """`message`, `turn` or `text`."""
    excerpt: str
    """The excerpt with the most words of the query, on one line."""
    rank: float
    """How well it matches; higher is better. Ranks of different searches cannot be compared."""


class Saved(NamedTuple):
    """A small document."""

    kind: str
    id: str
    version: int
    """Starts at 1 and grows by one with each save."""
    at: float
    body: Body


class Purged(NamedTuple):
    """How much a purge removed."""

    sessions: int
    entries: int
    documents: int


class Store(Protocol):
    """Sessions and documents. Threads may share a store; each process, forked children included, must open its own.

    Every method raises `StoreError` if the store cannot be read or written, is locked for too long, or is closed.
    """

    @property
    def url(self) -> str:
        """The address of the store, without a password."""

    def append(
        self,
        session: str,
        entries: Iterable[tuple[str, Body]],
        *,
        after: int | None = None,
        since: float | None = None,
        at: float | None = None,
        meta: Body | None = None,
    ) -> int:
        """Append entries, each a kind and a body, to a session's log, all or none; return the last number.

        With `after`, they are written only if that is the last number so far (0 for a new session). With `since`, only
        if the session was created at that time, and not purged and created again. `at` is the time of the entries in
        seconds since 1970, if they were recorded earlier. `meta` replaces what `sessions` shows for the session.
        Messages, turns and texts are indexed by their words and hashes.

        Raises:
            Conflict: `after` is not the last number, or `since` not the time of creation.
            InvalidValue: a name or a body is invalid.
            StoreError: the store cannot be written.
        """

    def entries(
        self,
        session: str,
        *,
        kinds: Sequence[str] | None = None,
        after: int = 0,
        limit: int | None = None,
        newest: bool = False,
    ) -> list[LogEntry]:
        """Return the entries of a session in their order, of these kinds, with numbers above `after`.

        If there are more than `limit`, the first are returned, or with `newest` the last.
        """

    def sessions(self, *, limit: int = 100) -> list[SessionRow]:
        """Return sessions, the last written first."""

    def session(self, session: str) -> SessionRow | None:
        """Return one session, or `None`."""

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle, from the log of one session or of any; `None` if there is none.

        A handle is `b2:` and the hash of the text, or at least its first five digits. The text is that of a message,
        of one of its results, of an entry of kind `text`, or of a dropped turn as JSON.
        """

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the messages and texts that share words with a query, the best first; each text once.

        A query may have any characters.
        """

    def save(self, kind: str, id: str, body: Body, *, version: int) -> int:
        """Write a document whose last known version is `version` (0 for a new one), and return its new version.

        Raises:
            Conflict: its version is a different one.
        """

    def load(self, kind: str, id: str) -> Saved | None:
        """Return a document, or `None`."""

    def ids(self, kind: str) -> list[str]:
        """Return the ids of all documents of a kind, sorted."""

    def forget(self, kind: str, id: str) -> bool:
        """Remove a document; return whether there was one."""

    def purge(
        self, *, before: float | None = None, session: str | None = None, documents: Sequence[str] = ()
    ) -> Purged:
        """Remove the sessions last written before a time, or one session; return what was removed.

        With `before`, documents of the given kinds are removed too.

        Raises:
            InvalidValue: neither a time nor a session is given.
            StoreError: it is part of a transaction.
        """

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context manager: all writes of this thread inside it are written together, or none.

        Another task of the same thread cannot use the store meanwhile, so do not await inside.
        """

    def close(self) -> None:
        """Close the file or the connection. Closing twice does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
