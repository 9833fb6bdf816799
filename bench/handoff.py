"""How many facts survive five contexts, each of which hands the next nothing but a continuation.

Fifty facts are planted: paths, ids, numbers and decisions, each said once by the user or the model among prose, tool
output and other paths and numbers that nobody asks for. At the end they are looked for in the text with which the sixth
context would begin.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import brim
from bench import corpus
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from brim.history.compact.continuation import Continuation, continuation

CONTEXTS, FACTS, TURNS = 5, 50, 24
LIMITS = (750, 1_000, 1_250, 1_500, 2_500)
"""Units of a continuation: 750 are 15 % of a window of 5,000."""
_GATED = 1_500
_LEAST = 0.95
_METER = "o200k_base"

_NOUNS = [
    "billing",
    "ledger",
    "gateway",
    "invoice",
    "session",
    "catalog",
    "search",
    "upload",
    "retry",
    "webhook",
    "tenant",
    "export",
    "audit",
    "quota",
]
_GOAL = "Move the shop from the old payment service to the new one without losing an order."


def run(setting: Setting) -> Outcome:
    seeds = range(1 if setting.quick else 3)
    ways: dict[str, Callable[[int, int, bool], float]] = {"continuation": _carried, "newest messages only": _newest}
    rows: list[list[Cell]] = []
    gates = []
    for title, spread in (("ten in each context", True), ("all in the first context", False)):
        for name, way in ways.items():
            shares = {limit: [way(seed, limit, spread) for seed in seeds] for limit in LIMITS}
            rows.append([f"{name}, {title}", *(100 * sum(each) / len(each) for each in shares.values())])
            if way is _carried:
                value = min(shares[_GATED])
                told = f"handoff: facts that survive {CONTEXTS} contexts in {_GATED:,} units, {title}"
                gates.append(Gate(name=told, value=value, limit=_LEAST, unit="of 50", at_least=True))
    table = Table(
        title=f"Facts of {FACTS} in the text after {CONTEXTS} contexts, percent, by its limit",
        columns=["what is handed on", *(f"{limit:,}" for limit in LIMITS)],
        rows=rows,
        notes=[
            f"Means of {len(seeds)} seeds; each context has {TURNS} turns of {_METER} and 24 facts nobody asks for."
        ],
    )
    return Outcome(name="handoff", tables=[table], gates=gates)


def _carried(seed: int, limit: int, spread: bool) -> float:
    meter = brim.meter(_METER)
    known: Continuation | None = None
    facts, contexts = _run(seed, spread=spread)
    for messages in contexts:
        handed = [] if known is None else [{"role": "user", "content": known.text(meter, limit)}]
        known = continuation([*handed, *messages], goal=_GOAL, meter=meter, limit=limit, previous=known)
    text = "" if known is None else known.text(meter, limit)
    return sum(fact in text for fact in facts) / len(facts)


def _newest(seed: int, limit: int, spread: bool) -> float:
    """Return what a text of the newest messages would have: what is kept when nothing is extracted."""
    meter = brim.meter(_METER)
    facts, contexts = _run(seed, spread=spread)
    text = meter.tail("\n".join(str(message["content"]) for each in contexts for message in each), limit)
    return sum(fact in text for fact in facts) / len(facts)


def _run(seed: int, *, spread: bool) -> tuple[list[str], list[list[dict[str, Any]]]]:
    """Return the facts that are looked for, and the messages of each context."""
    random = Random(seed)
    planted = [_fact(random, i) for i in range(FACTS)]
    contexts = []
    for number in range(CONTEXTS):
        share = planted[number::CONTEXTS] if spread else planted if number == 0 else []
        contexts.append(_context(random, [sentence for _, sentence in share], number))
    return [fact for fact, _ in planted], contexts


def _fact(random: Random, i: int) -> tuple[str, str]:
    """Return what has to survive, and the sentence in which it is said."""
    noun, other = random.sample(_NOUNS, 2)
    number = random.randrange(1_000, 99_999)
    path = f"services/{noun}/{other}_{number % 977}.py"
    made = (
        (path, f"The fault is in {path} and nowhere else."),
        (f"ORD-{number}", f"The order that fails is ORD-{number}, says the log."),
        (f"{number % 497 + 3} MB", f"The {noun} limit is {number % 497 + 3} MB on the new service."),
        (f"{noun} over {other}{i}", f"We decided to put {noun} over {other}{i} instead of the other way round."),
        (f"{noun}_{number:x}", f"The {noun} key is called `{noun}_{number:x}` there."),
    )
    return made[i % len(made)]


def _context(random: Random, sentences: list[str], number: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    places = sorted(random.sample(range(TURNS), min(TURNS, len(sentences)))) or [0]
    for turn in range(TURNS):
        share = [s for i, s in enumerate(sentences) if places[i % len(places)] == turn]
        prose = corpus.essential(random.randrange(10**6)).replace("error", "matter")
        said = f"{prose.rstrip('.')}. {' '.join(share)}"
        messages += [
            {"role": "user" if turn % 2 else "assistant", "content": said},
            {"role": "assistant", "content": _aside(random, turn, number)},
            {"role": "user", "content": "Go on."},
        ]
        log = corpus.KINDS["log"](random)[:1_500]
        call = {"id": f"c{number}-{turn}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": log},
        ]
    return messages


def _aside(random: Random, turn: int, number: int) -> str:
    """Return something that the model says in passing, with a path or a number in it."""
    noun = random.choice(_NOUNS)
    ways = (
        f"Reading lib/{noun}/part_{number}_{turn}.py now.",
        f"That took {random.randrange(2, 900)} ms.",
        f"There is lib/{noun}/part_{number}_{turn}.py beside it.",
        f"The list has {random.randrange(2, 900)} rows.",
    )
    return ways[turn % len(ways)]
