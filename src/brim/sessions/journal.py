"""The log of a session in a store.

A session that is opened again begins at its last compaction, which holds the whole history as it was then, and applies
the entries since. So opening costs as much as the prompt holds, not as much as the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.history.compact.plan import Compacted
from brim.history.stable import HeldCut
from brim.sessions.context import held_from
from brim.sessions.counts import Counts
from brim.sessions.dropped_texts import DroppedTexts
from brim.sessions.settings import SessionSettings
from brim.sessions.state import Last
from brim.store.base import META, Body, LogEntry, Store

Lines = Sequence[tuple[str, Body]]


class Journal:
    """Writes to the log of one session; without a store it keeps only the dropped texts."""

    def __init__(self, store: Store | None, session: str, number: int = 0) -> None:
        self.store = store
        self.session = session
        self.number = number
        """The number of the last entry."""
        self.shelf = DroppedTexts(store, session)

    def write(self, lines: Lines, texts: Mapping[str, str] | None = None) -> None:
        """Write entries and dropped texts, all or none.

        Raises:
            Conflict: another process has written to this session.
            StoreError: the store cannot be written.
        """
        if self.store is not None and texts:
            noted = [*lines, ("note", {"kept": list(texts)})]
            with self.store.transaction():
                self.store.keep(self.session, texts)
                number = self.store.append(self.session, noted, after=self.number)
            self.number = number
        elif self.store is not None and lines:
            self.number = self.store.append(self.session, lines, after=self.number)
        self.shelf.put(texts or {})


@dataclass(slots=True)
class SavedSession:
    """A session as its log describes it."""

    settings: SessionSettings
    number: int = 0
    context: list[Any] = field(default_factory=list)
    """The messages at the last compaction."""
    messages: list[Any] = field(default_factory=list)
    """The messages since."""
    format: str | None = None
    """The format of the messages at the last compaction."""
    counts: Counts = field(default_factory=Counts)
    held: HeldCut | None = None
    compacted: Compacted | None = None
    last: Last | None = None
    calibration: Mapping[str, Any] | None = None
    """What was known of how the model counts when the history was last counted."""
    learnt: list[Body] = field(default_factory=list)
    """The usage entries since."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Texts that every prompt holds, by their handles."""
    about: Body = field(default_factory=dict)
    """What the store's list of sessions shows of it, beside its status."""

    def take(self, entry: LogEntry) -> None:
        """Apply one more entry."""
        kind, body = entry.kind, entry.body
        self.number = entry.number
        if kind == "message":
            self.messages.append(body.get("sent", body["message"]))
            self.counts.messages += 1
        elif kind == "compaction":
            self.context, self.messages, self.format, self.held = body["view"], [], format_in(body), None
            self.compacted = Compacted.from_dict(body["compacted"]) if body["compacted"] else None
            self.last, self.calibration, self.learnt = None, body["calibration"], []
        elif kind == "prompt":
            self.held = held_from(body["held"])
            self.last = Last(body["used"], body["units"], body["categories"], body.get("exact", True))
        elif kind == "usage":
            if body["calibration"] is not None:
                self.calibration, self.learnt, self.held = body["calibration"], [], None
            elif body["mix"] is not None:
                self.learnt.append(body)
            if self.last is not None and "units" in body:
                self.last = self.last._replace(units=body["units"])
        elif kind == META:
            self.about = {name: value for name, value in body.items() if name != "status"}
        if "settings" in body:
            self.settings = SessionSettings.from_dict(body["settings"])
        if "pins" in body:
            self.pins = dict.fromkeys(body["pins"], "")
        if "counts" in body:
            self.counts = Counts.from_dict(body["counts"])


def format_in(body: Body) -> str | None:
    """Return the format of the messages that an entry holds; version 0.1 wrote it as `shape`."""
    found: str | None = body["format"] if "format" in body else body["shape"]
    return found


def read(store: Store, session: str) -> SavedSession | None:
    """Return a session as its log describes it; `None` if there is none."""
    first = store.entries(session, limit=1)
    if not first or "settings" not in first[0].body:
        return None
    made = SavedSession(SessionSettings.from_dict(first[0].body["settings"]), calibration=first[0].body["calibration"])
    compactions = store.entries(session, kinds=["compaction"])
    start = made.number = compactions[-1].number - 1 if compactions else 1
    for entry in store.entries(session, after=start):
        made.take(entry)
    made.pins = {name: text for name in made.pins if (text := store.text(name)) is not None}
    return made
