"""Two ways to shorten a history that brim is compared with as text: old results cleared, and their best lines.

The first is what providers do on their servers. The second is a sketch of what a reader would keep, short enough to be
checked by eye. Both count as brim does, so that only the choice differs.
"""

# ruff: noqa: D102 - what `trim` does is said on the base

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import brim
from bench.names import names
from bench.suite import Message, judge
from bench.trimmers import Brim, Trimmer
from brim.meter.base import BaseMeter

_CLEARED = "[Old tool result content cleared]"
_WHOLE_SHARE = 0.5
"""Share of the free room for whole newest turns."""
_NEWEST_SHARE = 0.4
"""Most of the free room that the newest turn takes before its largest message is cut."""
_OWN_WORDS = 150
"""Tokens up to which a text of the agent or the user stays whole."""
_ROOM, _SMALL_ROOM = 24, 16
"""Least tokens for an older result, and what it gets when that is too much."""
_MARKS = 8
"""Tokens set aside for the marks of a text."""
_SPOKEN, _RETURNED, _MOST_WORTH = 4, 1, 8
"""What a name is worth for each message of the agent or the user and for each result with it, and the most."""


class Cleared(Trimmer):
    """The oldest results become one placeholder each until the rest fits; then the oldest turns leave."""

    name = "reference: old results cleared"

    def trim(self, taken: list[Message], budget: int) -> list[Message]:
        made, total = list(taken), _count(taken)
        for i in range(judge.turns(taken)[-1][0]):
            if total <= budget:
                break
            short = {**taken[i], "content": _CLEARED}
            saved = _count([taken[i]]) - _count([short])
            if saved > 0 and _is_result(taken, i):
                made[i], total = short, total - saved
        return made if total <= budget else Turns(made).fitted(budget)


class BestLines(Trimmer):
    """Whole newest turns for half of the room; of older ones the calls, own words, and the best lines of results."""

    name = "reference: best lines of old results"

    def trim(self, taken: list[Message], budget: int) -> list[Message]:
        return Turns(_with_short_newest(taken, budget)).fitted(budget, _WHOLE_SHARE, shorten=True)


class Turns:
    """A history as its leading system message, the turn of the task, and the turns up to the newest."""

    def __init__(self, messages: Sequence[Message]) -> None:
        first = int(messages[0]["role"] == "system")
        self.messages, self.lead = messages, list(messages[:first])
        self.turns = [list(messages[first:][start:end]) for start, end in judge.turns(messages[first:])]
        self.sizes = [_count(turn) for turn in self.turns]

    def free(self, budget: int, *, newest: bool) -> int:
        """Return the tokens that the lead and the task leave, and the newest turn if it is counted too."""
        return budget - _count(self.lead) - self.sizes[0] - (self.sizes[-1] if newest and len(self.turns) > 1 else 0)

    def fitted(self, budget: int, share: float = 1.0, *, shorten: bool = False) -> list[Message]:
        """Return whole turns from the newest back for a share of the free room, and older ones shortened or not."""
        free, last = self.free(budget, newest=True), len(self.turns) - 1
        shown, left = {0: self.turns[0], last: self.turns[last]}, int(free * share)
        older = list(range(1, last))
        while older and self.sizes[older[-1]] <= left:
            i = older.pop()
            shown[i], left = self.turns[i], left - self.sizes[i]
        if shorten:
            shown |= self._shortened(older, left + free - int(free * share))
        return [*self.lead, *(message for i in sorted(shown) for message in shown[i])]

    def _shortened(self, older: Sequence[int], left: int) -> dict[int, list[Message]]:
        """Return shorter forms of turns, from the newest back as long as there is room."""
        worth, shown = _worth(self.messages), dict[int, list[Message]]()
        for number, i in enumerate(reversed(older)):
            made = _short(self.turns[i], max(_ROOM, left // (len(older) - number)), worth)
            if _count(made) > left:
                made = _short(self.turns[i], _SMALL_ROOM, worth)
            if _count(made) > left:
                break
            shown[i], left = made, left - _count(made)
        return shown


def best_lines(text: str, room: int, worth: Mapping[str, int]) -> str:
    """Return the whole lines of a text that name what is worth most by their length, with marks for the others."""
    if _tokens(text) <= room:
        return text
    rows = text.split("\n")
    value = [sum(worth.get(name, 0) for name in names(row)) / (4 + len(row) / 4) for row in rows]
    kept, used = set[int](), _MARKS
    for i in sorted(range(len(rows)), key=lambda i: (-value[i], i)):
        size = _tokens(rows[i]) + 1
        if value[i] and used + size <= room:
            kept.add(i)
            used += size
    return _marked(rows, kept)


def ends(text: str, room: int) -> str:
    """Return the first and the last whole lines of a text, in turn as long as there is room."""
    rows, used = text.split("\n"), _MARKS
    first, last = 0, len(rows)
    while first < last and used + _tokens(rows[first]) + 1 <= room:
        used += _tokens(rows[first]) + 1
        first += 1
        if first < last and used + _tokens(rows[last - 1]) + 1 <= room:
            last -= 1
            used += _tokens(rows[last]) + 1
    if first == 0:
        return f"{rows[0][: room * 3]} [{len(text) - room * 3} characters omitted]"
    return _marked(rows, {*range(first), *range(last, len(rows))})


def _marked(rows: Sequence[str], kept: set[int]) -> str:
    """Return rows in order, with marks that say how many are missing between them."""
    made, gap = list[str](), 0
    for i, row in enumerate(rows):
        if i not in kept:
            gap += 1
            continue
        made += [f"[{gap} lines omitted]", row] if gap else [row]
        gap = 0
    return "\n".join([*made, f"[{gap} lines omitted]"] if gap else made)


def _short(turn: Sequence[Message], room: int, worth: Mapping[str, int]) -> list[Message]:
    """Return a turn with its calls as they were and its texts within their rooms."""
    rooms = [max(8, room) if message["role"] == "tool" else _OWN_WORDS for message in turn]
    return [
        {**message, "content": best_lines(judge.body(message), limit, worth)}
        if _tokens(judge.body(message)) > limit
        else message
        for message, limit in zip(turn, rooms, strict=True)
    ]


def _with_short_newest(messages: list[Message], budget: int) -> list[Message]:
    """Return the history with the largest message of its newest turn cut, if that turn takes too much of the room."""
    turns = Turns(messages)
    newest, most = turns.turns[-1], int(_NEWEST_SHARE * turns.free(budget, newest=False))
    largest = max(newest, key=lambda message: _count([message]))
    room = most - _count([message for message in newest if message is not largest])
    if len(turns.turns) <= 2 or turns.sizes[-1] <= _NEWEST_SHARE * turns.free(budget, newest=False) or room <= 60:
        return messages
    short = {**largest, "content": ends(judge.body(largest), room)}
    return [short if message is largest and judge.body(largest) else message for message in messages]


def _worth(messages: Sequence[Message]) -> dict[str, int]:
    """Return what each name is worth."""
    found: dict[str, int] = {}
    for message in messages:
        more = _SPOKEN if message["role"] in ("assistant", "user") else _RETURNED
        for name in {name for text in judge.texts(message) for name in names(text)}:
            found[name] = min(_MOST_WORTH, found.get(name, 0) + more)
    return found


def _is_result(messages: Sequence[Message], i: int) -> bool:
    """Return whether a message is a result: in text protocols that is any message of the user after the task."""
    return messages[i]["role"] == "tool" or (messages[i]["role"] == "user" and i > 1)


def _count(messages: Sequence[Message]) -> int:
    return _meter().count_messages(messages)


def _tokens(text: str) -> int:
    return _meter().count(text)


@cache
def _meter() -> BaseMeter:
    return brim.meter(Brim.meter)
