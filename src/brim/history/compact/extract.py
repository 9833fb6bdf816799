"""A summary without a model: facts first, then the most informative sentences, in their order.

Every line is verbatim, and the summary is the same on every machine. A summary is read back by its headings, so that
facts go from one to the next unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

from brim.amounts import units
from brim.history.compact.facts import (
    HEADINGS,
    ITEM,
    SPOKEN,
    Fact,
    MessageText,
    affordable,
    gathered,
    listing,
    ranked,
)
from brim.history.compact.reading import MessageReading, Readings, reading_of
from brim.history.compact.secrets import redact
from brim.history.forms import level_of
from brim.meter import DEFAULT
from brim.meter import meter as meter_named
from brim.meter.base import BaseMeter
from brim.meter.words import terms
from brim.receipts.receipt import handle
from brim.truncate import shortened
from brim.wire.message import spoken

_SAID = "Said"
_KIND_OF = {heading: kind for kind, heading in HEADINGS.items()}
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
    messages: Sequence[MessageText],
    limit: int,
    meter: BaseMeter,
    previous: str = "",
    readings: Readings = MappingProxyType({}),
) -> str:
    """Return messages in at most `limit` tokens: facts by kind, then sentences; empty if nothing fits.

    Messages that were read before are among `readings`.

    Raises:
        InvalidValue: `limit` is not a whole number of at least zero.
    """
    units("limit", limit)
    carried, rest = read_back(redact(previous))
    earlier = [MessageText(*_named(line), "") for line in rest]
    read = [(one, reading_of(one, readings)) for one in [*earlier, *messages]]
    found = gathered(((one, each.facts) for one, each in read), _MOST_FACTS)
    known = {(fact.kind, fact.text) for fact in found}
    facts = ranked([*found, *(fact for fact in carried if (fact.kind, fact.text) not in known)])
    lines = _lines(read, len(earlier))
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


def read_back(text: str) -> tuple[list[Fact], list[str]]:
    """Return the facts that a summary lists under its headings, and its other lines."""
    facts: list[Fact] = []
    rest: list[str] = []
    kind: str | None = None
    for line in text.split("\n"):  # A fact may contain other line breaks; a heading after one is part of the fact.
        heading, colon, tail = line.partition(":")
        if colon and (heading in _KIND_OF or heading == _SAID):
            kind = _KIND_OF.get(heading)
            found = [atom.strip() for atom in tail.split("; ")] if kind else []
        else:
            found = [line.removeprefix("- ").strip()]
        if kind is None:
            rest += [each for each in found if each]
        else:
            at = len(facts) - 1_000_000  # They are older than any message.
            facts += [Fact(kind=kind, text=each, handle="", role="assistant", at=at) for each in found if each]
    return facts, rest


def _cost(text: str, meter: BaseMeter) -> int:
    return meter.load(text) + ITEM


def _lines(read: Sequence[tuple[MessageText, MessageReading]], earlier: int) -> list[SummaryLine]:
    """Return the candidate sentences in order; the first messages are the lines of the last summary."""
    found: list[SummaryLine] = []
    for number, (one, reading) in enumerate(read):
        worth = 2 if number < earlier else 1
        at = len(found)
        found += [SummaryLine(at + i, one.role, text, words, worth) for i, (text, words) in enumerate(reading.lines)]
    return [line for line in found[-_MOST_SENTENCES:] if len(line.words) > 2]


def _best(lines: Sequence[SummaryLine], facts: Sequence[str], room: int, meter: BaseMeter) -> list[SummaryLine]:
    """Return the most informative sentences that fit into the room, in order; none that repeats the facts."""
    common = Counter(word for line in lines for word in line.words)
    covered = {word for text in facts for word in terms(text)}
    chosen: list[SummaryLine] = []
    for line in sorted(lines, key=lambda line: (-_worth(line, common, len(lines)), -line.at)):
        again = len(line.words & covered) * _REPEATED[1] >= len(line.words) * _REPEATED[0]
        cost = _cost(line.text, meter) + ITEM
        if again or cost > room:
            continue
        chosen.append(line)
        covered |= line.words
        room -= cost
        if room <= 2 * ITEM:
            break
    return sorted(chosen)


def _worth(line: SummaryLine, common: Counter[str], total: int) -> int:
    """Return the worth of a sentence: words that recur but are not everywhere, weighted by the role."""
    weights = [min(common[word], 6) * (1 + total // common[word]).bit_length() for word in line.words]
    return line.worth * _ROLE_WORTH.get(line.role, 10) * 100 * sum(weights) // (len(weights) + 4)


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
        rows += [f"{_SAID}:", *(f"- {line.role}: {line.text}" if line.role else f"- {line.text}" for line in lines)]
    return "\n".join(rows)


def _named(text: str) -> tuple[str, str]:
    """Return the role before a text, or an empty one, and the text without it."""
    role, colon, rest = text.partition(": ")
    return (role, rest) if colon and role in _ROLE_WORTH else ("", text)


def _parted(text: str) -> list[MessageText]:
    """Return the blocks of a text, each with the role before it, or that of the block before."""
    found: list[MessageText] = []
    role = "user"
    for block in text.split("\n\n"):
        named, body = _named(block)
        role = named or role
        if body.strip():
            found.append(MessageText(role, body, handle(body)))
    return found
