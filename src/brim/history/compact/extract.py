"""A summary without a model: facts first, then the most informative sentences, in their order.

Every line is verbatim, and the summary is the same on every machine. A summary is read back by its headings, so that
facts go from one to the next unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from brim.amounts import units
from brim.history.compact.digest import SAID, Digest, named
from brim.history.compact.facts import ITEM, SPOKEN, Fact, MessageText, affordable, listing, ranked
from brim.history.compact.secrets import redact
from brim.history.forms import level_of
from brim.meter import DEFAULT
from brim.meter import meter as meter_named
from brim.meter.base import BaseMeter
from brim.meter.words import terms
from brim.receipts.receipt import handle
from brim.truncate import shortened
from brim.wire.message import spoken

_FACTS_SHARE = (3, 5)
"""The part of the limit that facts may take before sentences are chosen."""
_REPEATED = (3, 5)
"""A sentence is redundant if this part of its words is covered already."""
_ROLE_WORTH = {"user": 15, "assistant": 10, "system": 10, "tool": 3}
_MOST_FACTS = 400
_LEAST_TEXT = 24
"""Tokens that a text for a summariser is not cut below; with less it says nothing."""
_JOIN = "\n\n"
_MOST_SENTENCES = 4_000
"""Sentences that are considered: of a longer history the last."""


class SummaryLine(NamedTuple):
    """A sentence that could stand in a summary."""

    at: int
    """Its number among all sentences."""
    role: str
    text: str
    words: frozenset[str]
    worth: int
    """A factor: 2 if the last summary had it."""


def summarise(text: str, limit: int, meter: BaseMeter | None = None) -> str:
    """Return a summary of a text that counts at most `limit`; it can be given to `fit_messages(summarise=...)`.

    Without a meter, tokens of the default vocabulary are counted.

    Raises:
        InvalidValue: `limit` is not a whole number of at least zero.
    """
    return condensed(_parted(text), limit, meter or meter_named(DEFAULT))


def condensed(
    messages: Sequence[MessageText], limit: int, meter: BaseMeter, previous: str = "", digest: Digest | None = None
) -> str:
    """Return messages in at most `limit` tokens: facts by kind, then sentences; empty if nothing fits.

    `digest` has those of them that were read before; it begins with the last summary, instead of `previous`.

    Raises:
        InvalidValue: `limit` is not a whole number of at least zero.
    """
    units("limit", limit)
    read = (Digest(previous) if digest is None else digest).of(messages)
    found = read.tally.best(_MOST_FACTS)
    known = {(fact.kind, fact.text) for fact in found}
    facts = ranked([*found, *(fact for fact in read.carried if (fact.kind, fact.text) not in known)])
    lines = _lines(read)
    room = limit * _FACTS_SHARE[0] // _FACTS_SHARE[1]
    kept = affordable(facts, room, meter)
    spent = sum(_cost(fact.text, meter) for fact in kept)
    spoken = _best(lines, [fact.text for fact in kept], limit - spent, meter)
    spent += sum(_cost(line.text, meter) for line in spoken)
    taken = set(map(id, kept))
    late = [fact for fact in facts if fact.must and id(fact) not in taken]
    covered = "\n".join([*(fact.text for fact in kept if fact.kind in SPOKEN), *(line.text for line in spoken)])
    kept += affordable(late, limit - spent, meter, covered)
    return _within(kept, spoken, limit, meter)


def summary_input(messages: Sequence[MessageText], previous: str, limit: int, meter: BaseMeter) -> str:
    """Return the text that a summariser reads: the last summary and the messages, without secrets, within the limit.

    The longest texts are cut first, all to the same length, so that no message is lost. If even that is not enough,
    facts and the best sentences stand for the whole.
    """
    earlier = [f"summary so far:\n{redact(previous)}"] if previous else []
    texts = [*earlier, *(spoken(one.role, redact(one.text)) for one in messages)]
    whole, joint = _JOIN.join(texts), meter.load(_JOIN)
    if meter.load(whole) <= limit:
        return whole
    sizes = [meter.load(text) + joint for text in texts]
    level = level_of(sizes, limit)
    while level >= _LEAST_TEXT:
        cut = _JOIN.join(
            text if size <= level else shortened(text, level - joint, meter, "shape")
            for text, size in zip(texts, sizes, strict=True)
        )
        if meter.load(cut) <= limit:
            return cut
        level -= 1 + level // 20
    return condensed(messages, limit, meter, previous)


def listed(facts: Sequence[Fact], limit: int, meter: BaseMeter) -> str:
    """Return as many facts as fit, by kind; empty if none does."""
    return _within(affordable(facts, limit, meter), [], limit, meter)


def _cost(text: str, meter: BaseMeter) -> int:
    return meter.load(text) + ITEM


def _lines(read: Digest) -> list[SummaryLine]:
    """Return the candidate sentences in order."""
    found: list[SummaryLine] = []
    for at, one, reading in read.newest():
        worth = 2 if at < read.earlier else 1
        for text, words in reversed(reading.lines):
            found.append(SummaryLine(-len(found), one.role, text, words, worth))
        if len(found) >= _MOST_SENTENCES:
            break
    return [line for line in reversed(found[:_MOST_SENTENCES]) if len(line.words) > 2]


def _best(lines: Sequence[SummaryLine], facts: Sequence[str], room: int, meter: BaseMeter) -> list[SummaryLine]:
    """Return the most informative sentences that fit into the room, in order; none that repeats the facts."""
    common, total = Counter(chain.from_iterable(line.words for line in lines)), len(lines)
    weights = {word: min(count, 6) * (1 + total // count).bit_length() for word, count in common.items()}
    covered = {word for text in facts for word in terms(text)}
    chosen: list[SummaryLine] = []
    order = sorted([(-_worth(line, weights), -line.at, i) for i, line in enumerate(lines)])
    for line in [lines[i] for _, _, i in order]:
        if len(line.words & covered) * _REPEATED[1] >= len(line.words) * _REPEATED[0]:
            continue
        cost = _cost(line.text, meter) + ITEM
        if cost > room:
            continue
        chosen.append(line)
        covered |= line.words
        room -= cost
        if room <= 2 * ITEM:
            break
    return sorted(chosen)


def _worth(line: SummaryLine, weights: Mapping[str, int]) -> int:
    """Return the worth of a sentence: words that recur but are not everywhere, weighted by the role."""
    worth = line.worth * _ROLE_WORTH.get(line.role, 10) * 100 * sum(map(weights.__getitem__, line.words))
    return worth // (len(line.words) + 4)


def _within(facts: list[Fact], lines: list[SummaryLine], limit: int, meter: BaseMeter) -> str:
    """Return the summary, without as many items as necessary to fit."""
    text = _written(facts, lines)
    while meter.load(text) > limit:
        over = max(1, (meter.load(text) - limit) // 40)
        lines, facts = (lines[over:], facts) if lines else (lines, facts[:-over])
        text = _written(facts, lines)
        if not facts and not lines:
            return ""
    return text


def _written(facts: Sequence[Fact], lines: Sequence[SummaryLine]) -> str:
    by_time = sorted(facts, key=lambda fact: fact.at)
    rows = listing(by_time)
    if lines:
        rows += [f"{SAID}:", *(f"- {line.role}: {line.text}" if line.role else f"- {line.text}" for line in lines)]
    return "\n".join(rows)


def _parted(text: str) -> list[MessageText]:
    """Return the blocks of a text, each with the role before it, or that of the block before."""
    found: list[MessageText] = []
    role = "user"
    for block in text.split("\n\n"):
        speaker, body = named(block)
        role = speaker or role
        if body.strip():
            found.append(MessageText(role, body, handle(body)))
    return found
