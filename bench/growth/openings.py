"""What is done once: a session opened again, a loop resumed, a session purged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence

import brim
from bench.growth import talk
from bench.growth.case import Case, Points
from bench.growth.runs import looped, timed
from brim.sessions.loop import Loop
from brim.sessions.session import Session
from brim.store.base import Store

_TURNS = (1_000, 5_000, 20_000)
_SYSTEM = "You are a careful engineer."
_BULK = 50
"""Turns for each prompt: sizes are multiples of it."""


def _opened(sizes: Sequence[int]) -> Points:
    """Yield what opening costs."""
    return _grown(sizes, lambda store: timed(Session.open, "run", store=store))


def _prompted(sizes: Sequence[int]) -> Points:
    """Yield what the first prompt after opening costs: it reads the messages of the log."""
    return _grown(sizes, lambda store: timed(Session.open("run", store=store).prompt, system=_SYSTEM))


def _grown(sizes: Sequence[int], measure: Callable[[Store], float]) -> Points:
    """Yield the least of three measures of a session that grew to each size."""
    with tempfile.TemporaryDirectory() as folder, brim.open_store(f"sqlite:///{folder}/brim.db") as store:
        session = Session(brim.Window(talk.WINDOW, cap=0.5), meter=talk.METER, store=store, id="run")
        for number in range(0, max(sizes), _BULK):
            session.add(talk.turns(_BULK, number))
            session.prompt(system=_SYSTEM)
            if number + _BULK in sizes:
                yield number + _BULK, 1e3 * min(measure(store) for _ in range(3))


def _resumed(sizes: Sequence[int]) -> Points:
    with tempfile.TemporaryDirectory() as folder, brim.open_store(f"sqlite:///{folder}/brim.db") as store:
        loop, made = looped(store, "run", max(sizes)), 0
        for size in sizes:
            loop.run(ticks=size - made)
            made = size
            act = loop._act
            yield size, 1e3 * min(timed(Loop.resume, "run", act=act, store=store) for _ in range(3))


def _purged(sizes: Sequence[int]) -> Points:
    """Yield what it costs to purge one small session beside many texts."""
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            with brim.open_store(f"sqlite:///{folder}/{size}.db") as store:
                store.append("big", [("text", {"text": f"text {number}"}) for number in range(size)])
                store.append("small", [("text", {"text": "one text"})])
                yield size, 1e3 * timed(store.purge, session="small")


CASES = [
    Case(name="Session.open", of="turns", sizes=_TURNS, measure=_opened, most=100,
         about="a session opened after so many turns, with the messages since its last compaction"),
    Case(name="first prompt of an opened session", of="turns", sizes=_TURNS, measure=_prompted, most=50,
         about="its first prompt, which reads the messages since its last compaction"),
    Case(name="Loop.resume", of="turns", sizes=_TURNS, measure=_resumed, most=100,
         about="a loop resumed after so many steps"),
    Case(name="purge of one session", of="texts", sizes=(1_000, 5_000, 20_000), measure=_purged, exponent=1.05,
         about="a session with one text, beside a session with so many"),
]  # fmt: skip
