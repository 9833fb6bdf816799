"""Writes the log of a session, in a store or in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext

from brim.errors import Conflict, InvalidValue, SessionPurged, StoreError
from brim.sessions.log.dropped_texts import DroppedTexts, Line, MemoryLog
from brim.sessions.log.tolerant_store import PATIENCE, attempts
from brim.store.base import Body, LogEntry
from brim.store.store import Store, patience
from brim.store.texts import DROPPED
from brim.store.values import encode_body

Lines = Sequence[Line]

_KEPT = ("turn", "text", DROPPED)
"""The kinds of entries that hold what was dropped."""


class Journal:
    """Writes to the log of one session; without a store the log is in memory.

    A write that raised an error may still have been stored. The journal checks this in the store, and if the store does
    not answer, again before the next write. So nothing is written twice, and nothing that was stored is treated as
    failed.
    """

    def __init__(self, store: Store | None, session: str, number: int = 0) -> None:
        """Create the journal.

        Args:
            store: where the log is.
            session: its name there.
            number: the number of its last entry.
        """
        self.store = store
        self.session = session
        self.number = number
        """The number of the last entry."""
        self.since: float | None = None
        """When the session was created, to detect that it was purged and created again; `None` before that."""
        self.on_failure: Callable[[StoreError], object] | None = None
        """If set, called with each failure of the store instead of raising it. The write is repeated at once, since
        another process may continue the session; entries that are still not written are added to the next write.
        """
        self.kinds: Collection[str] | None = None
        """The kinds of entries that are written; `None` for all."""
        self.owed: list[Line] = []
        """Entries that could not be written yet."""
        self._unsure: list[Line] = []
        """Entries of a failed write that may have been stored."""
        self._meta: Body | None = None
        """What the list of sessions shows, as last passed to `write`."""
        self._memory = MemoryLog()
        self.dropped = DroppedTexts(store or self._memory, session)

    def patience(self) -> AbstractContextManager[None]:
        """Return a context manager in which the store is not waited for longer than a request may be delayed."""
        return nullcontext() if self.on_failure is None else patience(PATIENCE)

    @property
    def next(self) -> int:
        """The number of the next entry, after those that could not be written yet."""
        return self.number + len(self.owed) + 1

    def write(self, lines: Lines, meta: Body | None = None) -> None:
        """Write entries, all or none, and what the list of sessions shows.

        Raises:
            Conflict: another writer has written to this session.
            StoreError: the store cannot be written, and `on_failure` is `None`.
        """
        more = [line for line in lines if self.kinds is None or line[0] in self.kinds]
        if self.store is None:
            self.number = self._memory.append(more)
            return
        self._meta = self._meta if meta is None else meta
        if not more and not self.owed:
            return
        added = 0
        for _ in attempts():
            try:
                self._write(self.store, more)
            except Conflict:  # The caller reads the log, and makes these entries again.
                self.owed = self.owed[: len(self.owed) - added]
                raise
            except StoreError as error:
                if self.on_failure is None:
                    raise
                self.on_failure(error)
                self.owed, added, more = [*self.owed, *more], added + len(more), []
            else:
                return

    def unread(self) -> list[LogEntry]:
        """Return the entries that others have written since the last one known here."""
        return [] if self.store is None else self.store.entries(self.session, after=self.number)

    def forget_owed(self) -> None:
        """Forget unwritten entries that the caller will pass again; keep those with dropped texts."""
        self.owed = [line for line in self.owed if line[0] in _KEPT]

    def purged(self) -> SessionPurged:
        """Return the error for a log that was purged."""
        place = "" if self.store is None else self.store.url
        return SessionPurged(place, f"session {self.session!r} was purged: begin a new one")

    def _write(self, store: Store, lines: list[Line]) -> None:
        """Write the owed lines and then these, unless they are already stored."""
        if self._has_arrived(lines):
            return
        lines = [*self.owed, *lines]
        if lines:
            self._append(store, lines)
        self.owed = []

    def _append(self, store: Store, lines: list[Line]) -> None:
        try:
            self.number = store.append(self.session, lines, after=self.number, since=self.since, meta=self._meta)
            if self.since is None:
                row = store.session(self.session)
                self.since = None if row is None else row.created
        except (Conflict, InvalidValue):
            raise
        except BaseException as error:  # Whatever the error, it may have been written.
            self._unsure = lines
            if self.on_failure is not None or not isinstance(error, StoreError) or not self._has_arrived(lines):
                raise

    def _has_arrived(self, lines: list[Line]) -> bool:
        """Find out whether the last failed write was stored; return whether these lines are already in the log.

        Raises:
            Conflict: it was stored, and other lines are to be written now.
            StoreError: the store cannot be read.
        """
        if not self._unsure or self.store is None:
            return False
        unsure = self._unsure
        found = self.store.entries(self.session, after=self.number, limit=len(unsure))
        self._unsure = []
        if len(found) < len(unsure) or not all(map(_same, found, unsure)):
            return False
        if self.on_failure is not None and self.owed[: len(unsure)] == unsure:
            self.number, self.owed = found[-1].number, self.owed[len(unsure) :]
            return False
        if len(found) == len(lines) and all(map(_same, found, lines)):
            self.number = found[-1].number
            return True
        log = f"the log of session {self.session!r}"
        raise Conflict(self.store.url, log, expected=self.number, found=found[-1].number)


def _same(entry: LogEntry, line: Line) -> bool:
    return entry.kind == line[0] and encode_body("body", entry.body) == encode_body("body", line[1])
