"""The rows that a store returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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
