"""Repeated work towards a goal, in contexts that never grow too large.

The loop runs one step after the other. When the context reaches the tick's share of the window, the loop waits until no
tool call is open, extracts what the next context needs, and continues in a fresh context. Iterations, cost and results
are counted over the whole loop. Every step is durable before the next begins. If the store fails, the next run writes
the step.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

from brim.errors import Conflict, InvalidType, InvalidValue, StoreError, UnknownName, shown
from brim.history.compact.continuation import continuation
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions.compaction import Summariser
from brim.sessions.learning.usage import reported
from brim.sessions.log.dropped_texts import Line
from brim.sessions.loop import brief
from brim.sessions.loop.brief import handover_summary
from brim.sessions.loop.definition import KIND, Definition, definition_in
from brim.sessions.loop.limits import Limits
from brim.sessions.loop.progress import CONTINUATION, RESULT, Progress, progress_in
from brim.sessions.loop.step import Outcome, Step, Tick
from brim.sessions.session import Given, Session, SessionExists
from brim.sessions.store_owner import StoreOwner
from brim.store import opened_store
from brim.store.base import Body
from brim.store.store import Store
from brim.store.values import copied, stored
from brim.wire import Format, wire
from brim.wire.overflow import is_overflow

Act = Callable[[Tick], "Step | Awaitable[Step]"]
_Ticks = Generator[Tick, Step, Outcome]


class Loop(StoreOwner):
    """Repeated work towards a goal."""

    def __init__(
        self,
        goal: str,
        act: Act,
        *,
        window: Window | int | None = None,
        model: str | None = None,
        tick_cap: float | str = 0.15,
        store: Store | str | None = None,
        max_iterations: int = 20,
        id: str | None = None,
        meter: Given = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        clock: Callable[[], float] = time.time,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        format: Format | None = None,
        tool_limit: int | str = "25%",
        summarise: Summariser | None = None,
        **limits: Any,
    ) -> None:
        """Create a loop; `run` runs it.

        Args:
            goal: the goal, which begins the first message of every context.
            act: performs one step: takes a `Tick` and returns a `Step`; it may be async.
            window: the window of the model; by default that of the catalogue.
            model: the model that is called.
            tick_cap: the share of the window at which a tick continues in a fresh context.
            store: the store that keeps the loop, so that it can be resumed, or its URL; by default memory.
            max_iterations: the most iterations.
            id: its name in the store; by default a new one.
            meter: the meter; by default the model's.
            system: the system prompt of every context.
            tools: the tool definitions of every request.
            clock: returns the time in seconds.
            observers: receive events, in addition to the observers of the process.
            on_notice: called with notices for the user, if `boundary` is `visible`.
            format: the format of the messages; by default it is detected.
            tool_limit: the most tokens of each text of a tool result, or a share of the tick's budget.
            summarise: a model, or a function from a text and a limit to a summary, that summarises each context when it
                ends; by default the hand-over is extracted.
            limits: `max_sub_ticks`, `max_steps`, `max_cost`, `max_seconds`, `boundary`, `handoff_share`,
                `handoff_tokens`: see `Limits`.

        Raises:
            InvalidValue: an argument is invalid, or the store has a loop of this id.
            UnknownName: the model or the meter is unknown.
        """
        first = Limits(goal=goal, tick_cap=tick_cap, max_iterations=max_iterations)
        definition = Definition.of(first.changed(limits), window, model, system, tools)
        progress = Progress()
        begun: list[Line] = [(KIND, definition.to_dict()), ("event", {"event": "loop", "progress": progress.to_dict()})]
        options: dict[str, Any] = {"model": model, "meter": meter, "format": format, "tool_limit": tool_limit}
        options |= {"clock": clock, "observers": observers, "on_notice": on_notice}
        options |= {"store": store, "id": id, "compact_at": "never", "also": begun}
        try:
            session = Session(definition.tick_window, summarise=summarise, **options)
        except SessionExists as error:
            expected = "unused: brim.Loop.resume(id, act=..., store=...) continues a loop"
            raise SessionExists("id", id, expected) from error
        self._set_up(session, definition, progress, act, session._owned)

    def _set_up(
        self, session: Session, definition: Definition, progress: Progress, act: Act, owned: Store | None
    ) -> None:
        if not callable(act):
            raise InvalidType("act", act, "a function from a Tick to a Step")
        self.session, self._owned = session, owned
        """The session of its contexts."""
        self.limits = definition.limits
        self.progress = progress
        self._act, self._system, self._tools = act, definition.system, definition.tools
        self._stopped = False
        self._changes: list[Line] = []
        """The entry of a changed definition, which the next step writes."""
        self._made: tuple[Step, Tick, float] | None = None
        """A step that is not yet written, with its duration in seconds."""
        self._usage: Any = None
        """The usage of a step that is not recorded yet."""
        self._timer = time.monotonic if session.clock is time.time else session.clock
        session.sole_writer = True
        session.about = {"kind": "loop", "goal": self.limits.goal[:200]}

    @classmethod
    def resume(
        cls,
        id: str,
        *,
        act: Act,
        store: Store | str,
        window: Window | int | None = None,
        model: str | None = None,
        meter: Given = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        clock: Callable[[], float] = time.time,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        summarise: Summariser | None = None,
        **limits: Any,
    ) -> Loop:
        """Return a stored loop, to continue after its last step; finished steps are never repeated.

        Its goal, window, model, system prompt, tools and limits are stored. Arguments replace all but the goal, so that
        a loop that ended at a limit can continue; the next step stores them. Another model brings its own window,
        unless the loop has one of the caller's; `tick_cap` applies to either.

        Raises:
            UnknownName: the store has no loop of this id, or there is no such model.
            InvalidValue: an argument is invalid.
            StoreError: the store cannot be read or written, or the log of the loop is damaged.
        """
        kept, owned = opened_store(store)
        assert kept is not None
        before = definition_in(kept, id)
        if before is None:
            raise UnknownName("loop", id, [row.id for row in kept.sessions(limit=1_000) if row.id != id])
        definition = before.changed(limits, window=window, model=model, system=system, tools=tools)
        options: dict[str, Any] = {"meter": meter, "clock": clock, "observers": observers, "on_notice": on_notice}
        options |= {"window": definition.tick_window, "model": definition.model}
        session = Session.open(id, store=kept, summarise=summarise, **options)
        # Entries that another worker wrote since the session was read are ignored.
        progress = progress_in(kept, id, session.number)
        loop = cls.__new__(cls)
        loop._set_up(session, definition, progress, act, owned)
        loop._changes = [(KIND, definition.to_dict())] if definition != before else []
        return loop

    @property
    def id(self) -> str:
        """Its name in the store."""
        return self.session.id

    def __repr__(self) -> str:
        return f"<Loop {self.id!r}: {shown(self.limits.goal)}, {self.progress.iterations:,} iterations>"

    def __dir__(self) -> list[str]:
        return ["arun", "close", "id", "outcome", "resume", "run", "session", "stop"]

    def stop(self) -> None:
        """End the loop after the current step; it can be resumed."""
        self._stopped = True

    def run(self, ticks: int | None = None) -> Outcome:
        """Run to the end, or for `ticks` iterations, and return the outcome; an async `act` is awaited.

        Raises:
            StoreError: the store cannot be written. Run it again: the finished step is written, but not repeated.
            Conflict: another worker runs this loop.
            InvalidType: `act` is async and an event loop is running: use `await arun()` instead.
        """
        if _is_async(self._act):
            return _run_async(self.arun(ticks), self._act)  # type: ignore[no-any-return]
        steps = self._steps(ticks)
        try:
            tick = next(steps)
            while True:
                try:
                    step = self._act(tick)
                    if inspect.isawaitable(step):
                        step = _run_async(step, self._act)
                except Exception as error:  # Raised again unless a smaller prompt helps.
                    tick = steps.throw(error)
                else:
                    tick = steps.send(step)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def arun(self, ticks: int | None = None) -> Outcome:
        """Like `run`, inside an event loop; the store is used in a thread."""
        steps = self._steps(ticks)
        ended, found = await _in_thread(_advance, next, steps)
        while not ended:
            try:
                step: Any = self._act(found)
                if inspect.isawaitable(step):
                    step = await step
            except Exception as error:  # Raised again unless a smaller prompt helps.
                ended, found = await _in_thread(_advance, steps.throw, error)
            else:
                ended, found = await _in_thread(_advance, steps.send, step)
        return found  # type: ignore[no-any-return]

    def _steps(self, ticks: int | None) -> _Ticks:
        """Yield each tick, receive its step, and finally return the outcome."""
        until = None if ticks is None else self.progress.iterations + ticks
        self._settle()
        if not self.session.own_messages:
            self.session.add(self._say(self.limits.goal))
        while (ended := self._ended(until)) is None:
            tick = self._tick()
            began = self._timer()
            try:
                step = yield tick
            except Exception as error:  # The caller's act may raise anything; only an overflow is retried.
                self._shrink(error, tick)
                step = yield (tick := self._tick())
            if not isinstance(step, Step):
                raise InvalidType("the result of act", step, "a Step")
            self._made = (step, tick, max(0.0, self._timer() - began))
            self._settle()
        if ended != self.progress.ended:
            progress = self.progress.copy()
            progress.ended = ended
            if ended in ("paused", "stopped"):
                self.progress = progress
            else:
                self._write(progress, {"event": "end"})
        return self.outcome()

    def _ended(self, until: int | None) -> str | None:
        """Return the reason to end here; `None` to continue."""
        if self.progress.ended == "goal":
            return "goal"
        if self.progress.steps_here >= self.limits.max_steps:
            return "max_steps"
        if self.session.unfinished:
            return None  # A call needs its result before the loop may end.
        if reached := self.limits.reached(self.progress):
            return reached
        if self.progress.sub_tick >= self.limits.max_sub_ticks and self._full() is not None:
            return "max_sub_ticks"
        if self._stopped:
            return "stopped"
        return "paused" if until is not None and self.progress.iterations >= until else None

    def _tick(self) -> Tick:
        """Return the next tick, in a fresh context if the old one has reached its share of the window."""
        session = self.session
        if (used := self._full()) is not None:
            self._hand_over(used)
        fitted, progress = session.prompt(self._system, self._tools), self.progress
        return Tick(
            messages=fitted.messages,
            goal=self.limits.goal,
            iteration=progress.iterations + 1,
            sub_tick=progress.sub_tick,
            state=copied(progress.state),
            results=tuple(copied(progress.results)),
            system=copied(self._system),
            tools=copied(self._tools),
            used=fitted.used,
            budget=fitted.budget,
            continuation=progress.continuation,
        )

    def _full(self) -> int | None:
        """Return the tokens of the context if it has reached its share and can end now; otherwise `None`."""
        session = self.session
        if session.unfinished or self.progress.fresh:
            return None
        used = session.estimate(self._system, self._tools)
        return used if used >= session.budget else None

    def _hand_over(self, used: int) -> None:
        """Continue in a fresh context with a hand-over from the old one, and messages that the model has not read."""
        session, limits, meter = self.session, self.limits, self.session.meter
        limit = limits.handoff(session.budget)
        progress, messages = self.progress.copy(), session.own_messages
        if progress.continuation is not None:  # It covers the first message, except what the user says there.
            messages = [*([self._say(progress.said)] if progress.said else []), *messages[1:]]
        most = len(messages) - (progress.continuation is None)  # The goal itself is repeated anyway.
        unread = messages[len(messages) - min(session.unread, most) :]
        read = messages[: len(messages) - len(unread)]
        progress.sub_tick += 1
        progress.sub_ticks += 1
        progress.fresh = True
        progress.continuation = continuation(
            read,
            goal=limits.goal,
            previous=progress.continuation,
            iteration=progress.iterations + 1,
            sub_tick=progress.sub_tick,
            summary=handover_summary(session, read, progress.continuation, limit),
        )
        progress.said, going_over = brief.said_and_rest(unread, session.format)
        opening = brief.opening(limits.goal, progress, meter, limit)
        also: list[tuple[str, Body]] = [("event", {"event": "sub_tick", "progress": progress.to_dict()})]
        also.append((CONTINUATION, {CONTINUATION: progress.continuation.to_dict()}))
        event = {"iteration": progress.iterations + 1, "sub_tick": progress.sub_tick, "before_tokens": used}
        first = [self._say(opening), *going_over]
        session.restart(first, trigger="sub_tick", used=used, also=also, event=event)
        self.progress = progress
        if limits.boundary == "visible":
            session.notify(brief.boundary(progress))

    def _settle(self) -> None:
        """Write the last step and record its usage; after a failure of the store the next run tries again."""
        try:
            refused = None if self._made is None else self._record(*self._made)
            self._made = None
            if self._usage is not None:
                self.session.record_usage(self._usage)
            self._usage = None
        except Exception as error:  # Only a failure of the store can be tried again.
            if isinstance(error, Conflict) or not isinstance(error, StoreError):
                self._made = self._usage = None
            raise
        if refused is not None:
            raise refused

    def _record(self, step: Step, tick: Tick, seconds: float) -> InvalidValue | None:
        """Write the progress of a step; return why its state or its result is invalid, which is left out then."""
        session, progress = self.session, self.progress.copy()
        progress.seconds = round(progress.seconds + seconds, 6)
        progress.steps += 1
        progress.steps_here += 1
        progress.fresh = False
        progress.state, refused = _valid(lambda: step.kept_state(tick), progress.state)
        result, refused_result = _valid(lambda: stored("Step result", step.result), None)
        progress.cost = round(progress.cost + step.dollars(session.settings.model), 9)
        if result is not None:
            progress.results.append(result)
        if step.end != "continue":
            progress.iterations += 1
            progress.sub_tick = 0
            if not session.unfinished:  # While a call is open, only this count ends the loop.
                progress.steps_here = 0
        progress.ended = "goal" if step.end == "goal" else None  # It may have been paused before.
        nudge = brief.nudge(step, progress, self.limits, session)
        messages = [*step.messages, *map(self._say, nudge)]
        results: list[Line] = [] if result is None else [(RESULT, {RESULT: result})]
        self._write(progress, {"event": "step", "end": step.end}, messages, results)
        if step.usage is not None and reported(step.usage).input is not None:
            self._usage = step.usage
        return refused or refused_result

    def _write(self, progress: Progress, event: Body, messages: Sequence[Any] = (), also: Sequence[Line] = ()) -> None:
        """Write the progress with messages and other entries, and continue with it."""
        self.session.about |= {"iterations": progress.iterations, "ended": progress.ended}
        event = {**event, "progress": progress.to_dict()}
        self.session.add(list(messages), also=[*self._changes, ("event", event), *also])
        self.progress, self._changes = progress, []

    def _shrink(self, error: Exception, tick: Tick) -> None:
        """Make prompts smaller after a refusal, so that the step can be retried.

        Raises:
            Exception: `error`, if it is not an overflow error or a tool call was already sent.
        """
        overflow = is_overflow(error)
        if overflow is None:
            raise error
        self.session.refused(overflow, retried=not tick.emitted)
        if tick.emitted:
            raise error

    def _say(self, text: str) -> Any:
        return wire(self.session.format).say(text)

    def outcome(self) -> Outcome:
        """Return the outcome so far."""
        progress = self.progress
        return Outcome(
            id=self.id,
            ended=progress.ended or "paused",
            iterations=progress.iterations,
            sub_ticks=progress.sub_ticks,
            steps=progress.steps,
            results=copied(progress.results),
            state=copied(progress.state),
            cost=progress.cost,
            seconds=progress.seconds,
        )


def _valid(value: Callable[[], Any], otherwise: Any) -> tuple[Any, InvalidValue | None]:
    """Return a value and no error, or another value and why the first one is invalid."""
    try:
        return value(), None
    except InvalidValue as error:
        return otherwise, error


def _advance(step: Callable[..., Any], *given: Any) -> tuple[bool, Any]:
    """Return whether a generator has ended, and what it yields or returns; StopIteration cannot leave a coroutine."""
    try:
        return False, step(*given)
    except StopIteration as end:
        return True, end.value


def _is_async(act: Any) -> bool:
    """Return whether calling `act` returns an awaitable."""
    return inspect.iscoroutinefunction(act) or inspect.iscoroutinefunction(getattr(act, "__call__", None))  # noqa: B004


def _run_async(waiting: Any, act: object) -> Any:
    """Return the result of an awaitable, from outside any event loop.

    Raises:
        InvalidType: an event loop is running.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_waited(waiting))
    waiting.close()
    raise InvalidType("act", act, "awaited with arun() inside a running event loop")


async def _waited(waiting: Any) -> Any:
    """Return the result of an awaitable."""
    return await waiting


async def _in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a function that may wait for a store, in a thread.

    It finishes even if the task is cancelled, so a step is written whole or not at all.
    """
    work = asyncio.ensure_future(asyncio.to_thread(function, *given))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
