"""The interface of a store: a log for each session, texts by their handle, small documents, and jobs that run once.

A session is an append-only log; everything else is derived from it. A write is durable before its method returns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

Body = Mapping[str, Any]
"""A JSON object. Every text in it comes back as it was, whatever its characters."""

META = "meta"
"""The kind of entry whose newest body `sessions` shows; those before it have no body any more."""


CONTINUATION = "continuation"
"""The kind of entry of which only the newest has a body too: what a loop hands over to its next context."""


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
    """One session in a list of sessions."""

    id: str
    created: float
    updated: float
    entries: int
    """How many entries its log has; the number of the last one."""
    meta: Body
    """The body of its newest entry of kind `meta`; empty if there is none."""


class SearchHit(NamedTuple):
    """One text that a search found."""

    handle: str
    session: str
    """The session that keeps it; of several, the last one that wrote it."""
    excerpt: str
    """The excerpt that has most words of the query, on one line."""
    rank: float
    """How well it matches: higher is better. Ranks of two searches, or of two kinds of store, are not comparable."""


class RepeatedText(NamedTuple):
    """A kept text that repeats messages of its session's log."""

    first: int
    """The number of the first entry."""
    last: int
    handle: str
    """The first eleven characters of its handle, as prompts show them."""
    turn: bool = False
    """Whether it is all messages from the first to the last entry as JSON, instead of a text in one of them."""
    packed: bytes = b""
    """How it is written beside its entries, if they do not have all of it."""


class Saved(NamedTuple):
    """A small document."""

    kind: str
    id: str
    version: int
    """1 when it was first saved, and one more each time since."""
    at: float
    body: Body


class Lease(NamedTuple):
    """A job that a worker has leased."""

    queue: str
    id: str
    worker: str
    attempt: int
    """1 for the first worker, one more for each that took it after a lease expired."""
    until: float
    """When the lease expires, by the clock of the store."""
    body: Body


class Purged(NamedTuple):
    """How much a purge removed."""

    sessions: int
    entries: int
    texts: int
    documents: int
    jobs: int


class Store(Protocol):
    """Sessions, dropped texts, documents and jobs. Safe for threads; each process opens its own."""

    @property
    def url(self) -> str:
        """The address of the store, without a password."""

    def append(self, session: str, entries: Iterable[tuple[str, Body]], *, after: int | None = None) -> int:
        """Write entries of a kind and a body at the end of a session's log, all or none, and return the last number.

        With `after` they are written only if that is the last number so far; 0 is a session without entries.

        Raises:
            Conflict: `after` is not the last number.
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
        later: Collection[str] = (),
    ) -> list[LogEntry]:
        """Return the entries of a session in their order, of these kinds, with numbers above `after`.

        Of more than `limit` the first are returned, or the last if `newest`. The bodies of the kinds `later` are
        decoded when one of them is used; until then an error in them is not found.
        """

    def sessions(self, *, limit: int = 100, before: float | SessionRow | None = None) -> list[SessionRow]:
        """Return sessions, the last written first; only those written before a time, or those after a row."""

    def keep(
        self, session: str, texts: Mapping[str, str], *, repeating: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        """Keep texts by their handles for a session. A text that is known is stored once.

        `repeating` are the numbers of the entries of the session that a text repeats, by its handle. If that is the
        hash of the text, all that is written is what the entries do not have.

        Raises:
            InvalidValue: the store has another text under a handle.
        """

    def text(self, handle: str, *, session: str | None = None) -> str | None:
        """Return the text of a handle; `None` if this session does not keep it, or without one, if none does.

        A handle that is a hash may be shortened to its first eleven characters, as prompts show it.
        """

    def repeats(self, session: str, *, after: int = 0) -> list[RepeatedText]:
        """Return the kept texts that repeat entries of a session, with the last above `after`, in the order of that."""

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
        """Add a job, and return whether it is new: a job that exists, or was done, is not changed."""

    def lease(self, queue: str, worker: str, seconds: float) -> Lease | None:
        """Lease the oldest free job for some seconds; `None` if there is none."""

    def renew(self, lease: Lease, seconds: float) -> Lease:
        """Extend a lease by some seconds from now on.

        Raises:
            LeaseLost: another worker has it, or it is done.
        """

    def complete(self, lease: Lease, result: Body) -> None:
        """Write the result of a job, which never runs again.

        Raises:
            LeaseLost: another worker has it, or it is done.
        """

    def result(self, queue: str, id: str) -> Body | None:
        """Return the result of a job; `None` until it is done."""

    def purge(
        self, *, before: float | None = None, session: str | None = None, documents: Sequence[str] = ()
    ) -> Purged:
        """Remove the sessions last written before a time, or one session, and return the counts.

        Texts that no other session keeps are removed too, and those that repeat its log; with `before`, also jobs done
        before it, and documents of the given kinds.

        Raises:
            InvalidValue: neither a time nor a session is given.
            StoreError: it is part of a transaction.
        """

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context in which all writes of this thread are written together, or none."""

    def close(self) -> None:
        """Close the file or the connection. Closing twice does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
