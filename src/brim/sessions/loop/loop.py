"""Repeated work towards a goal, in contexts that never grow too large.

The loop asks for one step after the other. When the context nears the tick's share of the window, it stops where no
call waits for its result, extracts what the next context has to know, and goes on in a fresh one. From outside it is
one loop: iterations, cost and results add up. Every step is durable before the next begins.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from brim.amounts import fraction
from brim.errors import InvalidType, UnknownName
from brim.history.compact.continuation import continuation
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions.loop import brief
from brim.sessions.loop.limits import Limits
from brim.sessions.loop.progress import Progress
from brim.sessions.loop.step import Outcome, Step, Tick
from brim.sessions.session import Given, Session
from brim.sessions.usage import reported
from brim.store.base import META, Store
from brim.wire import wire
from brim.wire.base import jsonable
from brim.wire.overflow import is_overflow

Act = Callable[[Tick], "Step | Awaitable[Step]"]
Course = Generator[Tick, Step, Outcome]

_LIMITS = ("handoff_share", "max_sub_ticks", "max_steps", "max_cost", "max_seconds", "boundary")


class Loop:
    """Repeated work towards a goal."""

    def __init__(
        self,
        goal: str,
        act: Act,
        *,
        window: Window | int | None = None,
        model: str | None = None,
        tick_cap: float | str = 0.15,
        store: Store | None = None,
        max_iterations: int = 20,
        id: str | None = None,
        meter: Given = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        clock: Callable[[], float] = time.time,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        format: str | None = None,
        tool_limit: int | str = "25%",
        **more: Any,
    ) -> None:
        """Begin a loop; `run` runs it.

        Args:
            goal: what it is for. It is the first message of every context.
            act: makes one step: it gets a `Tick` and returns a `Step`; it may be async.
            window: what the model holds; without it, the window of `model`.
            model: the model that is asked.
            tick_cap: the share of the window from which a tick goes on in a fresh context.
            store: where the loop is kept, so that it can be resumed; without one it is gone with the process.
            max_iterations: how many iterations it has at the most.
            id: its name in the store; one is made where none is given.
            meter: what measures; without it, the model's meter.
            system: the system prompt of every context.
            tools: the tools that are sent along.
            clock: what tells the time, in seconds.
            observers: who is told of events, beside those that watch the process.
            on_notice: called with what the user should be told, where `boundary` is `visible`.
            shape: the shape of the messages; without it, what they look like.
            tool_limit: the most units of one result of a tool, or a share of the tick's budget.
            more: `max_sub_ticks`, `max_steps`, `max_cost`, `max_seconds`, `boundary`, `handoff_share`: see `Limits`.

        Raises:
            InvalidValue: an argument that cannot be, or the store has a loop of this id.
            UnknownName: no such model or meter.
        """
        brief.check_names(more, _LIMITS)
        limits = Limits(goal=goal, tick_cap=tick_cap, max_iterations=max_iterations, **more)
        first = {"limits": limits.to_dict(), "system": jsonable(system), "tools": jsonable(tools)}
        begun = [("event", {"event": "loop", **first, "progress": Progress().to_dict()})]
        told: dict[str, Any] = {
            "clock": clock,
            "observers": observers,
            "on_notice": on_notice,
            "format": format,
            "tool_limit": tool_limit,
        }
        told |= {"model": model, "meter": meter, "store": store, "id": id, "compact_at": "never", "also": begun}
        self._set(Session(limits.window(window, model), **told), limits, Progress(), act)
        self._system, self._tools = system, tools

    def _set(self, session: Session, limits: Limits, progress: Progress, act: Act) -> None:
        if not callable(act):
            raise InvalidType("act", act, "a function from a Tick to a Step")
        self.session = session
        """The session that its contexts are in."""
        self.limits = limits
        self.progress = progress
        self._act = act
        self._stopped = False
        session.about = {"kind": "loop", "goal": limits.goal[:200]}

    @classmethod
    def resume(
        cls,
        id: str,
        *,
        act: Act,
        store: Store,
        meter: Given = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        clock: Callable[[], float] = time.time,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        **more: Any,
    ) -> Loop:
        """Return a loop as its last step left it: a step that is done is never made again.

        Its goal, its system prompt, its tools and its limits are those that it began with; what is given here stands in
        for the old one, so that a loop which ended by a limit can go on.

        Raises:
            UnknownName: the store has no loop of this id.
        """
        brief.check_names(more, (*_LIMITS, "max_iterations"))
        session = Session.open(id, store=store, meter=meter, clock=clock, observers=observers, on_notice=on_notice)
        # Another worker may have written since the session was read: what it wrote is none of this one's.
        known = [entry for entry in store.entries(id, kinds=["event"]) if entry.number <= session.number]
        events = [entry.body for entry in known if "progress" in entry.body]
        if not events:
            raise UnknownName("loop", id, [row.id for row in store.sessions(limit=1_000)])
        progress = Progress()
        for body in events:
            progress.take(body)
        limits = Limits.from_dict({**events[0]["limits"], **more})
        made = cls.__new__(cls)
        made._set(session, limits, progress, act)
        made._system = events[0]["system"] if system is None else system
        made._tools = events[0]["tools"] if tools is None else tools
        return made

    @property
    def id(self) -> str:
        """Its name in the store."""
        return self.session.id

    def stop(self) -> None:
        """Have it end after the step that runs; it can be resumed."""
        self._stopped = True

    def run(self, ticks: int | None = None) -> Outcome:
        """Run it to its end, or for so many iterations, and return what became of it; an async `act` is awaited.

        Raises:
            InvalidType: `act` is async and this is called inside an event loop: await `arun` there.
        """
        if _is_async(self._act):
            made: Outcome = _awaited(self.arun(ticks), self._act)
            return made
        course = self._course(ticks)
        try:
            tick = next(course)
            while True:
                try:
                    step: Any = self._act(tick)
                    if inspect.isawaitable(step):
                        step = _awaited(step, self._act)
                except Exception as error:  # The course raises it again, unless a smaller prompt helps.
                    tick = course.throw(error)
                else:
                    tick = course.send(step)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome

    async def arun(self, ticks: int | None = None) -> Outcome:
        """Run it to its end, or for so many iterations, inside an event loop."""
        course = self._course(ticks)
        try:
            tick = next(course)
            while True:
                try:
                    step: Any = self._act(tick)
                    if inspect.isawaitable(step):
                        step = await step
                except Exception as error:  # As in `run`.
                    tick = course.throw(error)
                else:
                    tick = course.send(step)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome

    def _course(self, ticks: int | None) -> Course:
        """Yield one tick after the other, be sent the step of each, and return the outcome."""
        until = None if ticks is None else self.progress.iterations + ticks
        if not self.session.messages:
            self.session.add(self._say(self.limits.goal))
        while (ended := self._ended(until)) is None:
            began, tick = self.session.clock(), self._tick()
            step: object
            try:
                step = yield tick
            except Exception as error:  # A caller's own act may raise anything; only an overflow is tried again.
                self._smaller(error, tick)
                step = yield (tick := self._tick())
            self._take(brief.checked(step), tick, max(0.0, self.session.clock() - began))
        if ended != self.progress.ended:
            progress = self.progress.copy()
            progress.ended = ended
            if ended in ("paused", "stopped"):
                self.progress = progress
            else:
                self._note(progress, "end", {})
        return self.outcome()

    def _ended(self, until: int | None) -> str | None:
        """Return why it ends here, if it does."""
        if self.progress.ended == "goal":
            return "goal"
        if self.progress.steps_here >= self.limits.max_steps:
            return "max_steps"
        if self.session.unfinished:
            return None  # The result of a call comes before any other end.
        if reached := self.limits.reached(self.progress):
            return reached
        if self.progress.sub_tick >= self.limits.max_sub_ticks and self._full() is not None:
            return "max_sub_ticks"
        if self._stopped:
            return "stopped"
        return "paused" if until is not None and self.progress.iterations >= until else None

    def _tick(self) -> Tick:
        """Return the next tick, in a fresh context where the old one has reached its share of the window."""
        session = self.session
        if (used := self._full()) is not None:
            self._hand_over(used)
        fitted, progress = session.prompt(self._system, self._tools), self.progress
        return Tick(
            messages=fitted.messages,
            goal=self.limits.goal,
            iteration=progress.iterations + 1,
            sub_tick=progress.sub_tick,
            state=deepcopy(progress.state),
            results=tuple(progress.results),
            system=self._system,
            tools=self._tools,
            used=fitted.used,
            budget=fitted.budget,
            continuation=progress.continuation,
        )

    def _full(self) -> int | None:
        """Return the use of a context that has reached its share and can end here; nothing for any other."""
        session = self.session
        if session.unfinished or self.progress.fresh:
            return None
        used = session.estimate(self._system, self._tools)
        return used if used >= session.budget else None

    def _hand_over(self, used: int) -> None:
        """Go on in a fresh context with what the old one has to hand over."""
        session, limits = self.session, self.limits
        limit = max(1, int(session.budget * fraction("handoff_share", limits.handoff_share)))
        progress = self.progress.copy()
        progress.sub_tick += 1
        progress.sub_ticks += 1
        progress.fresh = True
        progress.continuation = continuation(
            session.messages,
            goal=limits.goal,
            meter=session.meter,
            limit=limit,
            previous=progress.continuation,
            iteration=progress.iterations + 1,
            sub_tick=progress.sub_tick,
        )
        text = brief.reopening(limits.goal, progress, session.meter, limit)
        body = {"event": "sub_tick", "progress": progress.to_dict(), "continuation": progress.continuation.to_dict()}
        told = {"iteration": progress.iterations + 1, "sub_tick": progress.sub_tick, "before_tokens": used}
        session.restart([self._say(text)], trigger="sub_tick", used=used, also=[("event", body)], event=told)
        self.progress = progress
        if limits.boundary == "visible":
            session.notify(brief.boundary(progress))

    def _take(self, step: Step, tick: Tick, seconds: float) -> None:
        """Write down what a step has done."""
        session, progress = self.session, self.progress.copy()
        progress.seconds += seconds
        progress.steps += 1
        progress.steps_here += 1
        progress.fresh = False
        progress.state = dict(tick.state if step.state is None else step.state)
        progress.cost = round(progress.cost + brief.cost(step, session.settings.model), 9)
        if step.result is not None:
            progress.results.append(step.result)
        if step.end != "continue":
            progress.iterations += 1
            progress.sub_tick = progress.steps_here = 0
        if step.end == "goal":
            progress.ended = "goal"
        nudge = brief.nudge(step, progress, self.limits, session)
        messages = [*step.messages, *map(self._say, nudge)]
        self._note(progress, "step", {"end": step.end, "result": step.result}, messages)
        if step.usage is not None and reported(step.usage).input is not None:
            session.record_usage(step.usage)

    def _note(self, progress: Progress, name: str, fields: Mapping[str, Any], messages: Sequence[Any] = ()) -> None:
        """Write how far it has come, and messages with it, and go on from there."""
        self.session.about |= {"iterations": progress.iterations, "ended": progress.ended}
        body = {"event": name, **fields, "progress": progress.to_dict()}
        self.session.add(list(messages), also=[("event", body), (META, self.session.meta())])
        self.progress = progress

    def _smaller(self, error: Exception, tick: Tick) -> None:
        """Make prompts smaller after a refusal, so that the step can be tried once more.

        Raises:
            Exception: the error itself, where it is something else or a tool call has gone out.
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
        """Return what became of it so far."""
        progress = self.progress
        return Outcome(
            id=self.id,
            ended=progress.ended or "paused",
            iterations=progress.iterations,
            sub_ticks=progress.sub_ticks,
            steps=progress.steps,
            results=list(progress.results),
            state=dict(progress.state),
            cost=progress.cost,
            seconds=progress.seconds,
        )


def _is_async(act: Any) -> bool:
    return inspect.iscoroutinefunction(act) or inspect.iscoroutinefunction(getattr(act, "__call__", None))  # noqa: B004


def _awaited(waiting: Any, act: object) -> Any:
    """Return what an awaitable gives, from outside any event loop.

    Raises:
        InvalidType: this is inside one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_await(waiting))
    waiting.close()
    raise InvalidType("act", act, "awaited by arun() inside a running event loop")


async def _await(waiting: Any) -> Any:
    return await waiting
