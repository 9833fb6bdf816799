"""Choose the lines of a summary or a hand-over: by worth per token, until the limit is full.

The worth of a line is that of its kind (`worth.py`), for the words that it tells, and that of the names that no line
before it shows. A rare word tells more than a common one, and each line that shows it leaves less to tell: so a
decision that is said once comes before the fortieth task of the same form. What is chosen stands in its order.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from brim.history.compact.lines import IDLE, Line
from brim.history.names import names_in
from brim.history.worth import NAME, NameUse, rate
from brim.meter.base import BaseMeter
from brim.meter.words import terms
from brim.truncate.failure import reports_failure

_KINDS = {"told": "said", "call": "call", "error": "fails", "printed": "end", "path": "output"}
"""The kinds of items in the table of worth, by those of lines; other lines are the agent's `own` words."""
_FADING = 10
"""Lines with a word after which it tells half as much. Without this, the fortieth task of one form comes before
decisions; at 3, fewer things that people said remain of long talks."""
_ITEM = 4
"""Tokens of a line's role or dash, and of its line break."""
_ENOUGH = 5
"""Tokens below which no further line is added."""
_OUTCOME = 96
"""Characters of a call's outcome that are chosen with the call; all of it is offered once the call is chosen."""
_SAME = 0.9
"""Worth of at least this share of what it was is unchanged: not every line is examined again for each chosen one."""
_ROUNDS = 6
"""How often lines are added at most: their sizes are estimates until they are written and counted."""
_GAP = " … "


def extract(
    lines: Sequence[Line], limit: int, meter: BaseMeter, write: Callable[[Sequence[Line]], str], above: str = ""
) -> str:
    """Return the text of the lines that fit, calls with their outcomes, perhaps shortened; empty if none fits.

    Args:
        lines: the lines, the oldest first.
        limit: the most tokens of the text.
        meter: the meter that counts.
        write: returns the text of some lines.
        above: text that the prompt already shows and that no line repeats.
    """
    choice = _Choice(lines=[line for line in lines if line.kind == "call" or line.text not in above], meter=meter)
    rounds = _ROUNDS
    while True:
        text = write(choice.shown())
        left = limit - meter.load(text)
        if left < 0 and choice.steps:
            choice.give_way(-left)
            rounds = 0
        elif left >= _ENOUGH and rounds and choice.take(left):
            rounds -= 1
        else:
            return text if left >= 0 else ""


def ranked(lines: Sequence[Line]) -> list[Line]:
    """Return lines, the oldest first, in the order of their worth for a character."""
    offers = _offers(lines, [len(line.whole) for line in lines])
    return [lines[offer.at] for offer in sorted(offers, key=lambda offer: (-offer.density({}, set()), -offer.at))]


class _Offer(NamedTuple):
    """A line, or the whole outcome of one that was chosen."""

    at: int
    """The number of the line."""
    cost: int
    """Its tokens, about."""
    rate: float
    """The worth of a word that every line has."""
    words: dict[str, float]
    """What each of its words tells: 1, and 1 more for each power of ten by which it is rarer."""
    names: dict[str, float]
    """The worth of its names."""
    whole: bool = False
    """Whether it is the rest of a call's outcome, after everything else."""

    def density(self, shown: dict[str, int], names: set[str]) -> float:
        """Return the worth for a token, given how many chosen lines show each word, and the names that they show."""
        told = sum([worth / (1 + shown.get(word, 0) / _FADING) for word, worth in self.words.items()])
        named = sum([worth for name, worth in self.names.items() if name not in names])
        return (self.rate * told + named) / (self.cost + _ITEM)


def _offers(lines: Sequence[Line], costs: Iterable[int]) -> list[_Offer]:
    """Return an offer for each line."""
    said = [f"{line.text} {line.outcome}" if reports_failure(line.outcome) else line.text for line in lines]
    words = [{word for word in terms(text) if word not in IDLE and not word.isdigit()} for text in said]
    common = Counter(word for each in words for word in each)
    told = {word: 1 + math.log10(len(lines) / number) for word, number in common.items()}
    named, offers = _name_worths(lines), list[_Offer]()
    for at, (line, cost) in enumerate(zip(lines, costs, strict=True)):
        kind = "question" if (line.kind, line.role) == ("question", "user") else _KINDS.get(line.kind, "own")
        names = () if line.kind == "path" else names_in(line.whole)
        telling = {word: told[word] for word in sorted(words[at])}
        offers.append(_Offer(at, cost, rate(kind, 0), telling, {name: named[name] for name, _ in names}))
    return offers


def _name_worths(lines: Sequence[Line]) -> dict[str, float]:
    """Return the worth of each name in some lines."""
    uses, now, before = dict[str, NameUse](), -1, None
    for line in lines:
        now, before = now + (line.at != before), line.at
        for text, role in ((line.text, line.role), (line.outcome, "tool")):
            names = {name for name, _ in names_in(text)}
            for name in names:
                place, own = (now, 0, 0), role == "assistant"
                uses.setdefault(name, NameUse(now)).add(place, 1, len(names), own=own, task=False)
    return {name: NAME * use.chance(now + 1) for name, use in uses.items()}


def _ends(text: str) -> str:
    """Return the first and the last words of a text."""
    text = " ".join(text.split())
    if len(text) <= _OUTCOME:
        return text
    start, end = text[: _OUTCOME // 2], text[-_OUTCOME // 2 :]
    return f"{start.rpartition(' ')[0] or start}{_GAP}{end.partition(' ')[2] or end}"


class _Step(NamedTuple):
    """A line that was added, or shown at greater length."""

    at: int
    before: Line | None
    cost: int


@dataclass(slots=True, kw_only=True)
class _Choice:
    """The lines chosen so far."""

    lines: Sequence[Line]
    meter: BaseMeter
    steps: list[_Step] = field(default_factory=list)
    _chosen: dict[int, Line] = field(default_factory=dict)
    _words: Counter[str] = field(default_factory=Counter)
    """How many of them show each word."""
    _names: set[str] = field(default_factory=set)
    _short: Sequence[Line] = ()
    """The lines as they are shown first."""
    _heap: list[tuple[float, int, _Offer]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._short = [replace(line, outcome=_ends(line.outcome)) if line.outcome else line for line in self.lines]
        offers = _offers(self._short, [self.meter.load(line.whole) for line in self._short])
        self._heap = [(-offer.density(self._words, self._names), -offer.at, offer) for offer in offers]
        heapq.heapify(self._heap)

    def shown(self) -> list[Line]:
        """Return the chosen lines in order."""
        return [self._chosen[at] for at in sorted(self._chosen)]

    def take(self, room: int) -> bool:
        """Add the best lines that fit into some room, and return whether there are any."""
        had, rest = len(self.steps), []
        while self._heap and room >= _ENOUGH:
            before, _, offer = entry = heapq.heappop(self._heap)
            at, cost = offer.at, offer.cost + _ITEM
            if self.lines[at].kind == "path" and all(word in self._words for word in offer.words):
                continue  # It stands in another line.
            now = offer.density(self._words, self._names)
            if now < -before * _SAME:
                heapq.heappush(self._heap, (-now, -at, offer))
            elif cost > room:
                rest.append(entry)
            else:
                room -= cost
                self._add(offer, cost)
        self._heap += rest
        heapq.heapify(self._heap)
        return len(self.steps) > had

    def _add(self, offer: _Offer, cost: int) -> None:
        at = offer.at
        line, short = self.lines[at], self._short[at]
        self.steps.append(_Step(at, self._chosen.get(at), cost))
        self._chosen[at] = line if offer.whole else short
        self._words.update([*offer.words])  # Each once; a mapping would be added by its values.
        self._names.update(offer.names)
        if not offer.whole and len(line.outcome) > len(short.outcome):
            more = self.meter.load(line.whole) - offer.cost
            heapq.heappush(self._heap, (0.0, -at, _Offer(at, more, 0.0, {}, {}, whole=True)))

    def give_way(self, over: int) -> None:
        """Take back the lines that were added last, until they free some tokens."""
        while over > 0 and self.steps:
            at, before, cost = self.steps.pop()
            if before is None:
                del self._chosen[at]
            else:
                self._chosen[at] = before
            over -= cost
