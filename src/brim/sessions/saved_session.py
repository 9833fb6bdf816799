"""Reads a session from its log.

It starts at the last compaction, whose entry contains the history at that time, and applies later entries. So the cost
of opening a session depends on the size of its prompt, not of its log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from brim.errors import InvalidValue, StoreError
from brim.history.compact.plan import Compacted
from brim.history.stable import LastFit
from brim.sessions.context import Context
from brim.sessions.log.cut_record import KIND as CUT
from brim.sessions.log.cut_record import Record, changed, cut_from, grown
from brim.sessions.settings import SessionSettings
from brim.sessions.state import Counts, LastPrompt, SessionState, lines_of, meter_of
from brim.store.base import Body, LogEntry, SessionRow
from brim.store.store import Store
from brim.store.texts import sent_message
from brim.store.values import interpreting
from brim.wire import Format, format_of


@dataclass(slots=True)
class SavedSession:
    """A session as its log describes it."""

    id: str
    place: str
    """The address of its store."""
    settings: SessionSettings
    number: int = 0
    created: float | None = None
    """When it was created."""
    context: list[Any] = field(default_factory=list)
    """The messages at the last compaction."""
    messages: list[Any] = field(default_factory=list)
    """The messages added since then."""
    added: list[int] = field(default_factory=list)
    """The numbers of their entries."""
    format: str | None = None
    """The format of the messages at the last compaction."""
    counts: Counts = field(default_factory=Counts)
    cut: Record | None = None
    """The kept cut."""
    compacted: Compacted | None = None
    last: LastPrompt | None = None
    numbers: Mapping[int, int] = field(default_factory=dict)
    """The entries of the messages at the last compaction, by index, where known."""
    about: Body = field(default_factory=dict)
    """What the store's list of sessions shows in addition to the status."""

    def state(self, meter: Any) -> SessionState:
        """Return the state that the log describes.

        Raises:
            InvalidType: the session was created with a caller's own meter, and none is passed.
            StoreError: a message or a cut in the log is damaged.
        """
        settings, lines = self.settings, lines_of(self.settings)
        scale = meter_of(settings, meter)
        format, summary = settings.format or self.format, self.compacted.marked if self.compacted is not None else None
        with interpreting(self.place, self.id):
            context = Context(scale, self.context, format=format, summary=summary)
            context.extend(self.messages)
            context.numbers = {**self.numbers, **dict(enumerate(self.added, start=len(self.context)))}
            held = cut_from(self.cut, context.history.turns) if lines is not None else None
        return SessionState(
            settings=settings,
            context=context,
            meter=scale,
            counts=self.counts,
            compacted=self.compacted,
            last=self.last,
            last_fit=LastFit(None if lines is None else replace(lines, held=held)),
            logged_cut=held,
        )

    def change(self, settings: Mapping[str, Any]) -> None:
        """Change settings; if the model changes, the cut, the last prompt and the usage are dropped.

        Raises:
            InvalidValue: a setting is invalid.
            UnknownName: there is no such model.
        """
        before, self.settings = self.settings, self.settings.changed(settings)
        self._take_format(settings.get("format"))
        if self.settings.model != before.model:
            self.cut, self.last, self.counts.measured = None, None, ()

    def _take_format(self, given: Format | None) -> None:
        """Set the format, unless the session has messages in another one."""
        if given is None:
            return
        known = self.settings.format or self.format or format_of([*self.context, *self.messages])
        if known is None:
            self.settings = replace(self.settings, format=given)
        elif known != given:
            expected = f"{known!r}, the format of the session, or omitted; for another format, create a new session"
            raise InvalidValue("format", given, expected)

    def take(self, entry: LogEntry) -> None:
        """Apply one more entry."""
        kind, body = entry.kind, entry.body
        self.number = entry.number
        if kind == "message":
            self.messages.append(sent_message(body))
            self.added.append(entry.number)
            return  # Most entries are messages, and nothing below applies to them.
        if kind == "compaction":
            self.context, self.messages, self.added = body["view"], [], []
            self.format, self.cut = body["format"], None
            self.numbers = {int(at): number for at, number in body["numbers"].items()}
            self.compacted = Compacted.from_dict(body["compacted"]) if body["compacted"] else None
            self.last = None
        elif kind == CUT:
            self.cut = changed(self.cut, body)
        elif kind == "prompt":
            length = body.get("held")
            self.cut = None if length is None or self.cut is None else grown(self.cut, length)
            counted = body["used"] - body.get("correction", 0)
            self.last = LastPrompt(counted, body["units"], body["categories"], body.get("exact", True))
        elif kind == "note" and self.last is not None and "units" in body:
            self.last = self.last._replace(units=body["units"])
        if "settings" in body:
            self.settings = SessionSettings.from_dict(body["settings"])


def read(store: Store, session: str) -> SavedSession | None:
    """Return a session as its log describes it; `None` if there is none.

    Raises:
        InvalidValue: the log was not written by a session.
        StoreError: the log is damaged.
    """
    before: SessionRow | None = None
    while True:
        row, first = store.session(session), store.entries(session, limit=1)
        if row is None or not row.entries:
            return None
        if first and "settings" not in first[0].body:
            raise InvalidValue("id", session, "the id of a session: this log was not written by one")
        with interpreting(store.url, session):
            made = _read(store, row, first)
        if made is not None:
            return made
        if row == before:
            problem = f"entries of session {session!r} are missing, up to number {row.entries:,}"
            raise StoreError(store.url, f"{problem}: the file is damaged")
        before = row


def _read(store: Store, row: SessionRow, first: Sequence[LogEntry]) -> SavedSession | None:
    """Return a session up to the last entry of its row; `None` if another writer has compacted or purged it since."""
    if not first:
        return None
    made = SavedSession(
        row.id,
        store.url,
        SessionSettings.from_dict(first[0].body["settings"]),
        created=row.created,
        counts=Counts.from_dict(row.meta.get("counts", {})),
        about={name: value for name, value in row.meta.items() if name not in ("status", "counts")},
    )
    compactions = store.entries(row.id, kinds=["compaction"], limit=1, newest=True)
    start = made.number = compactions[0].number if compactions else 1
    for entry in [*compactions, *store.entries(row.id, after=start)]:  # The longest is read once.
        if entry.number > row.entries:  # Later ones are not in the counts of the row.
            break
        if entry.number > made.number + 1:
            return None
        made.take(entry)
    return made if made.number == row.entries else None
