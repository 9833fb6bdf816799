"""A conversation over time: an append-only log, and the prompt that is made of it before each call.

Before each prompt the whole is counted: system prompt, conversation, memory, tool output. At the warning line it
warns; over its line it replaces older turns by a summary; and what it returns fits, whatever happened before. With a
store, whatever a method was given is durable before it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from brim.amounts import units
from brim.errors import InvalidValue, UnknownName, check_choice
from brim.history.compact.plan import CompactionPlan, apply
from brim.history.fitted import Fitted
from brim.history.history import Tools
from brim.meter import Meter, Scale
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions import pins, shrinking
from brim.sessions.aside import Aside, Memory
from brim.sessions.calibrating import SentPrompt, share
from brim.sessions.growth import bounded
from brim.sessions.journal import Journal, Lines, read
from brim.sessions.opening import begun, resumed
from brim.sessions.prompting import Prompting
from brim.sessions.recalling import Recalling
from brim.sessions.settings import SessionSettings
from brim.sessions.state import SessionState
from brim.sessions.status import Status
from brim.sessions.telling import Telling
from brim.sessions.usage import Reported, reported
from brim.sessions.view import jsonable
from brim.store.base import META, Store
from brim.wire import format_of, wire
from brim.wire.overflow import Overflow

Given = Meter | str | Callable[[str], int] | None

MORE = ("compact_at", "summary_share", "tool_limit", "memory_limit", "format")
"""Settings that are given by name."""


class Session(Recalling):
    """A conversation that lasts."""

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        model: str | None = None,
        meter: Given = None,
        store: Store | None = None,
        id: str | None = None,
        summarise: shrinking.Summariser | None = None,
        keep_turns: int = 3,
        stable: bool = True,
        clock: Callable[[], float] = time.time,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        capture: bool = False,
        also: Lines = (),
        **more: Any,
    ) -> None:
        """Begin a session.

        Args:
            window: what the model holds and what of it a prompt may use; without it, the window of `model`.
            model: the model that is asked.
            meter: what measures; without it, the model's meter.
            store: where everything is kept. Without one the session lives in memory, and grows there.
            id: its name in the store; one is made where none is given.
            summarise: what makes summaries: a function from a text and a limit to a text, or a model. Without it they
                are made of the conversation's own sentences, offline.
            keep_turns: how many of the newest turns a compaction leaves as they are.
            stable: whether the start of the prompt is kept the same for the provider's cache.
            clock: what tells the time, in seconds.
            observers: who is told of events, beside those that watch the process.
            on_notice: called with what the user should be told, once for each compaction.
            capture: whether the prompts in the store hold their receipts and texts, so that they can be replayed.
            also: entries of the caller's own that are written to the log at its beginning.
            more: `compact_at`, `summary_share`, `tool_limit`, `memory_limit`, `shape`: see `Settings`.

        Raises:
            InvalidValue: an argument that cannot be, or the store has a session of this id.
            UnknownName: no such model or meter.
        """
        for name in more:
            check_choice("an argument", name, MORE)
        self.id = uuid4().hex if id is None else id
        self._state = begun(window, model, meter, store, {"keep_turns": keep_turns, "stable": stable, **more})
        self._journal = Journal(store, self.id)
        self._telling = Telling(self.id, model, clock, observers, on_notice)
        self._summarise, self._capture = shrinking.checked(summarise), capture
        self.about: dict[str, Any] = {"kind": "session"}
        """What the store's list of sessions says of it, beside its status."""
        if store is not None and store.entries(self.id, limit=1):
            raise InvalidValue("id", id, "new in this store: brim.Session.open(id, store=...) goes on with a session")
        told = {"settings": self.settings.to_dict(), "calibration": self._state.calibrating.to_dict()}
        self._write([("note", told), *also])

    @classmethod
    def open(
        cls,
        id: str,
        *,
        store: Store,
        meter: Given = None,
        summarise: shrinking.Summariser | None = None,
        clock: Callable[[], float] = time.time,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        capture: bool = False,
    ) -> Session:
        """Return a session as it was left: its next prompt is the one it would have made, had it never been closed.

        Its settings are those that it began with. What cannot be stored is given again: a meter or a summariser of the
        caller's own, a clock, observers.

        Raises:
            UnknownName: the store has no session of this id.
            InvalidValue: it was begun with a meter of the caller's own, and none is given.
        """
        told = read(store, id)
        if told is None:
            raise UnknownName("session", id, [row.id for row in store.sessions(limit=1_000)])
        made = cls.__new__(cls)
        made.id = id
        made._state = resumed(told, meter)
        made._journal = Journal(store, id, told.number)
        made._telling = Telling(id, told.settings.model, clock, observers, on_notice)
        made._summarise, made._capture = shrinking.checked(summarise), capture
        made.about = {"kind": "session"}
        return made

    @property
    def settings(self) -> SessionSettings:
        """How it keeps to its window."""
        return self._state.settings

    @property
    def meter(self) -> Scale:
        """What measures, corrected by what the provider reported."""
        return self._state.calibrating.meter

    @property
    def budget(self) -> int:
        """Units that a prompt may use."""
        return self._state.budget

    @property
    def messages(self) -> list[Any]:
        """The conversation as the next prompt would have it if everything fitted."""
        return list(self._state.view.messages)

    @property
    def format(self) -> str:
        """The shape of its messages."""
        return self._state.view.history.book.wire.name

    @property
    def number(self) -> int:
        """The number of the last entry of its log that it knows."""
        return self._journal.number

    @property
    def clock(self) -> Callable[[], float]:
        """What tells the time."""
        return self._telling.clock

    @property
    def notices(self) -> list[str]:
        """What the user should have been told, the newest last."""
        return list(self._telling.notices)

    @property
    def unfinished(self) -> bool:
        """Whether a call waits for its result, so that this is no place to stop."""
        return self._state.view.history.book.unfinished

    def add(self, messages: Any, *, also: Lines = ()) -> None:
        """Add a message, or several, at the end.

        A result of a tool that is longer than it may be is cut by its shape; the whole comes back by its handle.

        Args:
            messages: one message or a list of them, in the shape of OpenAI chat, Responses items or Anthropic.
            also: entries of the caller's own that are written to the log with them, or not at all.

        Raises:
            InvalidValue: a message that cannot be; nothing is added then.
            StoreError: the store cannot be written; nothing is added then.
        """
        state = self._state
        given = list(messages) if isinstance(messages, list | tuple) else [messages]
        had = len(state.view.messages)
        format = wire(self.settings.format or format_of(given) or state.view.history.book.wire.name)
        cap = self.settings.longest_result
        cut = [bounded(raw, had + i, format, cap, self.meter) for i, raw in enumerate(given)]
        lines: list[tuple[str, Mapping[str, Any]]] = []
        for raw, (sent, _) in zip(given, cut, strict=True):
            body = {"message": jsonable(raw)}
            lines.append(("message", body if sent is raw else {**body, "sent": jsonable(sent)}))
        state.view.extend([sent for sent, _ in cut])
        state.counts.messages += len(given)
        try:
            self._journal.write([*lines, *also], {name: text for each in cut for name, text in each.texts.items()})
        except BaseException:  # Whatever ended it, what was not written is not there.
            state.counts.messages -= len(given)
            state.view = state.view.shortened(had)
            raise

    def prompt(
        self,
        system: Any = None,
        tools: Tools | None = None,
        memory: Memory | None = None,
        query: str | None = None,
        budget: int | None = None,
    ) -> Fitted:
        """Return the prompt for the next call: it fits the budget, and a provider accepts it.

        At the warning line it warns, and over its line the conversation is compacted first.

        Args:
            system: the system prompt. In OpenAI chat it stands first among the messages; in the other shapes it is
                sent apart from them, and counted.
            tools: the tool definitions that are sent along.
            memory: a text, entries with the best first, or `{"pinned": ..., "recalled": ...}`. It stands at the end,
                where it may change without moving what the cache holds.
            query: what older turns are chosen by, in a session that is not stable.
            budget: units that this one prompt may use, where they are fewer than the session's own.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
            InvalidValue: an argument that cannot be.
            StoreError: the store cannot be written; the session is as it was then.
        """
        if query is not None and self.settings.stable:
            raise InvalidValue("query", query, "left out in a stable session: stable=False chooses turns by it")
        work = self._work(self._aside(system, tools, memory), query, budget)
        fitted = work.run()
        apart = None if self.format == "openai" else system
        work.state.calibrating.sent = SentPrompt(fitted.messages, tools, apart, self.format, fitted.used)
        self._done(work)
        return fitted

    def estimate(self, system: Any = None, tools: Tools | None = None) -> int:
        """Return the units of the next prompt, if nothing were left out."""
        return self._state.view.units + self._aside(system, tools).units(self._state.view)

    def plan_compaction(self, system: Any = None, tools: Tools | None = None) -> CompactionPlan | None:
        """Return what a summary should replace now, for a caller who makes it elsewhere; nothing if it does not pay."""
        state = self._state
        room = state.budget - self._aside(system, tools).units(state.view)
        return shrinking.planned(state.view, self.settings, room, state.compacted)

    def compact(self, plan: CompactionPlan | None = None, summary: str | None = None) -> bool:
        """Compact now, by a plan and its summary or by the session's own; return whether there was anything to replace.

        Raises:
            NoProgress: the summary is not smaller than what it replaces.
        """
        made = self.plan_compaction() if plan is None else plan
        if made is None:
            return False
        work = self._work(Aside())
        work.take(shrinking.shrunk(made, self._summarise) if summary is None else apply(made, summary), "asked")
        self._done(work)
        return True

    def restart(
        self,
        messages: Sequence[Any],
        *,
        trigger: str = "asked",
        used: int | None = None,
        also: Lines = (),
        event: dict[str, Any] | None = None,
    ) -> None:
        """Go on in a fresh context that begins with these messages; what was there leaves and can be recalled.

        Args:
            messages: what to begin with.
            trigger: why; `sub_tick` is counted.
            used: the use that led to it, which may be worth a warning.
            also: entries of the caller's own that are written to the log with it.
            event: the fields of the `sub_tick` event.

        Raises:
            InvalidValue: a message that cannot be.
        """
        work = self._work(Aside())
        if used is not None:
            work.warn(used)
        work.restart(messages, trigger, event)
        work.lines.extend(also)
        self._done(work)

    def record_usage(
        self,
        usage: Any = None,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int | None = None,
    ) -> Reported:
        """Take what a provider reported for the last prompt: it corrects an estimate, and the status shows it.

        Args:
            usage: the `usage` of an answer of Chat Completions, Responses or Messages, or the whole answer.
            input_tokens: tokens of the whole prompt, cached ones included.
            output_tokens: tokens of the answer.
            cached_tokens: tokens of the prompt that were found in the cache.

        Raises:
            InvalidValue: it is none of these.
        """
        told = reported(usage, input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached_tokens)
        work = self._work(Aside())
        recount = work.learn(told)
        self._done(work)
        if recount:
            share(self._journal.store, self.settings.model, self._state.calibrating.calibration)
        return told

    def refused(self, overflow: Overflow, *, retried: bool = False) -> int:
        """Take note that a provider refused the last prompt as too long, and return the smaller budget from now on."""
        work = self._work(Aside())
        work.refuse(overflow, retried=retried)
        self._done(work)
        return self.budget

    def status(self) -> Status:
        """Return how full it is."""
        return self._state.status(self.id)

    def meta(self, state: SessionState | None = None) -> dict[str, Any]:
        """Return what the store's list of sessions says of it."""
        return {**self.about, "status": (state or self._state).status(self.id).to_dict()}

    def notify(self, text: str) -> None:
        """Tell the user something, by `on_notice` and in `notices`."""
        self._telling.notify(text)

    def _aside(self, system: Any, tools: Tools | None, memory: Memory | None = None) -> Aside:
        """Return what stands beside the conversation, with what is pinned."""
        pinned = pins.written(self._state.pins)
        return Aside.of(system, tools, memory, self.settings.most_memory, self.meter, pinned=pinned)

    def _work(self, aside: Aside, query: str | None = None, most: int | None = None) -> Prompting:
        """Return the work on a copy of the state."""
        state = self._state.copy()
        if most is not None:
            units("budget", most)
        asked = {"summarise": self._summarise, "capture": self._capture, "query": query, "most": most}
        return Prompting(state=state, aside=aside, **asked)

    def _done(self, work: Prompting) -> None:
        """Write what a piece of work has gathered, take over its state, and tell of it."""
        self._write(work.lines, work.texts, work.state)
        self._state = work.state
        self._telling.tell(work.events)

    def _write(self, lines: Lines, texts: Mapping[str, str] | None = None, state: SessionState | None = None) -> None:
        self._journal.write([*lines, (META, self.meta(state))], texts)
