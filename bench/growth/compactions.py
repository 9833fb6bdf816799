"""What a compaction costs inside `prompt()`, at windows of three sizes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

import brim
from bench.growth import talk
from bench.growth.case import Case, Points
from bench.growth.runs import timed
from brim.sessions.session import Session


def _worst(sizes: Sequence[int], *, total: bool, **options: object) -> Points:
    """Yield the dearest prompt, or all the work, of sessions that fill their window once and a half."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, brim.open_store(f"sqlite:///{folder}/brim.db") as store:
            session = Session(brim.Window(size), meter=talk.METER, store=store, **options)  # type: ignore[arg-type]
            spent, work, number = [], 0.0, 0
            turns = max(1, size // 800)
            while number * _TOKENS < 1.5 * size:  # Some turns at a time: most prompts are not compacted.
                messages = talk.turns(turns, number)
                number += turns
                work += timed(session.add, messages)
                spent.append(timed(session.prompt, system="You are a careful engineer."))
            yield size, 1e3 * (work + sum(spent) if total else max(spent))


_TOKENS = 250
"""About the tokens of a turn."""
_WINDOWS = (8_000, 200_000, 1_000_000)
CASES = [
    Case(name="dearest prompt, excerpts", of="window", sizes=_WINDOWS, most=250, each=True,
         measure=lambda sizes: _worst(sizes, total=False),
         about="the dearest call of `prompt()` of a session in SQLite that fills its window and is cut"),
    Case(name="dearest prompt, summaries", of="window", sizes=_WINDOWS, most=250, each=True,
         measure=lambda sizes: _worst(sizes, total=False, summarise="extract"),
         about="the same with extracted summaries"),
    Case(name="a session with summaries", of="window", sizes=(8_000, 50_000, 200_000), exponent=1.05,
         measure=lambda sizes: _worst(sizes, total=True, summarise="extract"),
         about="all of its work"),
]  # fmt: skip
