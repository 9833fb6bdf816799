"""The log of a session in a store.

A session that is opened again begins at its last compaction, which holds the whole history as it was then, and applies
the entries since. So opening costs as much as the prompt holds, not as much as the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from brim.errors import Conflict, InvalidValue, StoreError
from brim.history.compact.plan import Compacted
from brim.sessions.ahead_log import AHEAD, AheadLog, DroppedTurns
from brim.sessions.counts import Counts
from brim.sessions.cut_record import Record, whole_record
from brim.sessions.dropped_texts import DroppedTexts
from brim.sessions.model_meter import load_calibration
from brim.sessions.read_ahead import Repeating
from brim.sessions.settings import SessionSettings
from brim.sessions.state import Last
from brim.store.base import META, Body, LogEntry, RepeatedText, Store
from brim.store.body import encode_body
from brim.wire import Format, format_of

Lines = Sequence[tuple[str, Body]]

_NONE: Repeating = MappingProxyType({})

_TRIES = 2
"""How often a write that failed is tried again at once, if failures of the store are not raised."""
_PATIENCE = 1.0
"""Seconds after which it is not: a store that is locked has kept the request waiting already."""


class Journal:
    """Writes to the log of one session; without a store it keeps only the dropped texts.

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
        self.shelf = DroppedTexts(store, session)
        self.on_failure = on_failure
        self.owed: list[tuple[str, Body]] = []
        """Entries that could not be written yet."""
        self._unsure: list[tuple[str, Body]] = []
        """Entries of a write that failed, of which it is not known whether they were written."""

    def write(
        self,
        lines: Lines,
        texts: Mapping[str, str] | None = None,
        ahead: Mapping[str, str] | None = None,
        turns: DroppedTurns | None = None,
        repeating: Repeating | None = None,
    ) -> bool:
        """Write entries and dropped texts, all or none.

        What was read ahead may differ if a write is tried again, so it is not compared then.

        Args:
            lines: the entries.
            texts: texts that were dropped, by their handles.
            ahead: texts that may be dropped later.
            turns: turns that were dropped, whose texts were written ahead.
            repeating: the numbers of the entries that a text repeats, by its handle.

        Returns:
            whether what was read ahead is written; not if the entries have arrived with an earlier try, or the store
            has failed.

        Raises:
            Conflict: another writer has written to this session.
            StoreError: the store cannot be written, and `on_failure` is `None`.
        """
        texts = texts or {}
        fresh = {**(ahead or {}), **texts}
        if self.store is None:
            self.shelf.put(fresh)
            return True
        more = list(lines)
        if texts or (turns is not None and turns.names):
            more.append(("note", {"kept": list(texts), **(_dropped(turns) if turns is not None else {})}))
        if not more and not self.owed:
            return True
        until = time.monotonic() + _PATIENCE
        try:
            written = self._write(self.store, more, fresh, repeating or {})
            self.shelf.note(texts, turns)
        except Conflict:
            raise
        except StoreError as error:
            if self.on_failure is None:
                raise
            self.on_failure(error)
            self.owed = [*self.owed, *more]
            self.shelf.owe(fresh)
            self._write_owed(self.store, self.on_failure, until)
            return False
        return written

    def _write_owed(self, store: Store, on_failure: Callable[[StoreError], object], until: float) -> None:
        """Try again at once, so that little is owed if another process takes the session over, or this one ends."""
        for _ in range(_TRIES):
            if not self.owed or time.monotonic() > until:
                return
            try:
                self._write(store, [], {})
            except Conflict:
                return  # The next write meets it too, and its caller reads the log then.
            except StoreError as error:
                on_failure(error)

    def append(self, lines: Lines, texts: Mapping[str, str] | None = None) -> None:
        """Write as `write` does, after whatever others have written."""
        while True:
            try:
                self.write(lines, texts)
            except Conflict as error:
                self.number = error.found
            else:
                return

    def unread(self) -> list[LogEntry]:
        """Return the entries that others have written since the last one that is known here."""
        return [] if self.store is None else self.store.entries(self.session, after=self.number)

    def _write(
        self, store: Store, lines: list[tuple[str, Body]], texts: Mapping[str, str], repeating: Repeating = _NONE
    ) -> bool:
        """Write lines and texts after those that could not be written yet; return whether they had not arrived."""
        if self._settled(lines):
            self.shelf.put(texts)
            return False
        lines, texts = [*self.owed, *lines], {**self.shelf.owed, **texts}
        if lines:
            self._append(store, lines, texts, repeating)
        self.owed = []
        self.shelf.put(texts)
        return True

    def _append(
        self, store: Store, lines: list[tuple[str, Body]], texts: Mapping[str, str], repeating: Repeating
    ) -> None:
        try:
            if texts:
                with store.transaction():
                    number = store.append(self.session, lines, after=self.number)
                    store.keep(self.session, texts, repeating=repeating)
            else:
                number = store.append(self.session, lines, after=self.number)
            self.number = number
        except (Conflict, InvalidValue):
            raise
        except BaseException as error:  # Whatever ended it, it may have been written.
            self._unsure = lines
            if self.on_failure is not None or not isinstance(error, StoreError) or not self._settled(lines):
                raise

    def _settled(self, lines: list[tuple[str, Body]]) -> bool:
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
        told = [entry for entry in found if entry.kind != AHEAD]
        again = [line for line in lines if line[0] != AHEAD]
        if len(told) == len(again) and all(map(_same, told, again)):
            self.number = found[-1].number
            return True
        log = f"the log of session {self.session!r}"
        raise Conflict(self.store.url, log, expected=self.number, found=found[-1].number)


def _dropped(turns: DroppedTurns) -> dict[str, Any]:
    """Return the fields of a note that name turns whose texts were written ahead."""
    fields = {"kept_turns": turns.chosen if turns.chosen[1] else None, "dropped": turns.numbers}
    return {name: value for name, value in fields.items() if value}


def _same(entry: LogEntry, line: tuple[str, Body]) -> bool:
    if entry.kind == line[0] == META and not entry.body:
        return True  # There is a newer one by now.
    return entry.kind == line[0] and encode_body("body", entry.body) == encode_body("body", line[1])


@dataclass(slots=True)
class SavedSession:
    """A session as its log describes it."""

    settings: SessionSettings
    number: int = 0
    context: list[Any] = field(default_factory=list)
    """The messages at the last compaction."""
    added: list[LogEntry] = field(default_factory=list)
    """The entries of the messages since."""
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
    ahead: AheadLog = field(default_factory=AheadLog)
    """What the log has of messages that were read ahead."""
    repeats: Sequence[RepeatedText] = ()
    """The texts that the store has of messages since the last compaction."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Texts that every prompt holds, by their handles."""
    about: Body = field(default_factory=dict)
    """What the store's list of sessions shows of it, beside its status."""
    _messages: list[Any] | None = None

    @property
    def messages(self) -> list[Any]:
        """The messages since the last compaction; they are decoded when this is first asked for."""
        if self._messages is None:
            self._messages = [entry.body.get("sent", entry.body["message"]) for entry in self.added]
        return self._messages

    @messages.setter
    def messages(self, own: list[Any]) -> None:
        self._messages = own

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
            self.added.append(entry)
            self.counts.messages += 1
            return  # It has nothing of what follows, and most entries are messages.
        if kind == "compaction":
            self.context, self.added, self.format, self.cut = body["view"], [], format_in(body), None
            self.compacted = Compacted.from_dict(body["compacted"]) if body["compacted"] else None
            self.last, self.calibration, self.learnt = None, body["calibration"], []
            self.ahead = AheadLog()
        elif kind == AHEAD:
            self.ahead.take(body)
        elif kind == "prompt":
            self.cut = whole_record(body["held"], self.cut, self.ahead.forms)
            self.last = Last(body["used"], body["units"], body["categories"], body.get("exact", True))
        elif kind == "usage":
            if body["calibration"] is not None:
                self.calibration, self.learnt = body["calibration"], []
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


def read(store: Store, session: str, more: Lines = ()) -> SavedSession | None:
    """Return a session as its log describes it, with entries that are not written yet; `None` if there is none."""
    first = store.entries(session, limit=1)
    if not first or "settings" not in first[0].body:
        return None
    made = SavedSession(SessionSettings.from_dict(first[0].body["settings"]), calibration=first[0].body["calibration"])
    compactions = store.entries(session, kinds=["compaction"], limit=1, newest=True)
    start = made.number = compactions[0].number if compactions else 1
    for entry in [*compactions, *store.entries(session, after=start, later=["message"])]:  # The longest is read once.
        made.take(entry)
    number = made.number
    for at, (kind, body) in enumerate(more, start=number + 1):
        made.take(LogEntry(session, at, kind, 0.0, body))
    made.number = number
    made.repeats = store.repeats(session, after=start)
    made.pins = DroppedTexts(store, session).texts(made.pins)
    return made
