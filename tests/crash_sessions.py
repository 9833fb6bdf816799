"""Sessions and loops that are killed: opened again they are what they would be, had nobody killed them."""

from __future__ import annotations

import random
from typing import Any

from brim.errors import UnknownName
from brim.history.result import Fitted
from brim.meter.window import Window
from brim.sessions import Session
from brim.sessions.conversations import Conversations
from brim.sessions.loop import Loop, Step, Tick
from brim.sessions.session_step import PromptLimit, SessionStep
from brim.store import Store, open_store
from crashes import Ack, Place, Scenario
from sessions.talking import turn

_WINDOW = Window(6_000, cap=0.5, warn=0.3)


def _opened(store: Store | None, name: str) -> Session:
    """Return the session as it was left, or a new one."""
    if store is not None:
        try:
            return Session.open(name, store=store, summarise="extract")
        except UnknownName:
            pass
    return Session(_WINDOW, meter="chars", store=store, id=name, summarise="extract")


def _step(talk: Session) -> str:
    """Do what comes next: a prompt for the last turn, or another turn; return how far it has come."""
    told = talk.status()
    if told.prompts * 4 < told.messages:
        talk.prompt(system="Be brief.", memory=["tea"])
    else:
        talk.add(turn(told.messages // 4))
    return _far(talk)


def _far(talk: Session) -> str:
    told = talk.status()
    return str(told.messages + told.prompts)


def write_session(place: Place, dice: random.Random, ack: Ack) -> None:
    """Talk, make prompts and compact."""
    with open_store(place.url) as store:
        talk = _opened(store, place.name)
        while True:
            ack(_step(talk))


def check_session(place: Place, acked: list[str]) -> None:
    """See that the session is one that was never closed, and has all that was acknowledged."""
    with open_store(place.url) as store:
        talk = _opened(store, place.name)
        far = int(_far(talk))
        assert far >= max(map(int, acked), default=0), "what was acknowledged is lost"
        never = _opened(None, place.name)
        while int(_far(never)) < far:
            _step(never)
        assert talk.status() == never.status()
        if talk.messages:
            mine, its = map(_next_prompt, (talk, never))
            assert mine.messages == its.messages, "the next prompt is another one"
        for entry in store.entries(place.name, kinds=["dropped"])[-5:]:
            for name in entry.body["turns"]:
                assert store.text(name) is not None, "a text that left the prompt is lost"


def _next_prompt(session: Session) -> Fitted:
    """Return the next prompt, without writing it."""
    step = SessionStep(state=session._state.copy(), number=None)
    return step.prompt(session.parts("Be brief.", None), PromptLimit(session.budget))


class _Acting:
    """Makes the same steps each time, and acknowledges one when the next is asked for."""

    def __init__(self, ack: Any, until: int | None = None) -> None:
        self.ack = ack
        self.until = until
        self.loop: Loop | None = None

    def __call__(self, tick: Tick) -> Step:
        k = tick.state.get("k", 0)
        if k:
            self.ack(str(k))
        tick.state["k"] = k + 1
        if self.loop is not None and k + 1 == self.until:
            self.loop.stop()
        return Step(
            messages=turn(k)[1:], end="iteration" if k % 10 == 9 else "continue", result=k if k % 10 == 9 else None
        )


def _loop(store: Store | None, name: str, act: Any) -> Loop:
    if store is not None:
        try:
            return Loop.resume(name, act=act, store=store)
        except UnknownName:
            pass
    asked = {"max_iterations": 10**6, "tick_cap": 0.4, "clock": lambda: 0.0}
    return Loop("Port it.", act, window=_WINDOW, meter="chars", store=store, id=name, **asked)


def write_loop(place: Place, dice: random.Random, ack: Ack) -> None:
    """Run a loop without an end."""
    with open_store(place.url) as store:
        _loop(store, place.name, _Acting(ack)).run()


def check_loop(place: Place, acked: list[str]) -> None:
    """See that no acknowledged step is lost or made twice, and that the context is that of a loop never killed."""
    with open_store(place.url) as store:
        made = _loop(store, place.name, _Acting(lambda _: None))
        steps = made.progress.steps
        assert steps >= max(map(int, acked), default=0), "a step that was acknowledged is lost"
        _in_order(store, place.name)
        if not steps:
            return
        act = _Acting(lambda _: None, until=steps)
        never = act.loop = _loop(None, place.name, act)
        never.run()
        mine, its = ({**each.progress.to_dict(), "seconds": 0, "ended": None} for each in (made, never))
        if mine["sub_ticks"] == its["sub_ticks"]:  # A context that has just begun has not got to its step yet.
            assert mine == its
            assert made.session.messages == never.session.messages, "the context is another one"
        else:
            assert mine["sub_ticks"] == its["sub_ticks"] + 1


def _in_order(store: Store, name: str) -> int:
    events = [entry.body for entry in store.entries(name, kinds=["event"]) if entry.body["event"] == "step"]
    made = [body["progress"]["steps"] for body in events]
    assert made == list(range(1, len(made) + 1)), f"steps were made twice or lost: {made}"
    return len(made)


def _history(steps: int) -> list[Any]:
    return [message for i in range(steps) for message in turn(i)]


def _logged(store: Store, name: str) -> list[Any]:
    return [entry.body["message"] for entry in store.entries(name, kinds=["message"])]


def write_requests(place: Place, dice: random.Random, ack: Ack) -> None:
    """Send requests that bring their whole history."""
    with open_store(place.url) as store:
        engine = Conversations(3_000, model="gpt-4o", store=store)
        while True:
            steps = len(_logged(store, place.name)) // 4 + 1
            engine.request(_history(steps), session=place.name)
            ack(str(steps))


def check_requests(place: Place, acked: list[str]) -> None:
    """See that each message is in the log once, that all acknowledged ones are, and that the next request goes on."""
    with open_store(place.url) as store:
        said = _logged(store, place.name)
        assert said == _history(len(said) // 4), "a message is lost, or there twice"
        assert len(said) // 4 >= max(map(int, acked), default=0), "what was acknowledged is lost"
        engine = Conversations(3_000, model="gpt-4o", store=store)
        request = engine.request(_history(len(said) // 4 + 1), session=place.name)
        assert request.messages[-1] == _history(len(said) // 4 + 1)[-1]
        assert all(request.session.recall(each) for each in list(request.session._journal.dropped.handles())[-5:])


RUNNING = {
    "sessions and compactions": Scenario(write=write_session, check=check_session),
    "loop steps": Scenario(write=write_loop, check=check_loop),
    "requests with their history": Scenario(write=write_requests, check=check_requests),
}
"""What is killed, by name."""
