"""The ladder: the form in which each turn is sent that need not stay whole.

Turns are offered a form one by one, the most important first, until one does not fit. First come the calls of the
newest turns with the beginning of their words; then what people stated, the most telling first, each with a mark for
its answer, and what the agent stated; then the words and calls of all others, the newest first; then how results
ended, and lines of results with names that nothing else shows; last whole turns. A turn is dropped only if its calls
do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from brim.history.forms import Form, Forms
from brim.history.names import NameIndex, names_in
from brim.history.telling import telling
from brim.history.turns import Turns
from brim.meter.words import terms

_HALF = 0.5
"""Share of the tokens left for the shortest form of each turn, so that questions keep their answers; then for turns
that state something, before the others; and for the ends of results, before other lines. With 0.25, an agent of 60
steps loses the cause that it found at step 10."""
_GAP = 6
"""Tokens of the mark that a single line needs, roughly."""
_ENOUGH = 12
"""Tokens below which nothing more is added."""

_STAYS = {
    "gist": "shortened to its calls, and the beginning of its words",
    "brief": "shortened to its words and calls, with a mark or the end of each result",
    "_stated": "shortened to its words and calls, with a mark or the end of each result",
    "spare": "shortened to its words and calls, and the end of each result",
    "lines": "shortened to its words and calls, and some lines of its results",
    "newest_only": "text that is repeated later was left out",
}
"""What stays of a turn in each form."""
_TEXT = "its text was shortened"
_REPEATED = "its text is repeated later"

Line = tuple[int, int, int]
"""A part of a text: the position of its message, the index of the piece, and the number of the part."""


@dataclass(slots=True, kw_only=True)
class Ladder:
    """The turns that stay besides those that always do, and in which form."""

    turns: Turns
    forms: Forms
    names: NameIndex
    order: Sequence[int]
    """The turns to choose among, the first one first."""
    by_age: bool
    """Whether this is the order of age, which other reasons may change."""
    fixed: Mapping[int, Form]
    """Messages whose form is decided, by position."""
    left: int
    """Tokens that are left."""
    cuts: bool
    """Whether turns may be shortened; without it they stay whole or are dropped."""
    shown: set[str]
    """Names in the turns that always stay."""
    kept: dict[int, int] = field(default_factory=dict)
    """The turns that stay, with their tokens."""
    edits: dict[int, Form] = field(default_factory=dict)
    """The messages that are sent in another form, by position."""
    reasons: dict[int, str] = field(default_factory=dict)
    """What stays of a turn that is shortened, and why a repeated one is dropped."""
    _chosen: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    """The lines that were chosen, by position and piece, in order of choice."""
    _choice: set[int] = field(default_factory=set)
    """The turns to choose among that are not repeated later."""
    _told: Mapping[int, float] = field(default_factory=dict)
    """The turns in which a person states something, each with how much it tells for its length."""
    _huge: int = 0
    """Tokens above which a turn that does not fit does not end an offer."""

    def run(self) -> None:
        """Decide what stays."""
        forms, self._huge = self.forms, self.left // 2
        if not self.by_age:
            for turn in self.order:
                self._offer([turn], forms.whole)
                self._offer([turn] if self.cuts and turn not in self.kept else [], forms.spare)
            return
        if not self.cuts:
            self._offer(self.order, forms.newest_only)
            return
        turns = [*self._not_repeated()]
        self._choice = {*turns}
        spoken = {self.turns.turn_of(at) for at in self.turns.spoken}.intersection(turns)
        self._told = self._statements(spoken)
        self._offer(turns, forms.gist, _HALF)
        told = sorted(self._told, key=lambda turn: (-self._told[turn], -turn))
        self._offer(chain(told, filter(self._tells, turns)), self._stated, _HALF)  # Reads only the turns that it tries.
        self._offer(turns, forms.brief)
        self._offer(self._shortened(), forms.spare, _HALF)
        self._choose_lines()
        self._offer(self._shortened(), forms.newest_only, stops=False)
        self._fill()

    def _not_repeated(self) -> Iterator[int]:
        """Yield the turns that are not repeated later."""
        for turn in self.order:
            if self.forms.repeated(turn):
                self.reasons[turn] = _REPEATED
            else:
                yield turn

    def _shortened(self) -> list[int]:
        """Return the turns that stay, the newest first."""
        return sorted(self.kept, reverse=True)

    def _statements(self, spoken: Iterable[int]) -> dict[int, float]:
        """Return the turns in which a person states something, each with how much it tells for its length.

        Of several with the same words, only the newest counts.
        """
        turns, found, said = self.turns, dict[str, int](), {*self.turns.spoken}
        for turn in sorted(spoken):
            members = turns.members(turn)
            if not all(self.forms.asks(at) for at in members if at in said):
                found["\n".join(turns.messages[at].said() for at in members if at in said)] = turn
        ranks = telling([(text, {word for word in terms(text) if not word.isdigit()}) for text in found])
        return dict(zip(found.values(), ranks, strict=True))

    def _tells(self, turn: int) -> bool:
        """Return whether a turn states something."""
        return any(map(self.forms.tells, self.turns.members(turn)))

    def _offer(
        self,
        turns: Iterable[int],
        form: Callable[[int], Form],
        share: float = 1.0,
        *,
        stops: bool = True,
    ) -> None:
        """Send turns in a form, or in a longer one than they have, within a share of the tokens left.

        The first that does not fit ends it if `stops` is set, unless it is huge.
        """
        room = int(self.left * share)
        for turn in turns:
            cost, forms = self._cost(turn, form)
            more = cost - self.kept.get(turn, 0)
            if turn in self.kept and more <= 0:
                continue
            answer = self._answer(turn) if form == self._stated else None
            marked, marks = self._cost(answer, self.forms.marked) if answer is not None else (0, {})
            if more + marked <= room:
                room -= more + marked
                self._take(turn, forms, form.__name__)
                if answer is not None:
                    self._take(answer, marks, "marked")
            elif (stops and more <= self._huge) or room < _ENOUGH:
                return

    def _stated(self, position: int) -> Form:
        """Return a message of a turn in which somebody states something; of the answer to a person only a mark."""
        answers = self.turns.turn_of(position) in self._told and self._is_answer(position)
        return self.forms.marked(position) if answers else self.forms.brief(position)

    def _is_answer(self, position: int) -> bool:
        """Return whether a message is an answer of the agent in words."""
        message = self.turns.messages[position]
        return message.role == "assistant" and not message.calls

    def _answer(self, turn: int) -> int | None:
        """Return the turn with the answer to this one of a person, if it is not sent yet."""
        if turn not in self._told or turn + 1 not in self._choice or turn + 1 in self.kept:
            return None
        return turn + 1 if all(map(self._is_answer, self.turns.members(turn + 1))) else None

    def _cost(self, turn: int, form: Callable[[int], Form]) -> tuple[int, dict[int, Form]]:
        """Return the tokens of a turn in some form, and the forms of its messages, by position."""
        fixed = self.fixed
        forms = {at: fixed[at] if at in fixed else form(at) for at in self.turns.members(turn)}
        return sum([form.units for form in forms.values()]), forms

    def _take(self, turn: int, forms: Mapping[int, Form], name: str) -> None:
        """Keep a turn in some form, in place of the one that it had."""
        turns, cost = self.turns, sum([form.units for form in forms.values()])
        self.left -= cost - self.kept.get(turn, 0)
        self.kept[turn] = cost
        for at, form in forms.items():
            self.edits.pop(at, None)
            if form.raw is not turns.raws[at]:
                self.edits[at] = form
        self._explain(turn, name)

    def _explain(self, turn: int, name: str) -> None:
        """Note what stays of a turn."""
        members = (self.turns.messages[at] for at in self.turns.members(turn))
        works = any(message.calls or message.results for message in members)
        self.reasons[turn] = _STAYS[name] if name in _STAYS and (works or name == "newest_only") else _TEXT

    def _choose_lines(self) -> None:
        """Show lines of older results: those with the most names that nothing else shows, for their length."""
        room = self.left
        for cost, (position, piece, part) in self._ranked_lines():
            if cost <= room:
                room -= cost
                self._chosen.setdefault(position, {}).setdefault(piece, []).append(part)
        for position in sorted(self._chosen, reverse=True):
            self._write(position)

    def _ranked_lines(self) -> list[tuple[int, Line]]:
        """Return the lines with names that nothing else shows, each with about its tokens, the best first."""
        turns, forms, shown = self.turns, self.forms, set(self.shown)
        for at in (at for turn in self.kept for at in turns.members(turn)):
            texts = (piece.text for piece in turns.messages[at].pieces)
            shown.update(
                forms.names(at) if at in self.edits else (name for text in texts for name, _ in names_in(text))
            )
        gap, worth = turns.tokens(_GAP), dict[Line, float]()
        for use in self.names.unseen(shown):
            if use.piece in self._open(use.position):
                line = use.position, use.piece, forms.texts(use.position, use.piece).part_at(use.start)
                newness = 1 + use.position / len(turns)
                worth[line] = worth.get(line, 0.0) + use.worth * newness
        ranked = []
        for line, value in worth.items():
            position, piece, part = line
            size = forms.texts(position, piece).size(part)
            cost = gap + int(size * forms.density(position, piece))
            ranked.append((-value / cost, -line[0], line, cost))
        return [(cost, line) for _, _, line, cost in sorted(ranked)]

    def _open(self, position: int) -> Collection[int]:
        """Return the texts of a message of which more lines can be shown, by their index."""
        return self.forms.shown(position) if position in self.edits and position not in self.fixed else ()

    def _write(self, position: int) -> None:
        """Send a message with the lines that were chosen; without those chosen last if they count too much."""
        chosen, before = self._chosen[position], self.edits[position].units
        while (form := self.forms.excerpt(position, chosen)).units - before > self.left and any(chosen.values()):
            max(chosen.values(), key=len).pop()
        if form.units - before <= self.left:
            turn = self.turns.turn_of(position)
            self.edits[position] = form
            self.left -= form.units - before
            self.kept[turn] += form.units - before
            self._explain(turn, "lines")

    def _fill(self) -> None:
        """Show more of long results from both ends, the newest first."""
        for turn in self._shortened():
            for position in reversed(self.turns.members(turn)):
                for piece in self._open(position) if self.left >= _ENOUGH else ():
                    self._fill_text(position, piece)

    def _fill_text(self, position: int, piece: int) -> None:
        """Show as many more lines of a text as fit, from its end and its start in turns."""
        parts, density = self.forms.texts(position, piece), self.forms.density(position, piece)
        chosen = self._chosen.setdefault(position, {}).setdefault(piece, [])
        room, count = self.left, len(parts)
        for at in (end for i in range((count + 1) // 2) for end in (count - 1 - i, i)):
            cost = 1 + int(parts.size(at) * density)
            if cost > room:
                break
            room -= cost
            chosen.append(at)
        self._write(position)
