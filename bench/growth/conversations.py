"""Many conversations of one program: which one a request continues, what each takes, whether any is opened twice."""

from __future__ import annotations

import gc
import statistics
import tempfile
import tracemalloc
from collections.abc import Sequence
from typing import Any

import brim
from bench.growth import talk
from bench.growth.case import Case, Points
from bench.growth.runs import timed


def _opening(number: int) -> list[Any]:
    return [{"role": "system", "content": "You are a careful engineer."}, {"role": "user", "content": f"Task {number}"}]


def _many(count: int) -> brim.Conversations:
    return brim.Conversations(brim.Window(talk.WINDOW), meter=talk.METER, most=count + 10)


def _lookup(sizes: Sequence[int]) -> Points:
    """Yield what an unnamed request costs beyond one to a program with a single conversation."""
    alone = _spent(_many(1), 1)
    for size in sizes:
        known = _many(size)
        for number in range(size):
            known.request(_opening(number), model="gpt-5", format="openai")
        yield size, max(1e-3, _spent(known, size) - alone)


def _spent(known: brim.Conversations, size: int) -> float:
    spent = []
    for number in range(0, size, max(1, size // 50)):
        messages = [*_opening(number), {"role": "assistant", "content": "Done."}, {"role": "user", "content": "More"}]
        known.request(messages[:2], model="gpt-5", format="openai")
        spent.append(timed(known.request, messages, model="gpt-5", format="openai"))
    return 1e3 * statistics.median(spent)


def _memory(sizes: Sequence[int]) -> Points:
    """Yield the kilobytes of each conversation beyond the bound."""
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            known = brim.Conversations(
                brim.Window(talk.WINDOW), meter=talk.METER, store=f"sqlite:///{folder}/{size}.db", most=64
            )
            for number in range(64):
                known.request(_opening(number), model="gpt-5", format="openai")
            gc.collect()
            tracemalloc.start()
            for number in range(64, 64 + size):
                known.request(_opening(number), model="gpt-5", format="openai")
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            yield size, max(1e-3, held / 1024 / size)


def _opened_twice(sizes: Sequence[int]) -> Points:
    """Yield how many sessions there are beyond the conversations, after three interleaved rounds."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, brim.open_store(f"sqlite:///{folder}/brim.db") as store:
            known = brim.Conversations(brim.Window(talk.WINDOW), meter=talk.METER, store=store, most=20)
            histories = [_opening(number) for number in range(size)]
            for _ in range(3):
                for history in histories:
                    known.request(history, model="gpt-5", format="openai")
                    history += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "More"}]
            yield size, float(len(store.sessions(limit=10 * size)) - size)


CASES = [
    Case(name="lookup", of="conversations", sizes=(1_000, 5_000, 20_000), measure=_lookup, most=1,
         about="what a request without a name costs beyond that of a program with one conversation"),
    Case(name="memory of conversations", of="conversations", sizes=(200, 400, 800), measure=_memory, unit="kB",
        most=5,
         about="each conversation above the bound, with a store"),
    Case(name="sessions opened twice", of="conversations", sizes=(50, 100, 200), measure=_opened_twice,
         unit="sessions", most=0, each=True, about="sessions beyond the conversations, after three interleaved rounds"),
]  # fmt: skip
