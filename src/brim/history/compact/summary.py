"""Choose the lines of a summary or a hand-over: by worth per token, until the limit is full.

The worth of a line is that of its kind, for its words, and that of its names (`history/worth.py`). A rare word tells
more than a common one, and the more one side has told, the less its next line is worth. A summary has the lines in
their order and reads like a conversation, so that the next one reads it as one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import groupby

from brim.amounts import units
from brim.history.compact.lines import TASKS, Line, Said, once, read_text
from brim.history.names import names_in
from brim.history.worth import NameUse, rate
from brim.meter import DEFAULT
from brim.meter import meter as meter_named
from brim.meter.base import BaseMeter
from brim.meter.words import terms
from brim.redaction import redact
from brim.wire.message import spoken

_NAME = 80.0
"""Worth of a name that the next message needs, beside words that count by how rare they are. At 120, a hand-over of 500
tokens has 61 of 80 points of an agent, not 69; at 60, a summary of 500 tokens has a third fewer of the names.
"""
_QUARTER = 800
"""Characters of one side after which its next line is worth a quarter. Without this, an agent has no word among 4,000
tokens of talk, and a long task fills a hand-over; with half or double, the figures in docs/design/compaction.md stay
within 0.01."""
_ITEM = 4
"""Tokens of a line's role or dash, and of its line break."""
_ENOUGH = 5
"""Tokens below which no further line is added."""
_OUTCOME = 96
"""Characters of a call's outcome that are chosen with the call; all of it stands where nothing else needs the room."""
_ROUNDS = 6
"""How often a text is filled at most: the sizes of lines are estimates until they are written and counted."""
_GAP = " … "
_ROLES = ("user", "assistant", "tool", "system")
_CALLED = "called"
"""What stands before a call."""
_ALONE = {*TASKS, "call"}
_JOIN = "\n\n"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SummarySource:
    """What a summary replaces, for a summariser."""

    said: tuple[Said, ...]
    """The texts to summarise, in order, each with its handle; without the last summary."""
    lines: Sequence[Line] = field(repr=False)
    """The lines of the last summary and of the texts."""
    previous: str
    """The last summary, or the text at the start of the context; empty if there is none."""
    limit: int
    """The most tokens of the summary."""
    input_limit: int
    """The most tokens that a summariser can read."""
    older: int
    """Tokens of what the summary replaces."""
    meter: BaseMeter = field(repr=False)

    @property
    def text(self) -> str:
        """The text for a summariser, within `input_limit`."""
        return self.reading(self.input_limit)

    def reading(self, limit: int) -> str:
        """Return the text for a summariser in at most `limit` tokens: all of it, or else the lines of most worth."""
        earlier = [f"summary so far:\n{redact(self.previous)}"] if self.previous else []
        whole = _JOIN.join([*earlier, *(spoken(one.role, redact(one.text)) for one in self.said)])
        return whole if self.meter.load(whole) <= limit else condensed(self.lines, limit, self.meter)


def summarise(text: str, limit: int, meter: BaseMeter | None = None) -> str:
    """Return a summary of a text in at most `limit` tokens, as `fit_messages(summarise=...)` expects it.

    Without a meter, tokens of the default vocabulary are counted.

    Raises:
        InvalidValue: `limit` is not a whole number of at least zero.
    """
    return condensed(read_back(text, _JOIN), limit, meter or meter_named(DEFAULT))


def condensed(lines: Iterable[Line], limit: int, meter: BaseMeter, previous: str = "") -> str:
    """Return the most important lines in order, in at most `limit` tokens; empty if nothing fits.

    `previous` is the last summary.

    Raises:
        InvalidValue: `limit` is not a whole number of at least zero.
    """
    units("limit", limit)
    return extract(with_earlier(previous, lines), limit, meter, as_talk)


def with_earlier(previous: str, lines: Iterable[Line]) -> list[Line]:
    """Return lines after those of the last summary, each once."""
    return once([*(replace(line, at=line.at - len(previous)) for line in read_back(previous)), *lines])


def as_talk(lines: Sequence[Line]) -> str:
    """Return lines as a conversation: sentences of a message in one row after their role, each task and call alone."""
    rows = []
    for _, group in groupby(lines, key=lambda line: (line.at, line.role, line.text if line.kind in _ALONE else "")):
        first, *others = group
        text = " ".join([first.whole, *(line.text for line in others)])
        rows.append(f"{_CALLED}: {text}" if first.kind == "call" else spoken(first.role, text))
    return "\n".join(rows)


def read_back(text: str, between: str = "\n") -> list[Line]:
    """Return the lines of a text whose parts begin with a role, or else have the role of the part before them."""
    lines: list[Line] = []
    role = "user" if between == _JOIN else "assistant"
    for at, part in enumerate(redact(text).split(between)):
        name, colon, rest = part.partition(": ")
        if colon and name == _CALLED:
            call, _, outcome = rest.partition(" → ")
            lines.append(Line(role="assistant", kind="call", text=call, outcome=outcome, at=at))
            continue
        role = name if colon and name in _ROLES else role
        lines += read_text(role, rest if colon and name == role else part, at)
    return lines


def extract(
    lines: Iterable[Line], limit: int, meter: BaseMeter, write: Callable[[Sequence[Line]], str], above: str = ""
) -> str:
    """Return the text of the lines that fit, calls with their outcomes, perhaps shortened; empty if none fits.

    Args:
        lines: the lines, the oldest first.
        limit: the most tokens of the text.
        meter: the meter that counts.
        write: returns the text of some lines.
        above: text that the prompt already shows and that no line repeats.
    """
    whole = [line for line in lines if line.kind == "call" or line.text not in above]
    short = [replace(line, outcome=_ends(line.outcome)) if line.outcome else line for line in whole]
    sizes = [[meter.load(line.sourced) + _ITEM for line in form] for form in (short, whole)]
    order, room, best, rounds = ranked(short, sizes[0]), limit - meter.load(write([])), "", _ROUNDS
    while True:
        chosen, spare = dict[int, Line](), room
        for at in order:
            if sizes[0][at] <= spare:
                chosen[at], spare = short[at], spare - sizes[0][at]
        for at in sorted(chosen, reverse=True):
            if 0 < (more := sizes[1][at] - sizes[0][at]) <= spare:
                chosen[at], spare = whole[at], spare - more
        text = write([chosen[at] for at in sorted(chosen)])
        left = limit - meter.load(text)
        if left >= 0:
            best, before, rounds = max(text, best, key=len), best, rounds - 1
            if left < _ENOUGH or not rounds or best == before:
                return best
        elif not chosen:
            return best
        room += left


def ranked(lines: Sequence[Line], sizes: Sequence[int]) -> list[int]:
    """Return the numbers of lines, the one of most worth for each of its tokens first.

    The rarer a word, the more it is worth; a name is worth something in the first line that shows it.
    """
    words = [{word for word in terms(line.text) if not word.isdigit()} for line in lines]
    common = Counter(word for each in words for word in each)
    rare = {word: math.log(1 + len(lines) / number) for word, number in common.items()}
    said = [_rate(line) * sum(rare[word] for word in sorted(each)) for line, each in zip(lines, words, strict=True)]
    names, chances = [dict.fromkeys(name for name, _ in names_in(line.whole)) for line in lines], _chances(lines)
    told, shown, order = Counter[str](), set[str](), list[int]()

    def worth(at: int) -> float:
        return (said[at] + _NAME * sum(chances[name] for name in names[at] if name not in shown)) / sizes[at]

    sides: dict[str, list[tuple[float, int]]] = {}
    for at, line in enumerate(lines):
        sides.setdefault(line.role, []).append((-worth(at), -at))
    for side in sides.values():
        heapify(side)
    while sides:
        role = min(sides, key=lambda role: sides[role][0][0] / (1 + told[role] / _QUARTER) ** 2)
        before, newest = heappop(sides[role])
        if (now := -worth(-newest)) > before:
            heappush(sides[role], (now, newest))  # Another line has shown its names since.
            continue
        order.append(-newest)
        told[role] += len(lines[-newest].whole)
        shown.update(names[-newest])
        if not sides[role]:
            del sides[role]
    return order


def _rate(line: Line) -> float:
    """Return what a word of a line is worth; a task is the agent's own words."""
    return rate("own" if line.kind in TASKS else line.kind, 0)


def _chances(lines: Sequence[Line]) -> dict[str, float]:
    """Return the chance of each name in some lines that the next message has it."""
    uses, now, before = dict[str, NameUse](), -1, None
    for line in lines:
        now, before = now + (line.at != before), line.at
        for text, own in ((line.text, line.role == "assistant"), (line.outcome, False)):
            names = dict.fromkeys(name for name, _ in names_in(text))
            for name in names:
                uses.setdefault(name, NameUse(now)).add((now, 0, 0), 1, len(names), own=own, task=False)
    return {name: use.chance(now + 1) for name, use in uses.items()}


def _ends(text: str) -> str:
    """Return the first and the last words of a text."""
    text = " ".join(text.split())
    if len(text) <= _OUTCOME:
        return text
    start, end = text[: _OUTCOME // 2], text[-_OUTCOME // 2 :]
    return f"{start.rpartition(' ')[0] or start}{_GAP}{end.partition(' ')[2] or end}"
