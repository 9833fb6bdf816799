"""Choose the lines of a summary: first what people said, then what the agent said, then calls and their outcomes.

People say little, and mean it to last: a decision, a ban or an allergy is one short sentence among long answers. So
their sentences come first. Among the sentences of one author, short sentences of rare words come first, and
those with a name that a person or a call uses later.

Each group of lines has a share of the tokens and passes on what it does not use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from brim.history.compact.lines import IDLE, Line
from brim.history.names import names_in
from brim.history.telling import telling
from brim.meter.base import BaseMeter
from brim.meter.words import terms
from brim.truncate.failure import reports_failure

_PEOPLE = 0.6
"""The share for sentences of people."""
_AGENT = 0.8
"""The share for sentences of the agent and the ends of results; calls have at least the rest."""
_TASKS = 0.25
"""The share for open tasks of the agent; a plan of forty steps must leave room for the rest."""
_NAMED = 3.0
"""The factor of sentences with a name that is used later."""
_STOPS = ".。!！ "
"""The end of a sentence, which may differ where it is repeated."""
_ITEM = 2
"""Tokens of a list item's dash and line break."""
_ENOUGH = 12
"""Tokens below which no further line is added."""
_OUTCOME = 24
"""Tokens of a call's outcome if many calls share the room."""
_GAP = " … "
_NAME = re.compile(r"(?=\b([A-Z][\w'-]{2,40}(?: [A-Z][\w'-]{2,40})?|\d[\d.,:]{1,40}))(?<![\w.,:])")
"""A word with a capital and the next one if it has a capital too, or a number."""
_FEW = 4
"""Sentences above which a name is the subject of the whole history, and points to none of them."""


def pick(
    lines: Sequence[Line],
    limit: int,
    meter: BaseMeter,
    write: Callable[[Sequence[Line]], str],
    above: str = "",
    *,
    people: float = _PEOPLE,
) -> str:
    """Return the text of the lines that fit, calls with their outcomes, perhaps shortened; empty if none fits.

    Args:
        lines: the lines, the oldest first.
        limit: the most tokens of the text.
        meter: the meter that counts.
        write: returns the text of some lines.
        above: text that the prompt already shows and that no line repeats.
        people: the share for sentences of people.
    """
    choice = _Choice(lines=lines, meter=meter, write=write, limit=limit, text=above)
    groups = _groups(lines, people)
    room = limit - meter.load(write([]))
    for share, group in groups:
        choice.take(group, int(room * share))
    choice.fill([line for _, group in groups for line in group])
    choice.add_outcomes()
    return choice.written()


def best_first(lines: Sequence[Line]) -> list[Line]:
    """Return the sentences among some lines, the oldest first, in order of importance."""
    words = {at: _words(line) for at, line in enumerate(lines) if line.kind not in ("call", "path")}
    told = dict(zip(words, telling([(lines[at].text, words[at]) for at in words]), strict=True))
    named = _named_later(lines)
    ranks = {
        id(lines[at]): told[at] * (_NAMED if id(lines[at]) in named else 1) for at, known in words.items() if known
    }
    return sorted((line for line in reversed(lines) if id(line) in ranks), key=lambda line: -ranks[id(line)])


def _words(line: Line) -> set[str]:
    """Return the words of a sentence that tell something; a number alone does not."""
    return {word for word in terms(line.text) if word not in IDLE and not word.isdigit()}


def _named_later(lines: Sequence[Line]) -> set[int]:
    """Return the identities of the sentences with a name or number that a person or a call uses later."""
    names = {id(line): _names(line.text) for line in lines if line.kind != "path"}
    common = Counter(name for line in lines if line.kind != "call" for name in names.get(id(line), ()))
    found, later = set[int](), set[str]()
    for line in reversed(lines):
        own = {name for name in names.get(id(line), ()) if common[name] <= _FEW}
        if line.role == "user" or line.kind == "call":
            later |= own
        elif not own.isdisjoint(later):
            found.add(id(line))
    return found


def _names(text: str) -> set[str]:
    return {*_NAME.findall(text), *(name for name, _ in names_in(text))}


def paths_first(lines: Sequence[Line]) -> list[Line]:
    """Return the paths among some lines, the oldest first: those that a tool printed last, and the newest first."""
    return sorted((line for line in reversed(lines) if line.kind == "path"), key=lambda line: line.role == "tool")


def _groups(lines: Sequence[Line], people: float) -> list[tuple[float, list[Line]]]:
    """Return the lines in groups with their shares, the most important first."""
    sentences = best_first(lines)
    agent = [line for line in sentences if line.role != "user"]
    calls = [line for line in reversed(lines) if line.kind == "call"]
    return [
        (people, [line for line in sentences if line.role == "user"]),
        (_TASKS, [line for line in agent if line.kind == "todo"]),
        (_AGENT, [line for line in agent if line.kind != "todo"]),
        (1.0, sorted(calls, key=lambda line: not reports_failure(line.outcome))),
        (1.0, paths_first(lines)),
    ]


def _ends(text: str, limit: int, meter: BaseMeter) -> str:
    """Return a text, or as many of its first and last words as fit into a limit; empty if none does."""
    words = text.split()
    if meter.load(text) <= limit:
        return " ".join(words)

    def ends(count: int) -> str:
        return _GAP.join([" ".join(words[: count - count // 2]), " ".join(words[len(words) - count // 2 :])])

    low, high = 0, len(words)
    while high - low > 1:  # `low` words fit, `high` do not.
        middle = (low + high) // 2
        low, high = (middle, high) if meter.load(ends(middle)) <= limit else (low, middle)
    return ends(low).strip() if low else ""


@dataclass(slots=True, kw_only=True)
class _Choice:
    """The lines chosen so far."""

    lines: Sequence[Line]
    meter: BaseMeter
    write: Callable[[Sequence[Line]], str]
    limit: int
    text: str
    """What the prompt already shows, and the chosen lines."""
    spent: int = 0
    """Tokens of the chosen lines, roughly."""
    chosen: dict[int, Line] = field(default_factory=dict)
    """The lines as shown, by the identity of the original ones, the most important first."""

    def take(self, lines: Iterable[Line], room: int) -> None:
        """Take the first lines that fit and say something new; calls with a short form of their outcome."""
        room = min(room, self.limit - self.spent)
        for line in lines:
            if id(line) in self.chosen or self._is_shown(line):
                continue
            shown = replace(line, outcome=_ends(line.outcome, _OUTCOME, self.meter))
            cost = self.meter.load(shown.whole) + _ITEM
            if cost > room:
                continue
            self.chosen[id(line)] = shown
            room -= cost
            self.spent += cost
            self.text += f"\n{line.text}"

    def _is_shown(self, line: Line) -> bool:
        """Return whether a sentence or a path is already shown word for word."""
        return line.kind != "call" and line.text.rstrip(_STOPS) in self.text

    def fill(self, lines: Sequence[Line]) -> None:
        """Take more lines while they fit: their sizes were estimates."""
        before = -1
        while len(self.chosen) > before:
            before = len(self.chosen)
            self.spent = self.meter.load(self.write(self._shown()))
            if self.limit - self.spent >= _ENOUGH:
                self.take(lines, self.limit)

    def add_outcomes(self) -> None:
        """Use the rest of the room for the outcomes of calls, cut to a common length."""
        calls = [line for line in self.lines if line.outcome and id(line) in self.chosen]
        sizes = [self.meter.load(line.outcome) for line in calls]
        taken = sum(self.meter.load(self.chosen[id(line)].outcome) for line in calls)
        level = level_of(sizes, self.limit - self.spent + taken)
        for line in calls if level > _OUTCOME else ():
            self.chosen[id(line)] = replace(line, outcome=_ends(line.outcome, level, self.meter))

    def _shown(self) -> list[Line]:
        return [self.chosen[id(line)] for line in self.lines if id(line) in self.chosen]

    def written(self) -> str:
        """Return the text within the limit, without the least important lines if it is too long."""
        while (size := self.meter.load(text := self.write(self._shown()))) > self.limit and self.chosen:
            for name in [*self.chosen][-max(1, (size - self.limit) // 40) :]:
                del self.chosen[name]
        return text if size <= self.limit else ""


def level_of(sizes: Sequence[int], room: int) -> int:
    """Return the largest common size to which all can be cut so that they fit together."""
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return max(0, left // count)
        left -= size
        count -= 1
    return max(sizes, default=0)
