"""What a store promises: a log for each session, texts by their handle, small documents, and jobs that run once.

A session is an append-only log; every view of it is derived. Whatever a method was given is durable before it
returns. Nothing here decides anything: a store keeps, finds and counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

Body = Mapping[str, Any]
"""A JSON object. Every text in it comes back as it was, whatever its characters."""

META = "meta"
"""The kind of entry whose newest body `sessions` shows as what is known about a session."""


class LogEntry(NamedTuple):
    """One line of a session's log."""

    session: str
    number: int
    """1, 2, 3 and so on within the session, without gaps."""
    kind: str
    """What the body is: message, prompt, usage, warning, compaction, summary, event, note or meta."""
    at: float
    """When it was written, in seconds since 1970."""
    body: Body


class SessionRow(NamedTuple):
    """One session, seen from outside."""

    id: str
    created: float
    updated: float
    entries: int
    """How many entries its log has; the number of the last one."""
    meta: Body
    """The body of its newest entry of kind `meta`; empty where there is none."""


class SearchHit(NamedTuple):
    """One text that a search found."""

    handle: str
    session: str
    """The session that kept it; where several did, the one that did so last."""
    excerpt: str
    """The part of the text that has most of the query, on one line."""
    rank: float
    """How well it matches: more is better. Ranks of two searches, or of two kinds of store, are not comparable."""


class Saved(NamedTuple):
    """A small document."""

    kind: str
    id: str
    version: int
    """1 when it was first saved, and one more each time since."""
    at: float
    body: Body


class Lease(NamedTuple):
    """A job that a worker holds for a while."""

    queue: str
    id: str
    worker: str
    attempt: int
    """1 for the first worker that took it, one more for each that took it after a lease expired."""
    until: float
    """When others may take it, by the clock of the store."""
    body: Body


class Purged(NamedTuple):
    """How much a purge removed."""

    sessions: int
    entries: int
    texts: int
    documents: int
    jobs: int


class Store(Protocol):
    """Where sessions, dropped texts, documents and jobs live. Safe for threads; each process opens its own."""

    @property
    def url(self) -> str:
        """The address of the store, without a password."""

    def append(self, session: str, entries: Iterable[tuple[str, Body]], *, after: int | None = None) -> int:
        """Write entries of a kind and a body at the end of a session's log, all or none, and return the last number.

        With `after` they are written only if that is the last number so far; 0 is a session without entries.

        Raises:
            Conflict: `after` is not the last number.
            InvalidValue: a name or a body that cannot be stored.
            StoreError: the store cannot be written.
        """

    def entries(
        self, session: str, *, kinds: Sequence[str] | None = None, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        """Return the entries of a session in their order, of these kinds, with numbers above `after`."""

    def sessions(self, *, limit: int = 100, before: float | SessionRow | None = None) -> list[SessionRow]:
        """Return sessions, the last written first; those written before a moment, or those that follow a row."""

    def keep(self, session: str, texts: Mapping[str, str]) -> None:
        """Keep texts by their handles for a session. A text that is known is stored once.

        Raises:
            InvalidValue: the store holds another text under a handle.
        """

    def text(self, handle: str) -> str | None:
        """Return the text of a handle, or `None` where nobody keeps it."""

    def search(self, query: str, *, session: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Return the kept texts that share words with a query, the best first. A query may have any characters."""

    def save(self, kind: str, id: str, body: Body, *, version: int) -> int:
        """Write a document that was at `version`, 0 for a new one, and return its new version.

        Raises:
            Conflict: it is at another version.
        """

    def load(self, kind: str, id: str) -> Saved | None:
        """Return a document, or `None`."""

    def ids(self, kind: str) -> list[str]:
        """Return the ids of all documents of a kind, sorted."""

    def forget(self, kind: str, id: str) -> bool:
        """Remove a document; return whether there was one."""

    def enqueue(self, queue: str, id: str, body: Body) -> bool:
        """Add a job, and return whether it is new: one that is there, or was done, stays as it is."""

    def lease(self, queue: str, worker: str, seconds: float) -> Lease | None:
        """Take the oldest job that nobody holds, for some seconds; `None` where there is none."""

    def renew(self, lease: Lease, seconds: float) -> Lease:
        """Hold a job for some more seconds from now on.

        Raises:
            LeaseLost: another worker has it, or it is done.
        """

    def complete(self, lease: Lease, result: Body) -> None:
        """Write the result of a job. It never runs again.

        Raises:
            LeaseLost: another worker has it, or it is done.
        """

    def result(self, queue: str, id: str) -> Body | None:
        """Return the result of a job, or `None` as long as it is not done."""

    def purge(
        self, *, before: float | None = None, session: str | None = None, documents: Sequence[str] = ()
    ) -> Purged:
        """Remove the sessions last written before a moment, or one session, and return what went.

        Texts that no session keeps any more go too. With `before`, so do jobs done before it, and documents of the
        kinds that are named.

        Raises:
            InvalidValue: neither a moment nor a session is given.
            StoreError: it is part of a transaction.
        """

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context in which everything that this thread writes is written together, or not at all."""

    def close(self) -> None:
        """Let go of the file or the connection. Closing twice does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
