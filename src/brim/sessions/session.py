"""A conversation over time: an append-only log, and the prompt that is made of it before each call.

Before each prompt everything is counted: system prompt, history, memory, tool results. At the warning line the session
warns; over its compaction line it cuts older turns to excerpts, or summarises them; and the prompt always fits.
With a store, what a method was passed is durable before it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self, Unpack
from uuid import uuid4

from brim.errors import Conflict, InvalidValue, StoreError, UnknownName
from brim.history.compact.plan import CompactionPlan, apply
from brim.history.history import Tools
from brim.history.result import Fitted
from brim.history.turns import copied
from brim.meter import BaseMeter, Meter
from brim.meter.calibration import Calibration
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions import compaction, pins
from brim.sessions.compaction import Summariser
from brim.sessions.fixed_parts import FixedParts, Memory
from brim.sessions.initial_state import new_state, restored_state
from brim.sessions.journal import Journal, Lines, read
from brim.sessions.model_meter import SentPrompt, load_calibration, save_calibration
from brim.sessions.notices import Notifier
from brim.sessions.options import OpenOptions, check_options
from brim.sessions.recall import Recall
from brim.sessions.settings import SessionSettings
from brim.sessions.status import Status
from brim.sessions.unread import unread_messages
from brim.sessions.usage import ReportedUsage, reported
from brim.store import Store, opened_store
from brim.wire.base import Format
from brim.wire.overflow import Overflow

Given = Meter | str | Callable[[str], int] | None


class SessionExists(InvalidValue):
    """The store has a session of this id."""


class Session(Recall):
    """A conversation that lasts. It can be used in a `with` block, which closes it."""

    _owned: Store | None
    """The store, if the session has opened it."""

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        model: str | None = None,
        meter: Given = None,
        store: Store | str | None = None,
        id: str | None = None,
        summarise: Summariser | None = None,
        keep_turns: int = 3,
        stable: bool = True,
        compact_at: Literal["cap", "warning", "never"] | float = "cap",
        summary_share: float = 0.25,
        tool_limit: int | str = "100%",
        memory_limit: int = 50_000,
        format: Format | None = None,
        clock: Callable[[], float] = time.time,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        capture: bool = False,
        calibration: Calibration | None = None,
        also: Lines = (),
    ) -> None:
        """Begin a session.

        Args:
            window: what the model holds and how much of it a prompt may use; without it, the window of `model`.
            model: the model that is called.
            meter: the meter, or its name; without it, the meter of the model.
            store: where everything is kept, or its URL. Without one the session lives in memory, and grows there.
            id: its name in the store; without it, one is made up.
            summarise: a function from a text and a limit to a summary, a model, or `extract`; else excerpts stay.
            keep_turns: how many of the newest turns a summary leaves as they are, at the least.
            stable: whether the start of the prompt is kept the same for the provider's cache.
            compact_at: compaction begins over the budget (`cap`), at the `warning` line, at a share, or `never`.
            summary_share: the share of the room that a summary may take.
            tool_limit: the most tokens of one tool result, or a share of the budget.
            memory_limit: the most tokens of memory in a prompt.
            format: the format of the messages; without it, it is detected.
            clock: returns the time in seconds.
            observers: receive events, beside those that observe the process.
            on_notice: called with a notice for the user, once for each compaction.
            capture: whether the prompts in the store hold their receipts and texts, so that they can be replayed.
            calibration: what other sessions learned about how the model counts.
            also: entries of the caller's own that are written to the log at its beginning.

        Raises:
            InvalidValue: an argument is invalid, or the store has a session of this id.
            UnknownName: there is no such model or meter.
        """
        kept, self._owned = opened_store(store)
        lines: dict[str, Any] = {"compact_at": compact_at, "tool_limit": tool_limit, "memory_limit": memory_limit}
        more = {**lines, "keep_turns": keep_turns, "stable": stable, "format": format, "summary_share": summary_share}
        state = new_state(window, model, meter, calibration or load_calibration(kept, model), more)
        name = uuid4().hex if id is None else id
        notifier = Notifier(name, model, clock, observers, on_notice)
        self._set_up(Journal(kept, name), state, notifier, summarise, capture=capture, meter=meter)
        self._begin_log(also)

    @classmethod
    def open(
        cls,
        id: str,
        *,
        store: Store | str,
        meter: Given = None,
        summarise: Summariser | None = None,
        clock: Callable[[], float] = time.time,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        capture: bool = False,
        create: bool = False,
        **settings: Unpack[OpenOptions],
    ) -> Session:
        """Return a session as it was left: its next prompt is the one it would have made, had it never been closed.

        Its settings are those that it had; `settings` take their place, above all `window` and `model`, and stay. For
        another model everything is counted again, and its window is used unless the session was given one. What cannot
        be stored is passed again: a meter or a summariser of the caller's own, a clock, observers. With `create`, a
        session that the store does not have is begun, and `settings` are the other arguments of a new one.

        Raises:
            UnknownName: the store has no session of this id, and `create` is false; or there is no such model.
            InvalidValue: it was begun with a meter of the caller's own, and none is passed; its messages are in another
                format than `format`; or a setting is invalid.
        """
        check_options(settings, OpenOptions)
        kept, owned = opened_store(store)
        assert kept is not None
        saved = read(kept, id)
        if saved is None and create:
            more: dict[str, Any] = {"summarise": summarise, "clock": clock, "observers": observers}
            more |= {"meter": meter, "capture": capture, "on_notice": on_notice}
            try:
                begun = cls(store=kept, id=id, **more, **settings)
            except SessionExists:  # Another caller has begun it since it was looked for.
                saved = read(kept, id)
            else:
                begun._owned = owned
                return begun
        if saved is None:
            raise UnknownName("session", id, [row.id for row in kept.sessions(limit=1_000)])
        made, before = cls.__new__(cls), saved.settings
        made._owned = owned
        saved.change(settings, kept)
        notifier = Notifier(id, saved.settings.model, clock, observers, on_notice)
        journal, state = Journal(kept, id, saved.number), restored_state(saved, meter)
        notifier.restore(saved.counts.compactions)
        made._set_up(journal, state, notifier, summarise, capture=capture, meter=meter)
        made.about |= saved.about
        if saved.settings != before:
            made._agreed(lambda: made._write_settings(settings, before.model))
        return made

    def _begin_log(self, also: Lines) -> None:
        """Write the first entries.

        Raises:
            SessionExists: the store has a session of this id.
        """
        state = self._state
        first = {"settings": state.settings.to_dict(), "calibration": state.model_meter.to_dict()}
        try:
            self._write([("note", first), *also])
        except Conflict as error:
            raise SessionExists("id", self.id, "new: brim.Session.open(id, store=...) continues a session") from error

    def close(self) -> None:
        """Close the store that the session has opened, if it was passed as a URL."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def settings(self) -> SessionSettings:
        """How it keeps within its window."""
        return self._state.settings

    @property
    def store(self) -> Store | None:
        """Where everything is kept; `None` if it lives in memory."""
        return self._journal.store

    @property
    def meter(self) -> BaseMeter:
        """The meter, corrected by reported usage."""
        return self._state.model_meter.meter

    @property
    def calibration(self) -> Calibration | None:
        """What is known of how the model counts; `None` if the meter is exact."""
        return self._state.model_meter.calibration

    @property
    def budget(self) -> int:
        """Tokens that a prompt may take."""
        return self._state.budget

    @property
    def messages(self) -> list[Any]:
        """The messages of the next prompt, if everything fits."""
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
        """Whether a tool call waits for its result, so this is no place to stop."""
        return self._state.context.history.turns.unfinished

    @property
    def summariser(self) -> Summariser | None:
        """The caller's summariser."""
        made: Summariser | None = self._summarise
        return made

    @property
    def unread(self) -> int:
        """How many messages at the end the model has not answered: results of its calls, or words of the user."""
        return unread_messages(self._state.context.history.turns)

    def add(self, messages: Any, *, also: Lines = ()) -> None:
        """Add a message, or several, at the end.

        A tool result over `tool_limit` is shortened by its kind; the whole can be recalled by its handle.

        Args:
            messages: one message or a list of them, in the format of OpenAI chat, Responses items or Anthropic.
            also: entries of the caller's own that are written to the log with them, or not at all.

        Raises:
            InvalidValue: a message is invalid; nothing is added then.
            StoreError: the store cannot be written; nothing is added then.
        """
        # Copies: what is logged and counted now is what will be sent, whatever becomes of the caller's objects.
        self.take(copied(list(messages) if isinstance(messages, list | tuple) else [messages]), also)

    def take(self, messages: list[Any], also: Lines = ()) -> None:
        """Add messages as `add` does, and keep these objects themselves.

        Raises:
            InvalidValue: a message is invalid; nothing is added then.
            StoreError: the store cannot be written; nothing is added then.
        """
        self._agreed(lambda: self._add(messages, also))

    def prompt(
        self,
        system: Any = None,
        tools: Tools | None = None,
        memory: Memory | None = None,
        query: str | None = None,
        budget: int | Callable[[int], int] | None = None,
        *,
        fields: Mapping[str, Any] | None = None,
    ) -> Fitted:
        """Return the prompt for the next call: it fits the budget, and a provider accepts it.

        At the warning line it warns, and over the compaction line the history is compacted first.

        Args:
            system: the system prompt. In OpenAI chat it stands first among the messages; in the other formats it is
                sent apart from them, and counted.
            tools: the tool definitions that are sent along.
            memory: a text, entries with the best first, or `{"pinned": ..., "recalled": ...}`. It stands at the end,
                where it may change without changing the cached prefix.
            query: selects older turns by relevance, in a session that is not stable.
            budget: tokens that this one prompt may take, if fewer than the session's; or a function of its `estimate`.
            fields: the other fields of the request, such as `response_format`; what the model is shown is counted.

        Raises:
            DoesNotFit: what has to stay is larger than the budget.
            InvalidValue: an argument is invalid.
            StoreError: the store cannot be written; the session is as it was then.
        """
        if query is not None and self.settings.stable:
            raise InvalidValue("query", query, "left out in a stable session: stable=False selects turns by it")

        def step() -> Fitted:
            parts = self._parts(system, tools, memory, fields)
            most = budget(self._state.estimate(parts)) if callable(budget) else budget
            self.fixed_units = sum(parts.extra(self._state.context)[0].values())
            work = self._work(parts, query, most)
            fitted = work.run()
            apart = None if self.format == "openai" else system
            work.state.model_meter.sent = SentPrompt(fitted.messages, tools, apart, self.format, fitted.used, fields)
            self._done(work)
            return fitted

        return self._agreed(step)

    def estimate(
        self,
        system: Any = None,
        tools: Tools | None = None,
        memory: Memory | None = None,
        *,
        fields: Mapping[str, Any] | None = None,
    ) -> int:
        """Return the tokens of the next prompt, with its memory, if nothing more is cut."""
        return self._state.estimate(self._parts(system, tools, memory, fields))

    def plan_compaction(self, system: Any = None, tools: Tools | None = None) -> CompactionPlan | None:
        """Return what a summary should replace now, for a caller who makes it; `None` if it would save nothing."""
        state = self._state
        room = state.budget - self._parts(system, tools).units(state.context)
        return compaction.planned(state.context, self.settings, room, state.compacted)

    def compact(self, plan: CompactionPlan | None = None, summary: str | None = None) -> bool:
        """Compact now, by a plan and its summary or by the session's own; return whether anything was replaced.

        Raises:
            NoProgress: the summary is not smaller than what it replaces.
        """

        def step() -> bool:
            made = self.plan_compaction() if plan is None else plan
            if made is None:
                return False
            work = self._work(FixedParts())
            work.take(compaction.shrunk(made, self._summarise) if summary is None else apply(made, summary), "asked")
            self._done(work)
            return True

        return self._agreed(step)

    def restart(
        self,
        messages: Sequence[Any],
        *,
        trigger: str = "asked",
        used: int | None = None,
        also: Lines = (),
        event: dict[str, Any] | None = None,
    ) -> None:
        """Continue in a fresh context that begins with these messages; what was there is dropped and can be recalled.

        Args:
            messages: the first messages.
            trigger: why; `sub_tick` is counted.
            used: the use that led to it, which may cross the warning line.
            also: entries of the caller's own that are written to the log with it.
            event: the fields of the `sub_tick` event.

        Raises:
            InvalidValue: a message is invalid.
        """

        def step() -> None:
            work = self._work(FixedParts())
            if used is not None:
                work.warn(used)
            work.restart(messages, trigger, event)
            work.lines.extend(also)
            self._done(work)

        self._agreed(step)

    def record_usage(
        self,
        usage: Any = None,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int | None = None,
    ) -> ReportedUsage:
        """Take the reported usage of the last prompt: it corrects an estimate, and the status shows it.

        `usage` is that of an answer of Chat Completions, Responses or Messages, or the whole answer; without it, the
        numbers are passed by name, `input_tokens` with the cached ones included.

        Raises:
            InvalidValue: it is none of these.
        """
        told = reported(usage, input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached_tokens)

        def step() -> bool:
            work = self._work(FixedParts())
            recount = work.learn(told)
            self._done(work)
            return recount

        if self._agreed(step):
            with suppress(StoreError):  # The log has it; other sessions learn it with the next recount.
                save_calibration(self._journal.store, self.settings.model, self._state.model_meter.calibration)
        return told

    def refused(self, overflow: Overflow, *, retried: bool = False) -> int:
        """Note that the last prompt was refused as too long, and return the smaller budget from now on."""

        def step() -> None:
            work = self._work(FixedParts())
            work.refuse(overflow, retried=retried)
            self._done(work)

        self._agreed(step)
        return self.budget

    def status(self) -> Status:
        """Return how full it is."""
        return self._state.status(self.id)

    def notify(self, text: str) -> None:
        """Give the user a notice, by `on_notice` and in `notices`."""
        self._notifier.notify(text)

    def _parts(
        self,
        system: Any,
        tools: Tools | None,
        memory: Memory | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> FixedParts:
        """Return the parts outside the history, with pinned texts."""
        pinned = pins.written(self._state.pins)
        return FixedParts.of(system, tools, memory, self.settings.most_memory, self.meter, fields=fields, pinned=pinned)
