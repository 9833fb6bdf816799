"""Programs that run while a store, a model's server or a clock fails, and what must be the same at their end.

A program is a function of a `World`, in which calls are counted and may fail; it does again what raised, as its caller
would. What it returns is compared with what it returns if nothing fails: another program is one more function and a
row in `PROGRAMS`.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import anthropic
import httpx2
import openai

import brim
from brim.errors import StoreError
from brim.gateway import state as gateway_state
from brim.gateway.http import server as gateway_server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.sessions import Session
from brim.sessions.loop import Loop, Step
from brim.testing import MemoryStore
from faulty import AFTER, BEFORE, FaultyStore
from gateway.conftest import conversation, post
from model_server import ModelServer, running, say
from sessions.talking import turn, window

T = TypeVar("T")

UPSTREAM = ("500", "429", "broken")
"""How a call of a model fails: by a status, or by a connection that ends in the middle of the answer."""
JUMPS = (7_200.0, -7_200.0)
"""Seconds by which a clock jumps once."""
_TRIES = 12
"""How often a caller tries again."""


class Jumping:
    """A clock that goes on by a little with each look, and jumps once."""

    def __init__(self, jumps: Mapping[int, float]) -> None:
        self.jumps, self.looks, self.now = jumps, 0, 1_000_000.0

    def __call__(self) -> float:
        self.looks += 1
        self.now += 0.001 + self.jumps.get(self.looks, 0.0)
        return self.now


class Unreliable(ModelServer):
    """A model's server of which some answers fail."""

    def __init__(self) -> None:
        super().__init__(4_000, "gpt-4o")
        self.faults: dict[int, str] = {}
        self.asked = 0

    async def _answer(self, route: str, values: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        fault = self.faults.get(self.asked)
        if fault == "broken":
            head = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
            if values.get("stream"):
                head = [(b"content-type", b"text/event-stream")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": b"data: {", "more_body": True})
            raise ConnectionError
        if fault is not None:
            await say(send, int(fault), {"error": {"message": "try again", "type": "server_error"}})
            return
        await super()._answer(route, values, receive, send)


@dataclass
class World:
    """A store, a clock and a model's server, whose calls are counted and may fail."""

    folder: Path | None
    server: Unreliable
    url: str
    store_faults: Mapping[int, str] = field(default_factory=dict)
    upstream_faults: Mapping[int, str] = field(default_factory=dict)
    jumps: Mapping[int, float] = field(default_factory=dict)
    again: int = 0
    """How often something was done again after an error."""

    def __post_init__(self) -> None:
        self.clock = Jumping(self.jumps)
        store = MemoryStore(self.clock)
        if self.folder is not None:
            store = brim.open_store(f"sqlite:///{self.folder}/brim.db", clock=self.clock)
        self.store = FaultyStore(store, self.store_faults)
        self.server.__init__()
        self.server.faults = dict(self.upstream_faults)

    def tried(self, call: Callable[..., T], *args: Any, **options: Any) -> T:
        """Return what a call returns, which is done again while it fails."""
        for _ in range(_TRIES):
            try:
                return call(*args, **options)
            except _FAILURES:
                self.again += 1
        return call(*args, **options)


class _Refused(Exception):
    """The gateway answered with an error."""


_FAILURES = (StoreError, openai.APIError, anthropic.APIError, httpx2.RemoteProtocolError, _Refused)
"""What a caller tries again after. The client of Anthropic does not wrap the error of a stream that ends in its middle,
and does not send such a request again: with brim or without, that is left to its caller."""


def _dropped(session: Session) -> list[str]:
    """Return the handles of all dropped texts, each of which is found."""
    names = sorted({name[:11] for name in session._journal.dropped.handles()})
    assert all(session.recall(name) for name in names)
    return names


def _end(world: World, session: Session, **more: Any) -> dict[str, Any]:
    """Return how a session ends, by its log and by the object."""
    store, opened = world.store, Session.open(session.id, store=world.store)
    entries = store.entries(session.id)
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    state = {**session.status().to_dict(), "session": ""}
    assert {**opened.status().to_dict(), "session": ""} == state, "opened again it is another one"
    return {
        "messages": [entry.body["message"] for entry in entries if entry.kind == "message"],
        "kinds": sorted(entry.kind for entry in entries if entry.kind in ("prompt", "usage", "compaction")),
        "status": state,
        "context": session.messages,
        "dropped": _dropped(opened),
        **more,
    }


def sessions(world: World) -> dict[str, Any]:
    """Talk in a session: messages, prompts, usage, a compaction, a fresh context, opened again in between."""
    store, tried = world.store, world.tried
    asked = {"window": window(), "meter": "chars/4", "clock": world.clock}
    talk = tried(Session.open, "s", store=store, create=True, **asked)
    for i in range(10):
        for message in turn(i):
            tried(talk.add, message)
        sent = tried(talk.prompt, system="Be brief.")
        tried(talk.record_usage, input_tokens=sent.used + 3)
        if i == 7:
            tried(talk.compact)
        if i == 8:
            talk = tried(Session.open, "s", store=store, clock=world.clock)
            tried(talk.restart, turn(50), trigger="sub_tick")
    next_prompt = tried(talk.prompt, system="Be brief.").messages
    world.store.faults = {}
    return _end(world, talk, next=next_prompt)


def _history(steps: int) -> list[Any]:
    return [message for i in range(steps) for message in turn(i)]


def conversations(world: World) -> dict[str, Any]:
    """Send requests that bring their whole history, by two objects that take turns, as two processes would."""
    made = [brim.Conversations(2_000, model="gpt-4o", store=world.store, clock=world.clock) for _ in range(2)]
    for each in made:
        each.windows._clock = world.clock
    sent: list[Any] = []
    for i in range(1, 13):
        engine = made[i // 5 % 2]
        request = world.tried(engine.request, _history(i), session="chat")
        world.tried(request.answered, {"prompt_tokens": request.used, "completion_tokens": 1})
        assert request.used <= 2_000
        sent = request.messages
    world.store.faults = {}
    engine.request(_history(13), session="chat")  # What is owed is written with it.
    return _end(world, engine.sessions[-1], sent=sent, raised=world.again)


def _wrapped(world: World, client: Any, send: Callable[[Any, int], Any]) -> dict[str, Any]:
    wrapped = brim.wrap(client, 2_000, store=world.store, session="chat", clock=world.clock)
    for i in range(1, 11):
        world.tried(send, wrapped, i)
    world.store.faults = {}
    world.tried(send, wrapped, 11)  # What is owed is written with it.
    end = _end(world, wrapped.brim.sessions[-1], sent=json.loads(world.server.bodies[-1])["messages"])
    upstream = len(world.upstream_faults)  # Each of these was sent, and sent again: a prompt more in the log.
    end["status"] |= {"prompts": end["status"]["prompts"] - upstream}
    end["kinds"] = _without(end["kinds"], "prompt", upstream)
    return {**end, "raised": world.again - upstream, "illegal": world.server.illegal, "refused": world.server.refused}


def _without(kinds: list[str], kind: str, times: int) -> list[str]:
    for _ in range(times):
        kinds.remove(kind)
    return kinds


def wrapped_openai(world: World) -> dict[str, Any]:
    """Run an agent with a wrapped client of OpenAI: whole answers and streams."""

    def send(client: Any, steps: int) -> Any:
        stream = steps % 3 == 0
        more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        answer = client.chat.completions.create(model="gpt-4o", messages=_history(steps), max_tokens=50, **more)
        return list(answer) if stream else answer

    with openai.OpenAI(base_url=world.url + "/v1", api_key="sk-test", max_retries=0) as client:
        return _wrapped(world, client, send)


def wrapped_anthropic(world: World) -> dict[str, Any]:
    """Run an agent with a wrapped client of Anthropic: whole answers and streams."""
    from sessions.talking import anthropic_turn

    def send(client: Any, steps: int) -> Any:
        said = [message for i in range(steps) for message in anthropic_turn(i)][:-1]
        stream = steps % 3 == 0
        more = {"stream": True} if stream else {}
        answer = client.messages.create(model="claude-sonnet-5", messages=said, max_tokens=50, **more)
        return list(answer) if stream else answer

    with anthropic.Anthropic(base_url=world.url, api_key="sk-test", max_retries=0) as client:
        return _wrapped(world, client, send)


class Acting:
    """Makes the same steps each time, and remembers them."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def __call__(self, tick: Any) -> Step:
        k = tick.state["k"] = tick.state.get("k", 0) + 1
        self.made.append(k)
        end = "goal" if k == 12 else "iteration" if k % 4 == 0 else "continue"
        usage = {"prompt_tokens": tick.used + 2, "completion_tokens": 4}
        return Step(messages=turn(k)[1:], end=end, result=k if k % 4 == 0 else None, usage=usage, cost=0.01)


def _begun(world: World, name: str, act: Acting) -> Loop:
    asked = {"window": brim.Window(6_000, cap=0.5, warn=0.3), "meter": "chars/4", "tick_cap": 0.4}
    options = {"store": world.store, "id": name, "clock": lambda: 0.0}
    try:
        return Loop.resume(name, act=act, store=world.store, clock=lambda: 0.0)
    except brim.UnknownName:
        return Loop("Port it.", act, **asked, **options)


def loops(world: World) -> dict[str, Any]:
    """Run a loop to its goal; what its caller runs again makes no step twice."""
    act = Acting()
    loop = world.tried(_begun, world, "L", act)
    outcome = world.tried(loop.run, ticks=1)
    loop = world.tried(Loop.resume, "L", act=act, store=world.store, clock=lambda: 0.0)
    outcome = world.tried(loop.run)
    world.store.faults = {}
    return _end(world, loop.session, outcome=outcome.to_dict(), acts=act.made)


@contextlib.contextmanager
def _gateway(world: World) -> Iterator[Callable[[int], Any]]:
    """Run a gateway on the store of a world, and yield what sends a conversation of so many turns."""
    settings = GatewaySettings(
        upstream=world.url + "/v1",
        default=RequestRule(policy="fit", window=1_500),
        store="sqlite:///:memory:",
    )
    with patch.object(gateway_state, "open_store", lambda _: world.store):
        app = GatewayApp(settings)
    app.state.conversations.windows._clock = world.clock

    def send(turns: int) -> Any:
        body = {"model": "gpt-4o", "max_tokens": 20, "messages": conversation(turns, 40)}
        status, _, answer = post(url, json.dumps(body).encode(), x_brim_session="chat")
        if status != 200:
            raise _Refused(answer)
        return json.loads(answer)["choices"]

    with running(app, gateway_server.config(app, settings)) as url:
        yield send


def gateway(world: World) -> dict[str, Any]:
    """Send requests through a gateway, then one more through a second gateway.

    What the store has of the cut may be that of a later request, if it could not be saved at once. What the second
    gateway sends tells whether it is the same cut: it knows no more than the store.
    """
    with _gateway(world) as send, _gateway(world) as second:
        answers = [world.tried(send, turns) for turns in range(20, 30)]
        world.store.faults = {}
        sent = json.loads(world.server.bodies[-1])["messages"]
        world.tried(second, 30)
        store = world.store
        name = next(row.id for row in store.sessions() if row.meta.get("kind") == "gateway")
        kept = {each for entry in store.entries(name, kinds=["note"]) for each in entry.body.get("kept", ())}
        prompts = [entry.body for entry in store.entries(name, kinds=["prompt"])]
        return {
            "answers": answers,
            "sent": sent,
            "following": json.loads(world.server.bodies[-1])["messages"],
            "kept": sorted(kept),
            "lost": [each for each in kept if store.text(each) is None],
            "prompts": sorted({body["used"] for body in prompts}),
            "receipts": sorted({body["used"] for body in prompts if "receipt" in body}),
            "cuts": store.session(name).meta["status"]["cuts"],
            "raised": world.again - len(world.upstream_faults),
            "illegal": world.server.illegal,
        }


PROGRAMS: dict[str, Callable[[World], dict[str, Any]]] = {
    "sessions": sessions,
    "conversations": conversations,
    "wrapped openai": wrapped_openai,
    "wrapped anthropic": wrapped_anthropic,
    "loops": loops,
    "gateway": gateway,
}
"""The programs by name."""


@dataclass(frozen=True)
class Outage:
    """What fails in one run: calls by their number, and how."""

    store: tuple[tuple[int, str], ...] = ()
    upstream: tuple[tuple[int, str], ...] = ()
    clock: tuple[tuple[int, float], ...] = ()


def points(world: World) -> list[Outage]:
    """Return one outage for each call that a run without any made, in each way in which it can fail."""
    store = [
        Outage(store=((number, when),))
        for number, name in enumerate(world.store.names, start=1)
        for when in (BEFORE, AFTER)
        if when == BEFORE or name != "begin"
    ]
    upstream = [Outage(upstream=((number, kind),)) for number in range(1, world.server.asked + 1) for kind in UPSTREAM]
    clock = [Outage(clock=((look, jump),)) for look in range(1, world.clock.looks + 1) for jump in JUMPS]
    return [*store, *upstream, *clock]


class Rig:
    """Runs programs, and compares how they end."""

    def __init__(self, server: Unreliable, url: str) -> None:
        self._server, self._url = server, url

    def run(self, program: Callable[[World], Any], outage: Outage, folder: Path | None = None) -> tuple[Any, World]:
        """Return how a program ends in an outage, and its world."""
        parts = {"store_faults": outage.store, "upstream_faults": outage.upstream, "jumps": outage.clock}
        world = World(folder, self._server, self._url, **{name: dict(part) for name, part in parts.items()})
        try:
            return json.loads(json.dumps(program(world))), world
        finally:
            world.store.close()

    def differences(
        self, program: Callable[[World], Any], outage: Outage, expected: Any, folder: Path | None = None
    ) -> list[str]:
        """Return what is different at the end of a program in an outage."""
        try:
            found, _ = self.run(program, outage, folder)
        except Exception as error:  # Whatever a program raises is a difference.
            return [f"{outage}: it raised {type(error).__name__}: {error}"]
        return [f"{outage}: {place}" for place in different(found, expected)]


def different(one: Any, other: Any, place: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from different(one[key], other[key], f"{place}.{key}" if place else key)
    elif one != other:
        yield f"{place} is {str(one)[:120]}, not {str(other)[:120]}"


@contextlib.contextmanager
def rig() -> Iterator[Rig]:
    """Run a model's server for programs, and yield what runs them."""
    server = Unreliable()
    assert threading.current_thread() is threading.main_thread()
    with running(server) as url:
        yield Rig(server, url)
