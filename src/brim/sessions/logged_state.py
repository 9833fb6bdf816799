"""The state of a session and its log: they change together, or not at all.

A step is made on a copy of the state and written; only then it replaces the state. If another writer was faster, what
it wrote is taken over and the step is made again: a pin of the studio, a message of another process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from brim.amounts import units
from brim.errors import Conflict, SessionPurged, StoreError
from brim.sessions import compaction
from brim.sessions.compaction import Summariser
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.initial_state import restored_state
from brim.sessions.journal import Journal, Lines, read
from brim.sessions.log_value import storable
from brim.sessions.memory_log import Line
from brim.sessions.notices import Notifier
from brim.sessions.prompt_step import PromptStep, compaction_entry
from brim.sessions.result_limit import bounded
from brim.sessions.state import SessionState
from brim.store.base import LogEntry
from brim.store.texts import DROPPED, SHOWN, entry_handle
from brim.wire import format_of, wire

_TRIES = 50
"""How often a step is made again because another writer was faster."""
_TRIES_ALONE = 5
"""How often, if other writers can be made to wait then: not if the step may call a model."""
_FREED = 64
"""Objects of a context that was replaced that are freed for each message that comes, and once more."""
ANOTHER_MODEL = "another model"
"""Why a history begins anew in the log: it is counted for another model from here on."""

T = TypeVar("T")


class LoggedState:
    """The part of a session that writes its log and follows it."""

    def _set_up(
        self,
        journal: Journal,
        state: SessionState,
        notifier: Notifier,
        summarise: Summariser | None,
        *,
        capture: bool,
        meter: Any,
    ) -> None:
        """Take what a new session and an opened one have in common."""
        self.id = journal.session
        """Its name in the store."""
        self.about: dict[str, Any] = {"kind": "session"}
        """What the store's list of sessions shows of it, beside its status."""
        self.sole_writer = False
        """Whether messages of another writer are a `Conflict`, instead of being taken over: for a caller that has a
        state of its own beside the log, as loops and conversations do. Pins are taken over in any case."""
        self.fixed_units = 0
        """Tokens of the newest prompt besides its messages and memory: system prompt, tools, other fields, and what
        starts the reply."""
        self._journal, self._state, self._notifier = journal, state, notifier
        self._remains: list[Any] = []
        """What is left of a context that was replaced. To free thousands of messages at once takes too long."""
        self._summarise, self._capture, self._meter = compaction.checked(summarise), capture, meter

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied, since two of them would write one log: pass its id,"
            f" and open it there with {type(self).__name__}.open(id, store=...)"
        )

    def meta(self, state: SessionState | None = None) -> dict[str, Any]:
        """Return what the store's list of sessions shows of it."""
        state = state or self._state
        return {**self.about, "status": state.status(self.id).to_dict(), "counts": state.counts.to_dict()}

    def tolerate(self, on_failure: Callable[[StoreError], object]) -> None:
        """Go on while the store fails: failures are passed on, and what was not written is written later."""
        self._journal.on_failure = on_failure

    def reload(self) -> None:
        """Read the log again, and continue as it says.

        Raises:
            SessionPurged: there is no log any more.
            StoreError: the store cannot be read.
        """
        journal, before = self._journal, self._state
        if journal.store is None:
            return
        saved = read(journal.store, self.id)
        if saved is None:
            raise journal.purged()
        own = _pool(before.context.messages)
        saved.context, saved.messages = (_own(raws, own) for raws in (saved.context, saved.messages))
        self._state = restored_state(saved, self._meter)
        self._state.model_meter.sent = before.model_meter.sent
        journal.number = saved.number

    def refresh(self) -> None:
        """Take over what others have written to its log.

        Raises:
            StoreError: the store cannot be read.
        """
        if self._journal.unread():
            self._take_over()

    def forget_owed(self) -> None:
        """Drop entries that could not be written yet, for a caller that brings them again; dropped texts stay."""
        self._journal.forget_owed()

    def _work(self, parts: FixedParts, query: str | None = None, most: int | None = None) -> PromptStep:
        """Return a step on a copy of the state."""
        state = self._state.copy()
        if most is not None:
            units("budget", most)
        asked = {"summarise": self._summarise, "capture": self._capture, "query": query, "most": most}
        return PromptStep(state=state, parts=parts, logged=self._journal.store is not None, **asked)

    def _agreed(self, step: Callable[[], T]) -> T:
        """Return what a step returns, which is made again if another writer was faster.

        Raises:
            Conflict: other writers were faster each time, or wrote messages where this must be the only writer.
        """
        alone = not self.sole_writer and self._summarise is None
        for _ in range(_TRIES_ALONE if alone else _TRIES):
            context = self._state.context
            before = context.checkpoint()
            try:
                return step()
            except Conflict:
                context.rewind(before)
                self._take_over()
            except BaseException:  # Whatever ended it, its prompt was not sent.
                context.rewind(before)
                raise
        return self._alone(step) if alone else step()

    def _alone(self, step: Callable[[], T]) -> T:
        """Return what a step returns that is made while other writers of the session wait.

        One that writes all the time would be faster than this one each time.
        """
        journal, state = self._journal, self._state
        assert journal.store is not None
        number = journal.number
        try:
            with journal.store.transaction():
                journal.store.append(self.id, [("note", {})])  # From here on they wait.
                self.reload()
                return step()
        except BaseException:  # What was written is rolled back, and so is what follows from it.
            self._state, journal.number = state, number
            raise

    def _take_over(self) -> None:
        """Take over what another writer has written.

        Raises:
            Conflict: it wrote messages, and this must be the only writer.
            SessionPurged: it purged the session.
            StoreError: the store cannot be read, and its failures are not tolerated.
        """
        journal = self._journal
        try:
            entries = journal.unread()
            if entries and not any(map(_shapes, entries)):
                self._take_notes(entries)
                return
            if not entries and journal.store is not None and journal.store.session(self.id) is None:
                raise journal.purged()
            if self.sole_writer and journal.store is not None:
                log, last = f"the log of session {self.id!r}", entries[-1].number if entries else 0
                raise Conflict(journal.store.url, log, expected=journal.number, found=last)
            self.reload()
        except (Conflict, SessionPurged):
            raise
        except StoreError as error:
            if journal.on_failure is None:
                raise
            journal.on_failure(error)

    def _take_notes(self, entries: Sequence[LogEntry]) -> None:
        """Take over pins, which are all that such entries change."""
        pins = [entry.body["pins"] for entry in entries if "pins" in entry.body]
        if pins:
            self._state.pins = pins[-1]
        self._journal.number = entries[-1].number

    def _add(self, given: list[Any], also: Lines = (), marks: Mapping[str, str] = MappingProxyType({})) -> None:
        """Add messages at the end, with `marks` in their entries."""
        state = self._state
        del self._remains[-_FREED * (len(given) + 1) :]
        had = len(state.context.messages)
        format = wire(state.settings.format or format_of(given) or state.context.history.turns.wire.name)
        cap = state.settings.longest_result
        cut = [bounded(raw, had + i, format, cap, state.model_meter.meter) for i, raw in enumerate(given)]
        lines: list[Line] = []
        copied = storable if self._journal.store is not None else lambda raw: raw
        for raw, (sent, _) in zip(given, cut, strict=True):
            body = {"message": copied(raw), **marks}
            lines.append(("message", body if sent is raw else {**body, "sent": copied(sent)}))
        whole = [entry_handle(*line)[:SHOWN] for line in lines if "sent" in line[1]]
        results: list[Line] = [(DROPPED, {"results": whole})] if whole else []
        state.context.extend([sent for sent, _ in cut])
        state.context.categories()
        state.counts.messages += len(given)
        try:
            if self._summarise is None:
                state.context.ahead.run(len(given), state.budget)
            first = self._write([*lines, *results, *also])
            if first is not None:
                state.context.numbers |= {had + i: first + i for i in range(len(given))}
        except BaseException:  # Whatever ended it, what was not written is not there.
            state.counts.messages -= len(given)
            state.context = state.context.shortened(had)
            raise

    def _done(self, work: PromptStep) -> None:
        """Write what a step has gathered, take over its state, and emit its events."""
        self._write([*work.lines, *work.dropped], work.state)
        if work.state.context is not self._state.context:
            self._remains = self._state.context.remains()
        self._state = work.state
        work.state.context.kept()
        self._notifier.emit(work.events)

    def _write_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        """Write settings that were changed; `model` is the one before them.

        If another writer was faster, its log has been taken over, with the settings before.
        """
        journal = self._journal
        assert journal.store is not None
        if self._state.settings.changed(settings) != self._state.settings:
            saved = read(journal.store, self.id)
            assert saved is not None
            saved.change(settings, journal.store)
            self._state, journal.number = restored_state(saved, self._meter), saved.number
        state = self._state
        if state.settings.model == model:
            self._write([("note", {"settings": state.settings.to_dict()})])
        else:
            self._write([("compaction", compaction_entry(state, ANOTHER_MODEL))])

    def _write(self, lines: Lines, state: SessionState | None = None) -> int | None:
        """Write entries, and the status that goes with them; return the number of the first if they are written."""
        return self._journal.write(lines, None if self._journal.store is None else self.meta(state))


def _shapes(entry: LogEntry) -> bool:
    """Return whether an entry changes what the next prompt is made of, beside its pins."""
    return entry.kind != "note" or not entry.body.keys() <= {"pins"}


def _pool(raws: Sequence[Any]) -> dict[str, list[Any]]:
    """Return messages by what they say."""
    found: dict[str, list[Any]] = {}
    for raw in reversed(raws):
        found.setdefault(_key(raw), []).append(raw)
    return found


def _own(raws: Sequence[Any], pool: dict[str, list[Any]]) -> list[Any]:
    """Return messages of a log, the caller's own objects in place of their equals."""
    return [same.pop() if (same := pool.get(_key(raw))) else raw for raw in raws]


def _key(raw: Any) -> str:
    return json.dumps(storable(raw), sort_keys=True, default=repr)
