"""A conversation over time: an append-only log, and the prompt that is built from it before each call.

Each prompt is counted whole: system prompt, history, memory, tool results. At the warning line, the session warns;
above its compaction line, it shortens or summarises older turns. The prompt always fits. With a store, a change is
durable before its method returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeVar, Unpack
from uuid import uuid4

from brim.amounts import units
from brim.errors import Conflict, InvalidValue, SessionPurged, StoreError, UnknownName
from brim.history.compact.plan import CompactionPlan, apply
from brim.history.history import Tools
from brim.history.result import Fitted
from brim.history.stable import LastFit
from brim.history.turns import copied
from brim.meter import BaseMeter, Meter
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions import compaction
from brim.sessions.compaction import Summariser
from brim.sessions.fixed_parts import FixedParts, Memory
from brim.sessions.learning.usage import ReportedUsage, reported
from brim.sessions.log import cut_record
from brim.sessions.log.journal import Journal, Lines
from brim.sessions.notices import Notifier
from brim.sessions.process_lock import ProcessLock
from brim.sessions.recall_tool import Recall
from brim.sessions.saved_session import SavedSession, read
from brim.sessions.session_step import PromptLimit, SessionStep
from brim.sessions.settings import OpenOptions, SessionOptions, SessionSettings, check_options
from brim.sessions.state import Counts, SessionState, lines_of
from brim.sessions.status import Status
from brim.sessions.store_owner import StoreOwner
from brim.store import Store, opened_store
from brim.wire.overflow import Overflow

T = TypeVar("T")

_CUTS = (cut_record.KIND, "prompt")
"""The kinds of entries in a log without messages."""
_TRIES = 20
"""Attempts to write a change while other writers are faster."""

Given = Meter | str | Callable[[str], int] | None


class SessionExists(InvalidValue):
    """The store already has a session with this id."""


class Session(Recall, StoreOwner):
    """A conversation that can be stored. A `with` block closes it.

    Threads may share it: it makes one change at a time. A forked child opens its own. Every call that reads or writes
    the store raises `StoreError` if the store fails, in which case nothing has changed.
    """

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        model: str | None = None,
        meter: Given = None,
        store: Store | str | None = None,
        id: str | None = None,
        summarise: Summariser | None = None,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        also: Lines = (),
        log: bool = True,
        **options: Unpack[SessionOptions],
    ) -> None:
        """Create a session.

        Args:
            window: the context window and how much of it a prompt may use; by default the window of `model`.
            model: the model that is called.
            meter: the meter, or its name; by default the meter of the model.
            store: the store that keeps everything, or its URL. Without a store, the session is kept in memory, where it
                keeps growing.
            id: its name in the store; by default a random one.
            summarise: a function from a text and a limit to a summary, a model, or `extract`; without it, older turns
                are shortened in place.
            observers: receive events, in addition to the observers of the process.
            on_notice: called with a notice for the user, once for each compaction.
            also: the caller's own entries, written at the start of the log.
            log: whether its messages are logged. If not, for a caller that passes the whole history each time, only
                cuts and dropped texts are, and an existing session is continued.
            options: how it keeps within its window: see `SessionOptions`.

        Raises:
            InvalidValue: an argument is invalid, or the store has a session of this id.
            UnknownName: there is no such model or meter.
        """
        check_options(options, SessionOptions)
        kept, self._owned = opened_store(store)
        state = SessionState.new(window, model, meter, options)
        name = uuid4().hex if id is None else id
        notifier = Notifier(name, model, options.get("clock", time.time), observers, on_notice)
        capture = options.get("capture", False)
        self._set_up(Journal(kept, name), state, notifier, summarise, capture=capture, meter=meter)
        if log:
            self._begin_log(also)
        else:
            self._journal.kinds = _CUTS
            self.reload()

    @classmethod
    def open(
        cls,
        id: str,
        *,
        store: Store | str,
        meter: Given = None,
        summarise: Summariser | None = None,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        create: bool = False,
        **settings: Unpack[OpenOptions],
    ) -> Session:
        """Return a stored session; its next prompt is the same as if it had never been closed.

        `settings`, usually `window` and `model`, replace the stored ones. For another model, everything is counted
        again, and that model's window is used unless the session has its own. Pass again what cannot be stored: your
        own meter or summariser, a clock, observers. With `create`, a session that does not exist is created, with
        `settings` as its other arguments.

        Raises:
            UnknownName: the store has no session of this id, and `create` is false; or there is no such model.
            InvalidValue: it was created with a caller's own meter, and none is passed; its messages are in another
                format than `format`; or a setting is invalid.
            Conflict: the settings were to be changed, but other writers were faster each time.
        """
        check_options(settings, OpenOptions)
        kept, owned = opened_store(store)
        assert kept is not None
        more: dict[str, Any] = {"summarise": summarise, "observers": observers}
        more |= {"meter": meter, "on_notice": on_notice}
        for _ in range(_TRIES):
            saved = read(kept, id)
            if saved is None and not create:
                raise UnknownName("session", id, [row.id for row in kept.sessions(limit=1_000)])
            try:
                made = cls._opened(saved, kept, more, settings) if saved else cls(store=kept, id=id, **more, **settings)
            except (SessionExists, Conflict) as error:  # Another writer was faster.
                failed = error
            else:
                made._owned = owned
                return made
        raise failed

    @classmethod
    def _opened(
        cls, saved: SavedSession, store: Store, more: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> Session:
        """Return a saved session with other settings.

        Raises:
            Conflict: another writer has written since it was read.
        """
        made, before = cls.__new__(cls), saved.settings
        saved.change(settings)
        clock = settings.get("clock", time.time)
        notifier = Notifier(saved.id, saved.settings.model, clock, more["observers"], more["on_notice"])
        journal, state = Journal(store, saved.id, saved.number), saved.state(more["meter"])
        journal.since = saved.created
        notifier.restore(saved.counts.compactions)
        capture = settings.get("capture", False)
        made._set_up(journal, state, notifier, more["summarise"], capture=capture, meter=more["meter"])
        made.about |= saved.about
        if saved.settings != before:
            made._try(lambda step: step.change_settings(before))
        return made

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
        """Set what new and opened sessions have in common."""
        self.id = journal.session
        """Its name in the store."""
        self.store = journal.store
        """The store; `None` if everything is kept in memory."""
        self.dropped = journal.dropped
        """The texts that were dropped from its prompts."""
        self.summariser: Summariser | None = compaction.checked(summarise)
        """The caller's summariser."""
        self.about: dict[str, Any] = {"kind": "session"}
        """What the store's list of sessions shows of it, in addition to its status."""
        self.sole_writer = False
        """Whether entries from another writer raise `Conflict`. This is for loops, whose state is more than the log."""
        self.reloads = 0
        """How often the log was read again because another writer had written to it."""
        self._lock = ProcessLock()
        """Held during a change."""
        self._unfinished: int | None = None
        """Number of messages before the current change; `None` if there is none."""
        self._journal, self._state, self._notifier = journal, state, notifier
        self._capture, self._meter = capture, meter

    def __repr__(self) -> str:
        return f"<Session {self.id!r}: {len(self.messages):,} messages, {self.settings.model or self.meter.name}>"

    def __dir__(self) -> list[str]:
        return [
            *("add", "answer_recall", "budget", "close", "compact", "estimate", "format", "id"),
            *("messages", "meter", "notices", "open", "plan_compaction", "prompt", "recall"),
            *("recall_tool", "record_usage", "refused", "restart", "search", "settings", "status", "store"),
        ]

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied, because two copies would write to one log: pass its"
            f" id, and open it there with {type(self).__name__}.open(id, store=...)"
        )

    def _begin_log(self, also: Lines) -> None:
        """Write the first entries.

        Raises:
            SessionExists: the store has a session of this id.
        """
        state = self._state
        first = {"settings": state.settings.to_dict()}
        try:
            self._journal.write([("note", first), *also], self._meta(state))
        except Conflict as error:
            raise SessionExists(
                "id", self.id, "new in this store", "brim.Session.open(id, store=...) continues an existing session"
            ) from error

    @property
    def settings(self) -> SessionSettings:
        """The settings by which it stays within its window."""
        return self._state.settings

    @property
    def meter(self) -> BaseMeter:
        """The meter."""
        return self._state.meter

    @property
    def logs_messages(self) -> bool:
        """Whether its messages are logged; otherwise its log has only cuts and what they dropped."""
        return self._journal.kinds is None

    @property
    def budget(self) -> int:
        """Tokens that a prompt may take."""
        return self._state.budget

    @property
    def messages(self) -> list[Any]:
        """The messages of the next prompt, before it is fitted."""
        with self._lock:
            return list(self._state.context.messages)

    @property
    def format(self) -> str:
        """The format of its messages."""
        return self._state.context.history.turns.wire.name

    @property
    def number(self) -> int:
        """The number of the last entry of its log."""
        return self._journal.number

    @property
    def clock(self) -> Callable[[], float]:
        """Returns the time in seconds."""
        return self._notifier.clock

    @property
    def notices(self) -> list[str]:
        """The notices for the user, the newest last."""
        return list(self._notifier.notices)

    @property
    def unfinished(self) -> bool:
        """Whether a tool call still waits for its result."""
        return self._state.context.history.turns.unfinished

    @property
    def unread(self) -> int:
        """How many messages at the end the model has not answered yet: tool results or user messages."""
        return self._state.context.unread

    def add(self, messages: Any, *, also: Lines = ()) -> None:
        """Add a message, or several, at the end.

        A tool result over `tool_limit` is shortened according to its kind; the whole result can be recalled by its
        handle.

        Args:
            messages: one message or a list of them, in the format of any provider that brim knows.
            also: the caller's own entries, written to the log in the same transaction.

        Raises:
            InvalidValue: a message is invalid; nothing is added.
            StoreError: the store cannot be written; nothing is added.
        """
        # Copies, since the caller may change its objects after they were counted and logged.
        given = copied(list(messages) if isinstance(messages, list | tuple) else [messages])

        def change(step: SessionStep) -> None:
            step.add(given)
            step.lines += also

        self.make(change)

    def prompt(
        self,
        system: Any = None,
        tools: Tools | None = None,
        memory: Memory | None = None,
        budget: int | None = None,
        *,
        fields: Mapping[str, Any] | None = None,
    ) -> Fitted:
        """Return the prompt for the next call, which fits the budget and is valid for the provider.

        At the warning line it warns, and over the compaction line the history is compacted first. If the provider
        counted more than brim, `used` is what it will count; the receipt has brim's count.

        Args:
            system: the system prompt. In OpenAI chat it becomes the first message; in the other formats it is counted,
                and you send it separately.
            tools: the tool definitions of the request.
            memory: a text, entries with the best first, or `{"pinned": ..., "recalled": ...}`. It comes last in the
                prompt, so that changes to it do not affect the cached prefix.
            budget: a limit in tokens for this prompt only, if it is below the session's budget.
            fields: the other fields of the request, such as `response_format`; those that the model sees are counted.

        Raises:
            DoesNotFit: what has to stay is larger than the budget.
            InvalidValue: an argument is invalid.
            StoreError: the store cannot be written; the session is as it was then.
        """
        if budget is not None:
            units("budget", budget)

        def change(step: SessionStep) -> Fitted:
            parts = self.parts(system, tools, memory, fields)
            most = step.state.budget if budget is None else min(step.state.budget, budget)
            fitted = step.prompt(parts, PromptLimit(most), capture=self._capture)
            if (used := step.state.bound(fitted.used)) != fitted.used:
                fitted.used, fitted.budget = used, most
            return fitted

        return self.make(change)

    def estimate(
        self,
        system: Any = None,
        tools: Tools | None = None,
        memory: Memory | None = None,
        *,
        fields: Mapping[str, Any] | None = None,
    ) -> int:
        """Return the tokens of the next prompt with its memory, if nothing more is cut."""
        state = self._state
        parts = self.parts(system, tools, memory, fields)
        return state.bound(state.estimate(parts), state.same(parts))

    def plan_compaction(self, system: Any = None, tools: Tools | None = None) -> CompactionPlan | None:
        """Return the plan of a summary that the caller writes; `None` if a summary would save nothing."""
        state = self._state
        room = state.budget - self.parts(system, tools).units(state.context)
        return state.plan_summary(room)

    def compact(self, plan: CompactionPlan | None = None, summary: str | None = None) -> bool:
        """Replace older turns by a summary now, and return whether anything was replaced.

        Args:
            plan: what to replace; by default the session plans it.
            summary: its text; by default the session's summariser writes it.

        Raises:
            NoProgress: the summary is not smaller than what it replaces.
        """

        def change(step: SessionStep) -> bool:
            made = self.plan_compaction() if plan is None else plan
            if made is None:
                return False
            step.compact(compaction.shrunk(made, self.summariser) if summary is None else apply(made, summary), "asked")
            return True

        return self.make(change)

    def restart(
        self,
        messages: Sequence[Any],
        *,
        trigger: str = "asked",
        used: int | None = None,
        also: Lines = (),
        event: dict[str, Any] | None = None,
    ) -> None:
        """Continue in a fresh context with these messages; the old ones are dropped and can be recalled.

        Args:
            messages: the first messages.
            trigger: the reason; `sub_tick` is counted.
            used: the tokens that led to the restart, which may cross the warning line.
            also: the caller's own entries, written to the log in the same transaction.
            event: the fields of the `sub_tick` event.

        Raises:
            InvalidValue: a message is invalid.
        """

        def change(step: SessionStep) -> None:
            if used is not None:
                step.warn(used)
            step.restart(messages, trigger, event)
            step.lines += also

        self.make(change)

    def record_usage(
        self,
        usage: Any = None,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int | None = None,
    ) -> ReportedUsage:
        """Record the reported usage of the last prompt: it corrects an estimate, and the status shows it.

        `usage` is the `usage` of an answer of Chat Completions, Responses or Messages, or the whole answer. Without it,
        pass the numbers by name; `input_tokens` includes cached tokens.

        Raises:
            InvalidValue: it is none of these.
        """
        told = reported(usage, input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached_tokens)
        self.make(lambda step: step.learn(told))
        return told

    def measure(self, counted: int, reported: int, *, refused: bool = False) -> None:
        """Correct the following counts by what the provider reported for the last prompt; the next one logs it.

        Args:
            counted: its tokens by the meter.
            reported: its tokens by the provider.
            refused: whether the provider refused it.
        """
        with self._lock:
            self._state.learn(counted, reported, refused=refused)

    @property
    def measured(self) -> bool:
        """Whether reported usage corrects its counts."""
        return self._state.reported is not None and self._state.reported.corrects

    def refused(self, overflow: Overflow, *, retried: bool = False) -> int:
        """Record that the last prompt was refused as too long, and return the smaller budget for later prompts."""
        self.make(lambda step: step.refuse(overflow, retried=retried))
        return self.budget

    def status(self) -> Status:
        """Return how full its context is."""
        return self._state.status(self.id)

    def notify(self, text: str) -> None:
        """Give the user a notice, by `on_notice` and in `notices`."""
        self._notifier.notify(text)

    def parts(
        self,
        system: Any,
        tools: Tools | None,
        memory: Memory | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> FixedParts:
        """Return the parts of a prompt outside the history."""
        frame = self._state.context.history.turns.chat.frame("user")
        return FixedParts.of(system, tools, memory, self.settings.most_memory - frame, self.meter, fields=fields)

    def make(self, change: Callable[[SessionStep], T]) -> T:
        """Make a change on a copy of the state, write it, and keep the copy; return the result.

        If another writer was faster, its entries are read and the change is repeated.

        Raises:
            Conflict: others were faster each time, or wrote although this is the sole writer.
            SessionPurged: the session was purged.
            StoreError: the store cannot be written; the session is as it was then.
        """
        with self._lock:
            for _ in range(_TRIES):
                try:
                    return self._try(change)
                except Conflict as error:
                    conflict = error
                    self._follow()
            raise conflict

    def _try(self, change: Callable[[SessionStep], T]) -> T:
        """Make a change and write it.

        Raises:
            Conflict: another writer was faster; nothing has changed then.
        """
        journal = self._journal
        self._undo()  # In a forked child, a change that a thread of the parent had begun.
        self._unfinished = len(self._state.context.messages)
        step = SessionStep(
            state=self._state.copy(),
            number=journal.next if self.logs_messages else None,
            summarise=self.summariser,
        )
        try:
            made = change(step)
            meta = self._meta(step.state) if journal.store is not None and self.logs_messages else None
            journal.write([*step.lines, *step.dropped], step.meta or meta)
        except BaseException:  # Whatever the error, nothing of the change stays.
            self._undo()
            raise
        self._state, self._unfinished = step.state, None
        self._notifier.emit(step.events)
        return made

    def _undo(self) -> None:
        """Remove messages that an unfinished change added."""
        had, context = self._unfinished, self._state.context
        if had is not None and len(context.messages) > had:
            self._state.context = context.shortened(had)
        self._unfinished = None

    def _meta(self, state: SessionState) -> dict[str, Any]:
        """Return what the store's list of sessions shows."""
        return {**self.about, "status": state.status(self.id).to_dict(), "counts": state.counts.to_dict()}

    def tolerate(self, on_failure: Callable[[StoreError], object]) -> None:
        """Continue if the store fails: pass failures to a function, and write the missing entries later.

        This is for callers that pass the whole history again: if others write in the meantime, their entries take
        precedence.
        """
        self._journal.on_failure = on_failure

    def note_failure(self, error: StoreError) -> None:
        """Report a failure of the store.

        Raises:
            StoreError: the failure, if failures are not tolerated.
        """
        if self._journal.on_failure is None:
            raise error
        self._journal.on_failure(error)

    def refresh(self) -> None:
        """Read what others have written to the log.

        Raises:
            StoreError: the store cannot be read, and its failures are not tolerated.
        """
        with self._lock:
            self._follow(behind=False)

    def reload(self) -> None:
        """Load the state from the log again.

        Raises:
            SessionPurged: the log is gone.
            StoreError: the store cannot be read.
        """
        journal = self._journal
        if journal.store is None:
            return
        if not self.logs_messages:
            self._reload_cut(journal.store)
            return
        saved = read(journal.store, self.id)
        if saved is None:
            raise journal.purged()
        self._state = saved.state(self._meter)
        journal.number = saved.number
        self.reloads += 1

    def _reload_cut(self, store: Store) -> None:
        """Restore the cut from a log of cuts."""
        row, record = store.session(self.id), None
        for entry in store.entries(self.id, kinds=[cut_record.KIND]) if row is not None else ():
            if row is not None and entry.number <= row.entries:
                record = cut_record.changed(record, entry.body)
        state = self._state = self._state.copy()
        held, lines = cut_record.cut_from(record), lines_of(state.settings)
        state.last_fit, state.last = LastFit(None if lines is None else replace(lines, held=held)), None
        state.logged_cut = held
        if row is not None:
            state.counts = Counts.from_dict(row.meta.get("counts", {}))
            self._journal.number, self._journal.since = row.entries, row.created

    def _follow(self, *, behind: bool = True) -> None:
        """Read what another writer has written; `behind` says that there is something new, or that the log is gone.

        Raises:
            Conflict: it wrote something, and this is the sole writer.
            SessionPurged: it purged the session.
            StoreError: the store cannot be read, and its failures are not tolerated.
        """
        journal = self._journal
        try:
            entries = journal.unread()
            if not entries and (not behind or journal.store is None):
                return
            assert journal.store is not None
            row = journal.store.session(self.id)
            if row is None or (journal.since is not None and row.created != journal.since):
                raise journal.purged()
            if entries and not self.logs_messages and all(entry.kind != cut_record.KIND for entry in entries):
                journal.number = entries[-1].number
                return
            if self.sole_writer:
                log, last = f"the log of session {self.id!r}", entries[-1].number if entries else 0
                raise Conflict(journal.store.url, log, expected=journal.number, found=last)
            if journal.on_failure is not None:
                journal.forget_owed()
            self.reload()
        except (Conflict, SessionPurged):
            raise
        except StoreError as error:
            self.note_failure(error)
