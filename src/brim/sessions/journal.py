"""The log of a session in a store.

A session that is opened again begins at its last compaction, which holds the whole history as it was then, and applies
the entries since. So opening costs as much as the prompt holds, not as much as the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from brim.errors import Conflict, InvalidValue, SessionPurged, StoreError
from brim.history.compact.plan import Compacted
from brim.sessions.counts import Counts
from brim.sessions.cut_record import Record, whole_record
from brim.sessions.dropped_texts import DroppedTexts
from brim.sessions.memory_log import Line, MemoryLog
from brim.sessions.model_meter import load_calibration
from brim.sessions.settings import SessionSettings
from brim.sessions.state import Last
from brim.store.base import Body, LogEntry, Store
from brim.store.texts import DROPPED, sent_message
from brim.store.values import encode_body
from brim.wire import Format, format_of

Lines = Sequence[Line]

_TRIES = 2
"""How often a write that failed is tried again at once, if failures of the store are not raised."""
_PATIENCE = 1.0
"""Seconds after which it is not: a store that is locked has kept the request waiting already."""
_KEPT = ("turn", "text", DROPPED)
"""The kinds of entries that hold what was dropped."""


class Journal:
    """Writes to the log of one session; without a store the log is in memory.

    A write that failed may still have arrived: the store is asked, and if it does not answer, it is asked again before
    the next write. So nothing is written twice, and nothing that was written counts as failed.
    """

    def __init__(
        self,
        store: Store | None,
        session: str,
        number: int = 0,
        on_failure: Callable[[StoreError], object] | None = None,
    ) -> None:
        """Begin.

        Args:
            store: where the log is.
            session: its name there.
            number: the number of its last entry.
            on_failure: called with each failure of the store, which is not raised then: what could not be written is
                tried again at once, and then written with the next entries.
        """
        self.store = store
        self.session = session
        self.number = number
        """The number of the last entry."""
        self.on_failure = on_failure
        self.owed: list[Line] = []
        """Entries that could not be written yet."""
        self._unsure: list[Line] = []
        """Entries of a write that failed, of which it is not known whether they were written."""
        self._meta: Body | None = None
        """What the list of sessions is to show, as last passed to `write`."""
        self._memory = MemoryLog()
        self.dropped = DroppedTexts(store, session, lambda: MemoryLog(self.owed) if store else self._memory)

    def write(self, lines: Lines, meta: Body | None = None) -> int | None:
        """Write entries, all or none, and what the list of sessions shows.

        Returns:
            the number of the first of the entries; `None` if the store has failed, and they are written later.

        Raises:
            Conflict: another writer has written to this session.
            StoreError: the store cannot be written, and `on_failure` is `None`.
        """
        more = list(lines)
        if self.store is None:
            first = len(self._memory.lines) + 1
            self.number = self._memory.add(more)
            return first
        self._meta = self._meta if meta is None else meta
        if not more and not self.owed:
            return self.number + 1
        until = time.monotonic() + _PATIENCE
        try:
            self._write(self.store, more)
        except Conflict:
            raise
        except StoreError as error:
            if self.on_failure is None:
                raise
            self.on_failure(error)
            self.owed = [*self.owed, *more]
            self._write_owed(self.store, self.on_failure, until)
            return None
        return self.number - len(more) + 1

    def _write_owed(self, store: Store, on_failure: Callable[[StoreError], object], until: float) -> None:
        """Try again at once, so that little is owed if another process takes the session over, or this one ends."""
        for _ in range(_TRIES):
            if not self.owed or time.monotonic() > until:
                return
            try:
                self._write(store, [])
            except Conflict:
                return  # The next write meets it too, and its caller reads the log then.
            except StoreError as error:
                on_failure(error)

    def append(self, lines: Lines, meta: Body | None = None) -> None:
        """Write as `write` does, after whatever others have written."""
        while True:
            try:
                self.write(lines, meta)
            except Conflict as error:
                self.number = error.found
            else:
                return

    def unread(self) -> list[LogEntry]:
        """Return the entries that others have written since the last one that is known here."""
        return [] if self.store is None else self.store.entries(self.session, after=self.number)

    def forget_owed(self) -> None:
        """Drop entries that could not be written yet, for a caller that brings them again; dropped texts stay."""
        self.owed = [line for line in self.owed if line[0] in _KEPT]

    def purged(self) -> SessionPurged:
        """Return the error of a log that is gone."""
        place = "" if self.store is None else self.store.url
        return SessionPurged(place, f"session {self.session!r} was purged: begin a new one")

    def _write(self, store: Store, lines: list[Line]) -> None:
        """Write lines after those that could not be written yet, unless they have arrived."""
        if self._settled(lines):
            return
        lines = [*self.owed, *lines]
        if lines:
            self._append(store, lines)
        self.owed = []

    def _append(self, store: Store, lines: list[Line]) -> None:
        try:
            self.number = store.append(self.session, lines, after=self.number, meta=self._meta)
        except (Conflict, InvalidValue):
            raise
        except BaseException as error:  # Whatever ended it, it may have been written.
            self._unsure = lines
            if self.on_failure is not None or not isinstance(error, StoreError) or not self._settled(lines):
                raise

    def _settled(self, lines: list[Line]) -> bool:
        """Find out whether the last write that failed has arrived; return whether these lines need not be written.

        Raises:
            Conflict: it has arrived, and other lines are to be written now.
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


@dataclass(slots=True)
class SavedSession:
    """A session as its log describes it."""

    settings: SessionSettings
    number: int = 0
    context: list[Any] = field(default_factory=list)
    """The messages at the last compaction."""
    messages: list[Any] = field(default_factory=list)
    """The messages since."""
    added: list[int] = field(default_factory=list)
    """The numbers of their entries."""
    format: str | None = None
    """The format of the messages at the last compaction."""
    counts: Counts = field(default_factory=Counts)
    cut: Record | None = None
    """The cut that is held."""
    compacted: Compacted | None = None
    last: Last | None = None
    calibration: Mapping[str, Any] | None = None
    """What was known of how the model counts when the history was last counted."""
    learnt: list[Body] = field(default_factory=list)
    """The usage entries since."""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """The numbers of the entries of messages at the last compaction, by their indexes, where known."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Texts that every prompt holds, by their handles."""
    about: Body = field(default_factory=dict)
    """What the store's list of sessions shows of it, beside its status."""

    def numbered(self) -> dict[int, int]:
        """Return the numbers of the entries of messages by their indexes, where known."""
        return {**self.numbers, **dict(enumerate(self.added, start=len(self.context)))}

    def change(self, settings: Mapping[str, Any], store: Store) -> None:
        """Take other settings; what was counted for another model is forgotten: the held cut, the last prompt, usage.

        Raises:
            InvalidValue: a setting is invalid.
            UnknownName: there is no such model.
        """
        before, self.settings = self.settings, self.settings.changed(settings)
        self._take_format(settings.get("format"))
        if self.settings.model != before.model:
            known = load_calibration(store, self.settings.model)
            self.cut, self.last, self.learnt = None, None, []
            self.calibration = None if known is None else known.to_dict()

    def _take_format(self, given: Format | None) -> None:
        """Take a format, unless the messages that the session has are in another."""
        if given is None:
            return
        known = self.settings.format or self.format or format_of([*self.context, *self.messages])
        if known is None:
            self.settings = replace(self.settings, format=given)
        elif known != given:
            raise InvalidValue("format", given, f"{known!r}, as the session has it, or omitted; another takes a new id")

    def take(self, entry: LogEntry) -> None:
        """Apply one more entry."""
        kind, body = entry.kind, entry.body
        self.number = entry.number
        if kind == "message":
            self.messages.append(sent_message(body))
            self.added.append(entry.number)
            return  # It has nothing of what follows, and most entries are messages.
        if kind == "compaction":
            self.context, self.messages, self.added = body["view"], [], []
            self.format, self.cut = body["format"], None
            self.numbers = {int(at): number for at, number in body["numbers"].items()}
            self.compacted = Compacted.from_dict(body["compacted"]) if body["compacted"] else None
            self.last, self.calibration, self.learnt = None, body["calibration"], []
        elif kind == "prompt":
            self.cut = whole_record(body.get("held"), self.cut)
            self.last = Last(body["used"], body["units"], body["categories"], body.get("exact", True))
        elif kind == "usage":
            if "calibration" in body:
                self.calibration, self.learnt = body["calibration"], []
            elif "mix" in body:
                self.learnt.append(body)
            if self.last is not None and "units" in body:
                self.last = self.last._replace(units=body["units"])
        if "settings" in body:
            self.settings = SessionSettings.from_dict(body["settings"])
        if "pins" in body:
            self.pins = body["pins"]


def read(store: Store, session: str) -> SavedSession | None:
    """Return a session as its log describes it; `None` if there is none.

    Raises:
        InvalidValue: it is a log that no session wrote.
    """
    while True:
        row, first = store.session(session), store.entries(session, limit=1)
        if row is None or not first:
            return None
        if "settings" not in first[0].body:
            raise InvalidValue("id", session, "that of a session: the log of this name was not written by one")
        made = SavedSession(
            SessionSettings.from_dict(first[0].body["settings"]),
            calibration=first[0].body["calibration"],
            counts=Counts.from_dict(row.meta.get("counts", {})),
            about={name: value for name, value in row.meta.items() if name not in ("status", "counts")},
        )
        compactions = store.entries(session, kinds=["compaction"], limit=1, newest=True)
        start = made.number = compactions[0].number if compactions else 1
        for entry in [*compactions, *store.entries(session, after=start)]:  # The longest is read once.
            if entry.number <= row.entries:  # Others came since the row was read; its counts are without them.
                made.take(entry)
        if made.number == row.entries:  # If not, another writer has compacted or purged it since.
            return made
