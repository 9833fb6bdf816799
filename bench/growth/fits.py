"""One fit of much: many tools, many sections, a second query, the JSON of a receipt."""

from __future__ import annotations

from collections.abc import Sequence

import brim
from bench import clock
from bench.growth import talk
from bench.growth.case import Case, Points
from brim.sessions.session import Session

_ROOMY = 10_000_000


def _tools(sizes: Sequence[int]) -> Points:
    """Yield what tools add to a warm fit of a history."""
    history = brim.History(meter=talk.METER)
    history.extend(talk.turns(20))
    for size in sizes:
        made = talk.tools(size)
        history.fit(_ROOMY, tools=made)
        without = clock.best(lambda _: history.fit(_ROOMY), None)
        yield size, max(1e-4, 1e3 * (clock.best(lambda tools: history.fit(_ROOMY, tools=tools), made) - without))


def _session_tools(sizes: Sequence[int]) -> Points:
    """Yield what tools add to a prompt of a session."""
    session = Session(10_000_000, meter=talk.METER)
    session.add(talk.turns(20))
    without = clock.best(lambda _: session.prompt(), None)
    for size in sizes:
        made = talk.tools(size)
        session.prompt(tools=made)
        yield size, max(1e-4, 1e3 * (clock.best(lambda tools: session.prompt(tools=tools), made) - without))


def _relevance(sizes: Sequence[int]) -> Points:
    """Yield what a second query costs."""
    for size in sizes:
        history = brim.History(meter=talk.METER)
        history.extend(talk.turns(size // talk.PER_TURN))
        history.fit(talk.BUDGET, select="relevance", query="why did build 49 fail")
        spent, _ = clock.once(lambda made: made.fit(talk.BUDGET, select="relevance", query="queue 17 decided"), history)
        yield size, 1e3 * spent


def _sections(sizes: Sequence[int]) -> Points:
    """Yield what the second fit of the same sections costs."""
    for size in sizes:
        sections = [
            brim.Section(f"s{i}", f"part {i} of {size} " + "word " * 20, priority=1 + i % 3) for i in range(size)
        ]
        brim.fit(sections, 12 * size, meter=talk.METER)
        spent = min(
            clock.once(lambda given: brim.fit(given, 12 * len(given), meter=talk.METER), sections)[0] for _ in range(2)
        )
        yield size, 1e3 * spent


def _receipt(sizes: Sequence[int]) -> Points:
    """Yield what the JSON of a receipt costs when the history was cut as before."""
    for size in sizes:
        history = brim.History(meter=talk.METER, stable=True)
        history.extend(talk.turns(size // talk.PER_TURN))
        history.fit(talk.BUDGET).receipt.to_dict()
        history.extend(talk.turn(size))
        fitted = history.fit(talk.BUDGET)
        spent, _ = clock.once(lambda made: made.receipt.to_dict(), fitted)
        yield size, 1e3 * spent


CASES = [
    Case(name="tools in a History", of="tools", sizes=(10, 100, 1_000), measure=_tools, most=20,
         about="what the tools add to a warm fit"),
    Case(name="tools in a Session", of="tools", sizes=(10, 100, 1_000), measure=_session_tools, most=20,
         about="what the tools add to a prompt"),
    Case(name="second query", of="messages", sizes=(1_000, 10_000, 50_000), measure=_relevance, exponent=1.05,
         about="a fit by relevance to another query than the last"),
    Case(name="second fit of sections", of="sections", sizes=(1_000, 10_000, 50_000), measure=_sections, exponent=1.05,
         about="the same sections fitted again"),
    Case(name="JSON of a receipt", of="messages", sizes=(1_000, 10_000, 50_000), measure=_receipt, exponent=1.05,
         about="`to_dict` of the receipt of a long history after one more turn"),
]  # fmt: skip
