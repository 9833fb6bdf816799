"""Strangers who use sessions, conversations, wrapped clients, loops and stores, all of one SQLite file, as they please.

A scene is a generator that yields calls and is sent what came of them: a thread, a task, a forked child and a second
process all play the same scenes. What a caller was promised is in its diary. `check` reads the file by `sqlite3` alone,
and compares it with all diaries: it shares no code with brim.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import random
import re
import sqlite3
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import httpx2
import openai

import brim
from brim.sessions.conversations.request import FittedRequest
from brim.settings.resolved import Resolved
from brim.store import Store
from brim.store import store as stores
from talk import calling, model, refusal, result, user

WINDOW = 6_000
"""Characters of the windows of sessions: some thirty short messages, so that most prompts are cut."""
PATIENCE = 0.5
"""Seconds that a call waits for a locked store, in place of ten."""
_LOG = 1 << 32
"""Places of one log in the table of entries, as `docs/store.md` shows by its view."""
_TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
_SENTENCE = "ferry harbour ticket seventeen platform build worker nightly log failed green retry timeout Größe 渡船"
_WORDS = _SENTENCE.split()
_TAG = re.compile(r"tag\.\w+\.\d+\.")
"""A word that only one call has used."""
_LOCKED = "has been writing for more than"
_CLOSED = "the store is closed"
_INHERITED = "the parent process opened it: open it again in the child"


class Mischief(Exception):
    """What the callbacks of a stranger raise."""


@dataclass(slots=True)
class Diary:
    """What a caller did, and what it was promised."""

    caller: str
    calls: Counter[str] = field(default_factory=Counter)
    raised: Counter[str] = field(default_factory=Counter)
    """Documented errors, by the call and their class."""
    failures: list[str] = field(default_factory=list)
    kept: list[tuple[str, str, str]] = field(default_factory=list)
    """Session, tag and hash of each message that has to be in the log of the session, once."""
    maybe: list[tuple[str, str, str]] = field(default_factory=list)
    """The same of messages of sessions that anybody may purge: in the log once, or nowhere."""
    gone: list[str] = field(default_factory=list)
    """Tags that must be nowhere in the file: their call raised, or they were purged."""

    def to_json(self) -> str:
        """Return it as one line."""
        return json.dumps({each.name: getattr(self, each.name) for each in fields(self)})

    @classmethod
    def from_json(cls, text: str) -> Diary:
        """Return what `to_json` wrote."""
        values = json.loads(text)
        counted = {name: Counter(values.pop(name)) for name in ("calls", "raised")}
        told = {name: list(map(tuple, values.pop(name))) for name in ("kept", "maybe")}
        return cls(**values, **counted, **told)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a scene makes."""

    of: str
    """What is called: its docstring says what it may raise."""
    run: Callable[[], Any]
    errors: tuple[type[BaseException], ...] = ()
    """What it may raise here; each has to be documented, unless it is the caller's own."""
    reasons: tuple[str, ...] = (_LOCKED,)
    """Words of the store's errors that are possible here."""
    twice: bool = False
    """Whether another writer may be faster, each time: `Conflict` is possible then."""


@dataclass(slots=True)
class Done:
    """What came of a call."""

    value: Any = None
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        """Whether it returned."""
        return self.error is None


Scene = Generator[Call, Done, None]


_DOORS = {"Session": brim.Session, "Conversations": brim.Conversations, "FittedRequest": FittedRequest}
_DOORS |= {"Loop": brim.Loop, "Resolved": Resolved, "Store": Store}
_MAY_FAIL = ("Session", "Loop", "Store", "Resolved")
"""Where every call may raise `StoreError`, as `docs/sessions.md` and `docs/store.md` say; the others go on without it."""


@cache
def documented(of: str) -> tuple[type[BaseException], ...]:
    """Return the errors that the docstring of a call names, and `StoreError` where a page says so for all."""
    door, _, method = of.partition(".")
    function = getattr(_DOORS[door], method or "__init__") if door in _DOORS else getattr(brim, door)
    _, _, told = (inspect.getdoc(function) or "").partition("Raises:\n")
    known = [getattr(brim, name) for name in re.findall(r"^    (\w+):", told, re.MULTILINE)]
    return (*known, *([brim.StoreError] if door in _MAY_FAIL else []))


class Caller:
    """One stranger, with dice of its own."""

    def __init__(self, house: House, name: str, seed: str, kind: str) -> None:
        self.house, self.name, self.kind = house, name, kind
        self.dice = random.Random(seed)
        self.diary = Diary(name)
        self._numbers = iter(range(1, 1_000_000))
        self.talks: dict[str, tuple[brim.Conversations, list[Any]]] = {}
        """Histories that only grow, by the name of the conversation, which nobody else has."""

    def count(self) -> int:
        """Return how many calls it made."""
        return self.diary.calls.total()

    def play(self, calls: int, first: Scene | None = None) -> Diary:
        """Make so many calls, and return the diary."""
        if first is not None:
            self._finish(first)
        while self.count() < calls:
            self._finish(self._next())
        self._finish(self.settle())
        return self.diary

    async def aplay(self, calls: int) -> Diary:
        """Make so many calls as a task, some of them in threads, and return the diary."""
        while self.count() < calls:
            await self._afinish(self._next())
        await self._afinish(self.settle())
        return self.diary

    def _finish(self, scene: Scene) -> None:
        done: Done | None = None
        while (call := self._advance(scene, done)) is not None:
            try:
                done = Done(call.run())
            except Exception as error:
                done = Done(error=error)
            self._note(call, done)

    async def _afinish(self, scene: Scene) -> None:
        done: Done | None = None
        while (call := self._advance(scene, done)) is not None:
            try:
                found = await asyncio.to_thread(call.run) if self.dice.random() < 0.5 else call.run()
                done = Done(await found if inspect.isawaitable(found) else found)
            except Exception as error:
                done = Done(error=error)
            self._note(call, done)
            await asyncio.sleep(0)

    def _advance(self, scene: Scene, done: Done | None) -> Call | None:
        try:
            return next(scene) if done is None else scene.send(done)
        except StopIteration:
            return None
        except Exception:  # The scene itself, or what it found in a result.
            self.fail(traceback.format_exc(limit=-3))
            return None

    def _next(self) -> Scene:
        scene = self.dice.choice(self.house.scenes)
        return scene(self)

    def _note(self, call: Call, done: Done) -> None:
        name = call.of
        self.diary.calls[name] += 1
        error = done.error
        if error is None:
            return
        self.diary.raised[f"{name}: {type(error).__name__}"] += 1
        if problem := self._problem(call, error):
            trace = "".join(traceback.format_exception(error, limit=-4))
            self.fail(f"{name} raised {type(error).__name__}, {problem}\n{trace}")

    def _problem(self, call: Call, error: BaseException) -> str:
        """Return what is wrong with an error; empty if it is documented and to be expected here."""
        own = not isinstance(error, brim.BrimError)
        if not own and not isinstance(error, documented(call.of)):
            return "which is not documented"
        if isinstance(error, brim.Conflict):
            return "" if call.twice else "though a faster writer is waited for"
        if isinstance(error, brim.SessionPurged):
            return "" if brim.SessionPurged in call.errors else "though nobody purged it"
        if isinstance(error, brim.StoreError):
            return "" if any(each in str(error) for each in call.reasons) else "for no reason that it has here"
        return "" if isinstance(error, call.errors) else "for no reason that it has here"

    def fail(self, told: str) -> None:
        """Note what must not be."""
        self.diary.failures.append(f"{self.name}: {told}")

    def expect(self, what: Any, told: str) -> None:
        """Note a failure unless something holds."""
        if not what:
            self.fail(told)

    # --- what it says

    def tag(self) -> str:
        """Return a word that nothing else in the file has."""
        return f"tag.{self.name}.{next(self._numbers)}."

    def text(self, tag: str = "", most: int = 40) -> str:
        """Return some words; now and then a long text, which is compressed in the file."""
        words = self.dice.choices(_WORDS, k=self.dice.randint(1, most))
        if self.dice.random() < 0.05:
            words *= 10
        return " ".join([tag, *words]).strip()

    def message(self, tag: str) -> dict[str, Any]:
        """Return a message of a person or of the model."""
        return self.dice.choice((user, model))(self.text(tag, 20))

    def turn(self, tag: str) -> list[dict[str, Any]]:
        """Return a call with its results."""
        ids = [f"{tag}{i}" for i in range(self.dice.randint(1, 3))]
        lines = "\n".join(self.text("", 12) for _ in range(self.dice.randint(1, 8)))
        return [calling(*ids, text=tag), *(result(each, f"{each} {lines}") for each in ids)]

    def promised(self, session: str, messages: list[dict[str, Any]], done: Done, *, purges: bool = False) -> None:
        """Note what became of messages that were added to a session."""
        for raw in messages:
            tag = _TAG.findall(json.dumps(raw))[0]
            if not done.ok:
                self.diary.gone.append(tag)
            else:
                (self.diary.maybe if purges else self.diary.kept).append((session, tag, digest(raw)))

    def fits(self, where: str, messages: list[Any], budget: int, meter: str, tools: Any = None) -> None:
        """Note a failure unless a prompt is within its budget and legal."""
        used = brim.meter(meter).count_messages(messages, tools=tools)
        self.expect(used <= budget, f"{where}: a prompt of {used:,}, and {budget:,} fit")
        self.expect(messages, f"{where}: an empty prompt")
        wrong = refusal(messages, "openai")
        self.expect(not wrong, f"{where}: {wrong}")

    # --- sessions

    def opened(self, id: str, *, purges: bool = False, **more: Any) -> Iterator[Call]:
        """Open a session by one of its doors; use it as `done = yield from ...`."""
        store = self.house.url if self.dice.random() < 0.5 else self.house.store()
        options: dict[str, Any] = {"window": WINDOW, "meter": "chars", "store": store, **more}
        gone = (brim.SessionPurged,) if purges else ()
        if self.dice.random() < 0.2:
            run = partial(self.house.settings().session, id=id, **options)
            done = yield Call("Resolved.session", run, (brim.InvalidValue,))
            if done.ok or not isinstance(done.error, brim.InvalidValue):
                return done
        return (yield Call("Session.open", partial(brim.Session.open, id, create=True, **options), gone))

    def session(self) -> Scene:
        """Use a session that many use at once."""
        id = f"shared-{self.dice.randrange(4)}"
        done = yield from self.opened(id)
        if done.ok:
            yield from self._talk(done.value)
            yield from self._end(done.value)

    def purged_by_others(self) -> Scene:
        """Use a session that anybody purges."""
        id = f"purged-{self.dice.randrange(3)}"
        done = yield from self.opened(id, purges=True)
        if done.ok:
            yield from self._talk(done.value, purges=True)
            yield from self._end(done.value)

    def memory(self) -> Scene:
        """Use a session without a store; it goes on after it was closed."""
        done = yield Call("Session", lambda: brim.Session(WINDOW, meter="chars"))
        yield from self._talk(done.value, stored=False)
        yield Call("Session.close", done.value.close)
        yield Call("Session.add", lambda: done.value.add(user("still here")))

    def callbacks(self) -> Scene:
        """Use a session whose callbacks raise, and which is small, so that they are called."""
        id, tag = f"callbacks-{self.tag()}", self.tag()

        class Watcher:
            def observe(self, event: Any) -> None:
                raise Mischief(event.name)

        def mischief(*_: Any) -> Any:
            raise Mischief

        too_long, too_short = (lambda text, _: text * 2), (lambda *_: "short")
        summarise = self.dice.choice((None, "extract", mischief, too_long, too_short))
        more = {"on_notice": mischief, "observers": [Watcher()], "summarise": summarise, "compact_at": 0.5}
        done = yield from self.opened(id, **more)
        if not done.ok:
            return
        session = done.value
        for _ in range(3):
            said = [user(self.text(self.tag(), 30)) for _ in range(12)]
            done = yield Call("Session.add", partial(session.add, said))
            self.promised(id, said, done)
            done = yield Call("Session.prompt", lambda: session.prompt(tag))
            if done.ok:
                self.fits("callbacks", done.value.messages, WINDOW, "chars")
        yield from self._end(session)

    def _talk(self, session: brim.Session, *, purges: bool = False, stored: bool = True) -> Scene:
        """Make some calls of a session, in any order."""
        gone = (brim.SessionPurged,) if purges else ()
        mine = not stored
        handles: list[str] = []
        for _ in range(self.dice.randint(3, 10)):
            what = self.dice.randrange(20)
            if what < 8:
                yield from self._add(session, gone, turn=what < 3, stored=stored)
            elif what < 13:
                yield from self._prompt(session, gone)
            elif what == 13:
                usage = {"prompt_tokens": 900 + self.dice.randrange(300), "completion_tokens": 5}
                yield Call("Session.record_usage", partial(session.record_usage, usage), gone)
            elif what == 14 and mine:
                done = yield Call("Session.prompt", session.prompt)
                if done.ok and done.value.used > 4_000:
                    overflow = brim.Overflow(reason="too long", limit=5_500, sent=5_900)
                    yield Call("Session.refused", partial(session.refused, overflow))
            elif what == 15:
                yield Call("Session.compact", session.compact, (brim.NoProgress, *gone))
            elif what == 16:
                begin = [user(self.text("afresh"))]
                yield Call("Session.restart", partial(session.restart, begin), gone)
            elif what == 17:
                done = yield Call("Session.search", lambda: session.search(self.dice.choice(_WORDS)), gone)
                handles += [hit.handle for hit in done.value or ()]
            elif what == 18 and handles:
                yield from self._recall(session, self.dice.choice(handles), gone)
            else:
                yield from self._look(session, gone)

    def _add(self, session: brim.Session, gone: tuple[type[BaseException], ...], *, turn: bool, stored: bool) -> Scene:
        """Add what somebody says, and change it then, as an owner does who streams into its objects."""
        tag = self.tag()
        said = self.turn(tag) if turn else [self.message(tag)]
        before = json.loads(json.dumps(said))
        done = yield Call("Session.add", partial(session.add, said if turn else said[0]), gone)
        for raw in said:
            raw["content"] = "x" * 40_000
        if stored:
            self.promised(session.id, before, done, purges=bool(gone))

    def _look(self, session: brim.Session, gone: tuple[type[BaseException], ...]) -> Scene:
        """Look at a session, and add what cannot be added."""
        done = yield Call("Session.status", session.status)
        self.expect(done.ok and done.value.used is not None, "a status without numbers")
        for bad in ({"role": "nobody"}, 7, {"role": "user", "content": object()}):
            done = yield Call("Session.add", partial(session.add, bad), (brim.InvalidValue, *gone))
            self.expect(not done.ok, f"{bad!r} was added")

    def _prompt(self, session: brim.Session, gone: tuple[type[BaseException], ...]) -> Scene:
        tools, budget = self.dice.choice((None, _TOOLS)), self.dice.choice((None, None, 5_000))
        memory = self.dice.choice((None, ["one thing", "another"], {"pinned": "a", "recalled": ["b", "c"]}))
        system = self.dice.choice((None, "You are careful."))
        done = yield Call("Session.prompt", partial(session.prompt, system, tools, memory, budget=budget), gone)
        if done.ok and done.value.messages:
            self.fits("prompt", done.value.messages, budget or WINDOW, "chars", tools)
            raw = self.dice.choice(done.value.messages)
            self.expect("x" * 1_000 not in json.dumps(raw), "what the owner wrote after add is sent")

    def _recall(self, session: brim.Session, handle: str, gone: tuple[type[BaseException], ...]) -> Scene:
        yield Call("Session.recall", lambda: session.recall(handle), (brim.UnknownName, *gone))

    def _end(self, session: brim.Session) -> Scene:
        """Close a session, use it then, or leave it to the collector."""
        owned = session._owned is not None
        if self.dice.random() < 0.4:
            return
        yield Call("Session.close", session.close)
        if not owned:
            return
        tag = self.tag()
        said = user(tag)
        done = yield Call("Session.add", lambda: session.add(said), (), (_CLOSED,))
        self.expect(not done.ok, "a closed session took a message")
        self.diary.gone.append(tag)
        yield Call("Session.prompt", session.prompt, (), (_CLOSED,))
        yield Call("Session.status", session.status)
        yield Call("Session.close", session.close)

    def purged(self) -> Scene:
        """Purge a session that is open: nothing of it comes back."""
        id, tag = f"own-{self.tag()}", self.tag()
        done = yield from self.opened(id)
        if not done.ok:
            return
        session, store = done.value, self.house.store()
        yield Call("Session.add", lambda: session.add([user(tag), *self.turn(tag)]))
        done = yield Call("Store.purge", lambda: store.purge(session=id))
        if not done.ok:
            return
        self.diary.gone.append(tag)
        gone = (brim.SessionPurged,)
        for _ in range(3):
            for of, run in (
                ("Session.add", lambda: session.add(user(tag))),
                ("Session.prompt", session.prompt),
                ("Session.compact", session.compact),
                ("Session.restart", lambda: session.restart([user(tag)])),
                ("Session.record_usage", lambda: session.record_usage(input_tokens=900)),
            ):
                done = yield Call(of, run, gone)
                if of == "Session.add":
                    self.expect(not done.ok, "a purged session took a message")
        done = yield Call("Store.session", lambda: store.session(id))
        self.expect(done.value is None, "a purged session is there again")

    # --- conversations and wrapped clients

    def growing(self) -> Scene:
        """Send the requests of a conversation that only grows, and which only this caller has."""
        if not self.talks or self.dice.random() < 0.3:
            done = yield from self._conversations()
            if done.ok:
                self.talks[f"grows-{self.tag()}"] = done.value, []
        for name in self.dice.sample(sorted(self.talks), min(1, len(self.talks))):
            conversations, history = self.talks[name]
            for _ in range(self.dice.randint(2, 6)):
                tag = self.tag()
                history += [user(self.text(tag))] if self.dice.random() < 0.5 or not history else self.turn(tag)
                yield from self._request(conversations, history, session=name)

    def branching(self) -> Scene:
        """Send requests that were edited, cut short, or continued in two ways; named, found, and without a store."""
        kind = self.dice.randrange(3)
        done = yield from self._conversations(stored=kind > 0)
        if not done.ok:
            return
        conversations, session = done.value, f"branch-{self.dice.randrange(3)}" if kind == 1 else None
        history = [user(self.text(self.tag()))]
        for _ in range(self.dice.randint(3, 8)):
            what = self.dice.randrange(5)
            if what == 0 and len(history) > 3:
                history = [*history[: self.dice.randrange(1, len(history))], user(self.text(self.tag()))]
            elif what == 1:
                history = [*history]
                history[0] = user(self.text(self.tag()))
            elif what == 2:
                yield from self._request(conversations, [*history, user(self.text("another way"))], session=session)
            history = [*history, *self.turn(self.tag()), *([user(self.text())] if what == 3 else [])]
            history = [raw for i, raw in enumerate(history) if not refusal(history, "openai")] or [user("again")]
            yield from self._request(conversations, history, session=session)
        if self.dice.random() < 0.5 and conversations is not self.house.conversations():
            yield Call("Conversations.close", conversations.close)
            yield from self._request(conversations, [*history, user("after close")], session=session)

    def _conversations(self, *, stored: bool = True) -> Iterator[Call]:
        what = self.dice.randrange(4) if stored else 4
        options: dict[str, Any] = {"window": WINDOW, "meter": "chars", "on_notice": _raise}
        if what == 0:
            return Done(self.house.conversations())
        if what == 1:
            run = partial(self.house.settings().conversations, store=self.house.url, **options)
            return (yield Call("Resolved.conversations", run))
        store = {2: self.house.url, 3: self.house.store()}.get(what)
        return (yield Call("Conversations", partial(brim.Conversations, store=store, **options)))

    def _request(self, conversations: brim.Conversations, history: list[Any], *, session: str | None) -> Scene:
        options: dict[str, Any] = {"session": session, "tools": _TOOLS, "changes": self.dice.random() < 0.5}
        done = yield Call("Conversations.request", partial(conversations.request, list(history), **options))
        if not done.ok:
            return
        request = done.value
        self.fits("request", request.messages, WINDOW, "chars", _TOOLS)
        if request.used > 4_000 and self.dice.random() < 0.3:
            error = {"error": {"code": "context_length_exceeded", "message": "maximum context length is 5800 tokens"}}
            done = yield Call("FittedRequest.refused", lambda: request.refused(error))
            if done.ok and done.value is not None:
                request = done.value
                self.fits("smaller request", request.messages, WINDOW, "chars", _TOOLS)
        usage = {"prompt_tokens": request.used, "completion_tokens": 3}
        yield Call("FittedRequest.answered", lambda: request.answered(usage))

    def settle(self) -> Scene:
        """Write what is owed of conversations that grow, and note what must be there."""
        for name, (conversations, history) in sorted(self.talks.items()):
            failures = -1
            while failures != conversations.store.failures:  # Somebody locks the store now and then.
                failures = conversations.store.failures
                history.append(user(self.text(self.tag())))
                yield from self._request(conversations, history, session=name)
            self.promised(name, history, Done())
            if conversations is not self.house.conversations():
                yield Call("Conversations.close", conversations.close)
        self.talks.clear()

    def wrapped(self) -> Scene:
        """Send requests by a wrapped client of `openai`: one that all threads share, or an async one of a task."""
        task = self.kind == "task"
        client = self.house.client(task=task)
        history: list[Any] = [user(self.text(self.tag()))]
        for _ in range(self.dice.randint(2, 6)):
            asked = {"model": "gpt-4o", "messages": list(history), "tools": _TOOLS}
            done = yield Call("wrap", partial(client.chat.completions.create, **asked), (openai.APIStatusError,))
            if isinstance(done.error, openai.BadRequestError):
                self.fail(f"the model's server refused a request: {done.error}")
            history += [*self.turn(self.tag()), user(self.text())]

    # --- loops

    def loop(self) -> Scene:
        """Run a loop in pieces, whose steps raise at times; resume it by another object."""
        id = f"loop-{self.tag()}"
        results: list[str] = []
        many = self.dice.random() < 0.3
        if many:
            id = f"loop-shared-{self.dice.randrange(3)}"

        def act(tick: brim.Tick) -> brim.Step:
            self.fits("tick", tick.messages, WINDOW, "chars")
            if self.dice.random() < 0.2:
                raise Mischief
            tag = self.tag()
            results.append(tag)
            said = [*self.turn(tag), model(self.text(tag))]
            return brim.Step(messages=said, end=self.dice.choice(("continue", "iteration")), result=tag)

        async def aact(tick: brim.Tick) -> brim.Step:
            await asyncio.sleep(0)
            return act(tick)

        task = self.kind == "task"
        options: dict[str, Any] = {"window": WINDOW, "meter": "chars", "store": self.house.url, "id": id}
        options |= {"tick_cap": 0.5, "max_iterations": 6, "max_steps": 30}
        of, run = self.dice.choice((("Loop", brim.Loop), ("Resolved.loop", self.house.settings().loop)))
        step = aact if task else act
        done = yield Call(of, partial(run, "find it", step, **options), (brim.InvalidValue,) if many else ())
        if not done.ok and not many:
            return
        outcome, failed = None, False
        for _ in range(4):
            if done.ok:
                loop = done.value
                of = "Loop.arun" if task else "Loop.run"
                ran = yield Call(of, partial(loop.arun if task else loop.run, 2), (Mischief,), twice=many)
                outcome = ran.value if ran.ok else outcome
                failed |= isinstance(ran.error, brim.StoreError)
                if isinstance(ran.error, brim.StoreError) and not many:
                    continue  # Run it again: the step that was made is written, not repeated.
                yield Call("Loop.close", loop.close)
            again = partial(brim.Loop.resume, id, act=step, store=self.house.url)
            done = yield Call("Loop.resume", again, (brim.UnknownName,) if not done.ok else ())
        if outcome is not None and not many:
            expected = [tag for tag in results if tag in outcome.results]
            self.expect(outcome.results == expected, f"a loop has {outcome.results}, and its steps made {results}")
        if outcome is not None and not failed and not many:
            made = outcome.results + results[len(outcome.results) :]
            self.expect(made == results, f"a loop has {outcome.results}, and its steps made {results}")
        if done.ok:
            yield Call("Loop.close", done.value.close)

    # --- the store itself

    def store(self) -> Scene:
        """Look at the store, search it, write to it, and purge what may be purged."""
        store = self.house.store()
        own, log = self.dice.random() < 0.5, f"log-{self.name}"
        if own:
            done = yield Call("open_store", lambda: brim.open_store(self.house.url))
            if not done.ok:
                return
            store = done.value
        done = yield Call("Store.sessions", lambda: store.sessions(limit=50))
        rows = done.value or []
        for row in self.dice.sample(rows, min(2, len(rows))):
            done = yield Call("Store.entries", partial(store.entries, row.id, limit=200))
            numbers = [entry.number for entry in done.value or ()]
            self.expect(numbers == list(range(1, len(numbers) + 1)), f"entries {numbers[:5]}... of {row.id}")
        done = yield Call("Store.search", lambda: store.search(self.dice.choice(_WORDS)))
        for hit in (done.value or [])[:1]:
            yield Call("Store.text", partial(store.text, hit.handle, session=hit.session))
        said = user(self.text(self.tag()))
        done = yield Call("Store.append", lambda: store.append(log, [("message", {"message": said})]))
        self.promised(log, [said], done)
        rolled = self.tag()

        def roll_back() -> None:
            with store.transaction():
                store.append(log, [("message", {"message": user(rolled)})])
                raise Mischief

        yield Call("Store.transaction", roll_back, (Mischief,))
        self.diary.gone.append(rolled)
        yield Call("Store.purge", lambda: store.purge(session=f"purged-{self.dice.randrange(3)}"))
        document = f"document-{self.dice.randrange(3)}"
        done = yield Call("Store.load", lambda: store.load("mixed", document))
        if done.ok:
            version = done.value.version if done.value else 0
            yield Call(
                "Store.save", lambda: store.save("mixed", document, {"by": self.name}, version=version), twice=True
            )
        if own and self.dice.random() < 0.7:
            yield Call("Store.close", store.close)
            done = yield Call("Store.sessions", store.sessions, (), (_CLOSED,))
            self.expect(not done.ok, "a closed store was read")

    def one_object(self) -> Scene:
        """Use the one session object that all threads and tasks of the process share."""
        session = self.house.session()
        yield from self._talk(session)

    # --- what a fork has of its parent

    def inherited(self) -> Scene:
        """Use what the parent of this process had opened: it works, or says that it has to be opened again."""
        house, tag = self.house, self.tag()
        store, session, conversations = house.store(), house.session(), house.conversations()
        self.diary.gone.append(tag)
        reasons = (_INHERITED,)
        for of, run in (
            ("Store.append", lambda: store.append("inherited", [("message", {"message": user(tag)})])),
            ("Store.sessions", store.sessions),
            ("Store.purge", lambda: store.purge(session="purged-0")),
            ("Session.add", lambda: session.add(user(tag))),
            ("Session.prompt", session.prompt),
        ):
            done = yield Call(of, run, (), reasons)
            self.expect(not done.ok, f"{of} worked in a fork")
        yield from self._request(conversations, [user("from a fork")], session=None)
        yield from self.wrapped()
        house.leave_to_child()


SCENES: dict[str, Callable[[Caller], Scene]] = {
    "session": Caller.session,
    "session that others purge": Caller.purged_by_others,
    "session in memory": Caller.memory,
    "callbacks": Caller.callbacks,
    "purged": Caller.purged,
    "growing": Caller.growing,
    "branching": Caller.branching,
    "wrapped": Caller.wrapped,
    "loop": Caller.loop,
    "store": Caller.store,
    "one object": Caller.one_object,
}
"""What a caller may do next, by name."""


def _raise(text: str) -> None:
    raise Mischief(text)


class House:
    """The folder of all callers, and what those of one process share."""

    def __init__(self, folder: Path, scenes: list[Callable[[Caller], Scene]]) -> None:
        self.folder, self.url, self.scenes = folder, f"sqlite:///{folder}/brim.db", scenes
        stores.BUSY_SECONDS = PATIENCE
        (folder / "brim.yaml").write_text(f"store:\n  url: {self.url}\nwindow:\n  size: {WINDOW}\n")
        self._open()

    def _open(self) -> None:
        tag = hashlib.sha256(repr(time.time_ns()).encode()).hexdigest()[:8]
        self._settings = brim.load_config(str(self.folder / "brim.yaml")).resolve()
        self._store = _patiently(lambda: brim.open_store(self.url))
        options: dict[str, Any] = {"window": WINDOW, "meter": "chars", "store": self._store}
        self._conversations = brim.Conversations(**options)
        self._session = _patiently(lambda: brim.Session(**options, id=f"one-object-{tag}"))
        self._http = httpx2.Client(transport=httpx2.MockTransport(_answer))
        self._ahttp = httpx2.AsyncClient(transport=httpx2.MockTransport(_answer))
        more = {"api_key": "none", "base_url": "http://model.test/v1", "max_retries": 0}
        self._client = brim.wrap(openai.OpenAI(http_client=self._http, **more), **options)
        self._aclient = brim.wrap(openai.AsyncOpenAI(http_client=self._ahttp, **more), **options)
        # Made now: Python 3.11 does it under a lock, which a fork may leave locked.
        for client in (self._client, self._aclient):
            _ = client.chat.completions, client.default_headers

    def store(self) -> Store:
        """Return the store of this process."""
        return self._store

    def conversations(self) -> brim.Conversations:
        """Return the conversations of this process."""
        return self._conversations

    def session(self) -> brim.Session:
        """Return a session that all callers of this process share."""
        return self._session

    def client(self, *, task: bool) -> Any:
        """Return the wrapped client of this process."""
        return self._aclient if task else self._client

    def settings(self) -> Resolved:
        """Return the settings, which name the store."""
        return self._settings

    def leave_to_child(self) -> None:
        """Open everything again, in a fork."""
        self._open()

    def close(self) -> None:
        """Close what the callers of this process shared."""
        self._session.close()
        self._conversations.close()
        self._http.close()
        self._store.close()
        del self._session, self._conversations, self._client, self._aclient, self._store


def _patiently(run: Callable[[], Any]) -> Any:
    """Return what a call returns, which is made again while the store is locked on purpose."""
    while True:
        try:
            return run()
        except brim.StoreError as error:
            if _LOCKED not in str(error):
                raise


def _answer(request: Any) -> Any:
    """Answer a request of a client as a strict server would; some are refused, and some fail."""
    body = json.loads(request.content)
    used = brim.meter("chars").count_messages(body["messages"], tools=body.get("tools"))
    if used > WINDOW or (wrong := refusal(body["messages"], "openai")):
        told = f"{used:,} are too many" if used > WINDOW else wrong
        return httpx2.Response(400, json={"error": {"message": told, "code": "illegal"}})
    chance = zlib.crc32(request.content) % 10
    if chance == 0:
        return httpx2.Response(500, json={"error": {"message": "try later"}})
    if chance == 1 and used > 5_000:
        told = f"This model's maximum context length is 5000 tokens. However, you sent {used} tokens"
        return httpx2.Response(400, json={"error": {"message": told, "code": "context_length_exceeded"}})
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Well done."}}
    usage = {"prompt_tokens": used, "completion_tokens": 3, "total_tokens": used + 3}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [said]}
    return httpx2.Response(200, json={**answer, "usage": usage})


# --- the oracle


def digest(raw: Any) -> str:
    """Return the hash of a message."""
    return hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()[:16]


def check(path: Path, diaries: list[Diary]) -> list[str]:
    """Return what is wrong in the file of a store, by the diaries of all who used it."""
    connection = sqlite3.connect(path)
    try:
        sessions = {key: (id, last) for key, id, last in connection.execute("SELECT key, id, last FROM brim_sessions")}
        rows = connection.execute("SELECT place, kind, body FROM brim_entries ORDER BY place").fetchall()
        found = [f"integrity: {told}" for (told,) in connection.execute("PRAGMA integrity_check") if told != "ok"]
        connection.execute("INSERT INTO brim_words (brim_words) VALUES ('integrity-check')")
        everything = [_text(body) for _, _, body in rows]
        everything += [_text(body) for (body,) in connection.execute("SELECT body FROM brim_documents")]
        everything += [_text(body) for (body,) in connection.execute("SELECT meta FROM brim_sessions")]
    finally:
        connection.rollback()
        connection.close()
    numbers: dict[int, list[int]] = {key: [] for key in sessions}
    logged: Counter[tuple[str, str]] = Counter()
    for place, kind, body in rows:
        key, number = divmod(place, _LOG)
        if key not in sessions:
            found.append(f"entry {number} of no session")
            continue
        numbers[key].append(number)
        if kind == "message":
            logged[sessions[key][0], digest(json.loads(_text(body))["message"])] += 1
    for key, (id, last) in sessions.items():
        if numbers[key] != list(range(1, last + 1)):
            found.append(f"the log of {id!r} has {len(numbers[key])} entries, and the last number is {last}")
    for diary in diaries:
        for session, tag, hashed in diary.kept:
            if (times := logged[session, hashed]) != 1:
                found.append(f"{diary.caller}: {tag} is {times} times in {session!r}")
        for session, tag, hashed in diary.maybe:
            if (times := logged[session, hashed]) > 1:
                found.append(f"{diary.caller}: {tag} is {times} times in {session!r}, which may be purged")
    present = set(_TAG.findall("\n".join(everything)))
    for diary in diaries:
        found += [f"{diary.caller}: {tag} was refused or purged, and is there" for tag in diary.gone if tag in present]
    return found


def _text(body: str | bytes) -> str:
    """Return the text of a body, as `docs/store.md` says how it is stored."""
    if isinstance(body, bytes):
        return (body if body.startswith(b"{") else zlib.decompress(body)).decode("utf-8", "surrogatepass")
    return body
