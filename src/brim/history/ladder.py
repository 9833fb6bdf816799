"""The ladder: in which form each turn is sent that need not stay whole, chosen in one greedy pass.

The room goes to what people wrote, then to turns that state something, then to the agent's words and calls with the end
of each result, the newest turns first and long texts of people without exact values last; then the newest turns stay
whole; then come the lines of older results with names that nothing else shows. A turn goes only when there is no room
for its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from brim.errors import DoesNotFit
from brim.history.forms import Form, Forms
from brim.history.names import NameIndex, names_in, unseen
from brim.history.turns import Turns

_LEAST = 0.5
"""The most of the room for the shortest form of each turn, so that a question keeps its answer."""
_PEOPLE = 0.5
"""The most of the room for what people wrote, before the rest: in a chat, the answers are needed as well."""
_LONG = 300
"""Tokens of a turn of a person from which on it is long. With 150, `bench values` keeps the same; with 600, 0.86 of the
values in 42,691 tokens instead of 0.93."""
_TELLING = 0.5
"""The most of the room for turns, however old, that say more than what was called: what the agent stated, a failure, a
line with words of the task. With 0.25, an agent of 60 steps loses the cause that it found at step 10."""
_WORDS = 0.85
"""The most of the room for words and calls of older turns, the newest first."""
_SPARE = 0.4
"""The share of what they leave for how the results of the newest turns ended."""
_WHOLE = 0.6
"""The share of what is left then for the newest turns as a whole; the rest is for lines of older ones."""
_NEWER = 1.0
"""How much more a name counts that was last seen at the end than one at the start."""
_GAP = 6
"""About the tokens of a mark between lines, which a line alone brings with it."""
_ENOUGH = 12
"""Tokens below which no line is looked for."""
_FLOORS = 4
"""How many floors a text of the newest turn must have room for, or the turn is left out."""
_ROUNDS = 3
"""How often lines are chosen: most count less than was estimated, and what that leaves is for more of them."""
_LEFT = 0.05
"""The share of the room that may be left over before long results are filled up."""

_STAYS = {
    "gist": "its calls and how its words begin stay, with a mark for each result",
    "brief": "its words and calls stay, with a mark or the end of each result",
    "spare": "its words and calls stay, and how its results ended",
    "lines": "its words and calls stay, and lines of its results",
    "newest_only": "what it says that is said again later is left out",
}
"""What stays of a turn in each form."""
_TEXT = "a part of its text stays"
_REPEATED = "the same is said again later"

Line = tuple[int, int, int]
"""A part of a text: the position of its message, the index of the piece, and the number of the part."""


@dataclass(slots=True, kw_only=True)
class Ladder:
    """The turns that stay besides those that always do, and in which form."""

    turns: Turns
    forms: Forms
    names: NameIndex
    decided: Collection[int]
    """Turns that are decided otherwise."""
    fixed: Mapping[int, Form]
    """Messages whose form is decided, by position."""
    left: int
    """Tokens that there are."""
    cuts: bool
    """Whether turns may be shortened; without it they stay whole or go."""
    shown: set[str]
    """Names that the turns which are decided show."""
    whole: set[int] = field(default_factory=set)
    """The turns that stay whole."""
    spare: dict[int, int] = field(default_factory=dict)
    """The turns that are shortened, with their tokens."""
    edits: dict[int, Form] = field(default_factory=dict)
    """The messages that are sent in another form, by position."""
    reasons: dict[int, str] = field(default_factory=dict)
    """What stays of a turn that is shortened, and why one is left out that is said again."""
    _chosen: dict[int, dict[int, set[int]]] = field(default_factory=dict)
    """The lines that were chosen, by position and piece."""
    _all: int = 0
    """Tokens that there were at first."""

    def run(self) -> None:
        """Decide what stays."""
        self._all = self.left
        if not self.cuts:
            self._raise(range(len(self.turns.starts) - 1, -1, -1), self.left, self.forms.newest_only)
            return
        forms, backwards = self.forms, range(len(self.turns.starts) - 1, -1, -1)
        self._keep_newest()
        people = [*reversed(dict.fromkeys(map(self.turns.turn_of, self.turns.spoken)))]
        later = self._prose(people).__contains__
        self._raise(backwards, int(self.left * _LEAST), forms.gist)
        self._raise(sorted(people, key=later), int(self.left * _PEOPLE), forms.brief)
        self._raise(self._telling(), int(self.left * _TELLING), forms.brief)
        self._raise(sorted(backwards, key=later), int(self.left * _WORDS), forms.brief)
        self._raise(backwards, int(self.left * _SPARE), forms.spare)
        self._raise(backwards, int(self.left * _WHOLE), forms.newest_only)
        self._choose_lines()
        for form in (forms.brief, forms.spare, forms.newest_only):
            self._raise(backwards, self.left, form, stops=False)
        self._fill()

    def _prose(self, people: Iterable[int]) -> set[int]:
        """Return the turns in which a person says much, and no exact value that still holds."""
        turns, ledger = self.turns, self.forms.ledger
        ledger.keep_up()
        long = (turn for turn in people if self._cost(turn, self.forms.brief)[0] > turns.tokens(_LONG))
        return {turn for turn in long if not any(map(ledger.current, turns.members(turn)))}

    def _tells(self, turn: int) -> bool:
        """Return whether a turn says more than what was called."""
        return any(map(self.forms.tells, self.turns.members(turn)))

    def _telling(self) -> Iterator[int]:
        """Yield the turns that say more than what was called, the newest first; what is said twice tells once."""
        turns, said = self.turns, set[str]()
        for turn in filter(self._tells, range(len(turns.starts) - 1, -1, -1)):
            pieces = (piece for at in turns.members(turn) for piece in turns.messages[at].pieces)
            words = "\n".join(piece.text for piece in pieces if piece.kind == "text")
            if words not in said:
                yield turn
            said.update([words] if words else [])

    def _keep_newest(self) -> None:
        """Keep the words and calls of the newest turn, if need be cut: what comes next follows from it."""
        turn = next((turn for turn in range(len(self.turns.starts) - 1, -1, -1) if turn not in self.decided), None)
        if turn is None:
            return
        cost, forms = self._cost(turn, self.forms.brief)
        if cost > self.left:
            if any(self.turns.messages[at].calls for at in forms):
                return
            try:
                forms = self.forms.shortened({at: self.forms.whole(at) for at in forms}, self.left, self._floor)
            except DoesNotFit:
                return
            cost = sum([form.units for form in forms.values()])
        self._take(turn, cost, forms)
        self._explain(turn, "brief")

    @property
    def _floor(self) -> int:
        """The least tokens of a text of the newest turn that is cut."""
        return _FLOORS * self.forms.floor

    def _raise(self, turns: Iterable[int], room: int, form: Callable[[int], Form], *, stops: bool = True) -> None:
        """Send turns in a longer form as long as there is room: the first without it ends this, unless it is huge."""
        huge = self._all // 2
        for turn in turns:
            if turn in self.decided or turn in self.whole:
                continue
            if turn not in self.spare and self.forms.repeated(turn):
                self.reasons[turn] = _REPEATED
                continue
            cost, forms = self._cost(turn, form)
            more = cost - self.spare.get(turn, 0)
            if more <= 0 and turn in self.spare:
                continue
            if more <= room:
                room -= more
                self._take(turn, cost, forms)
                self._explain(turn, form.__name__)
            elif (stops and more <= huge) or room < _ENOUGH:
                return

    def _explain(self, turn: int, form: str) -> None:
        """Note what stays of a turn that is sent in some form."""
        calls = any(self.turns.messages[at].calls or self.turns.messages[at].results for at in self.turns.members(turn))
        self.reasons[turn] = _STAYS[form] if calls or form == "newest_only" else _TEXT

    def _cost(self, turn: int, form: Callable[[int], Form]) -> tuple[int, dict[int, Form]]:
        """Return the tokens of a turn in some form, and the forms of its messages, by position."""
        fixed = self.fixed
        forms = {at: fixed[at] if at in fixed else form(at) for at in self.turns.members(turn)}
        return sum([form.units for form in forms.values()]), forms

    def _take(self, turn: int, cost: int, forms: Mapping[int, Form]) -> None:
        """Keep a turn in some form, in place of the one that it had."""
        raws = self.turns.raws
        self.left -= cost - self.spare.pop(turn, 0)
        edits = {at: form for at, form in forms.items() if form.raw is not raws[at]}
        for at in forms:
            self.edits.pop(at, None)
        self.edits.update(edits)
        if edits.keys() <= self.fixed.keys():
            self.whole.add(turn)
        else:
            self.spare[turn] = cost

    def _choose_lines(self) -> None:
        """Show more lines of older results: those with the most names that nothing else shows, for their length."""
        lines = self._ranked_lines()
        for _ in range(_ROUNDS):
            room, late, touched = self.left, list[tuple[int, Line]](), set[int]()
            for cost, line in lines:
                if cost > room:
                    late.append((cost, line))
                    continue
                position, piece, part = line
                self._chosen.setdefault(position, {}).setdefault(piece, set()).add(part)
                touched.add(position)
                room -= cost
            for position in sorted(touched, reverse=True):
                self._write(position)
            lines = late
            if self.left < _ENOUGH or not touched:
                return

    def _ranked_lines(self) -> list[tuple[int, Line]]:
        """Return the lines with names that nothing else shows, each with about its tokens, the best first."""
        turns, forms = self.turns, self.forms
        shown = self.shown.union(
            *(
                forms.names(at)
                if turn in self.spare
                else [name for p in turns.messages[at].pieces for name, _ in names_in(p.text)]
                for turn in (*self.spare, *self.whole)
                for at in turns.members(turn)
            )
        )
        gap = turns.tokens(_GAP)
        worth: dict[Line, float] = {}
        last = max(1, len(turns))
        for use in unseen(self.names.newest(), shown):
            open_ = self._open(use.position)
            if use.piece in open_:
                line = use.position, use.piece, forms.texts(use.position, use.piece).part_at(use.start)
                worth[line] = worth.get(line, 0.0) + use.worth * (1 + _NEWER * use.position / last)
        ranked = []
        for line, value in worth.items():
            position, piece, part = line
            size = forms.texts(position, piece).size(part)
            cost = 1 + _GAP // 2 + int(size * forms.density(position, piece))
            ranked.append((-value / (cost + gap), -line[0], line, cost))
        return [(cost, line) for _, _, line, cost in sorted(ranked)]

    def _open(self, position: int) -> Collection[int]:
        """Return the texts of a message of which more lines can be shown, by their index."""
        if self.turns.turn_of(position) not in self.spare or position in self.fixed:
            return ()
        return self.forms.shown(position)

    def _write(self, position: int) -> None:
        """Send a message with the lines that were chosen; without the last of them if they count too much."""
        chosen = self._chosen[position]
        before = self.edits.get(position) or self.forms.whole(position)
        form = self.forms.excerpt(position, {at: [*parts] for at, parts in chosen.items()})
        while form.units - before.units > self.left and any(chosen.values()):
            longest = max(chosen, key=lambda piece: len(chosen[piece]))
            chosen[longest].discard(max(chosen[longest]))
            form = self.forms.excerpt(position, {at: [*parts] for at, parts in chosen.items()})
        if form.units - before.units <= self.left:
            self.edits[position] = form
            self.left -= form.units - before.units
            turn = self.turns.turn_of(position)
            self.spare[turn] += form.units - before.units
            self._explain(turn, "lines")

    def _fill(self) -> None:
        """Show more of long results from both ends, the newest first, as long as much room is left."""
        for turn in sorted(self.spare, reverse=True):
            if self.left <= self._all * _LEFT or self.left < _ENOUGH:
                return
            for position in reversed(self.turns.members(turn)):
                for piece in self._open(position):
                    self._fill_text(position, piece)

    def _fill_text(self, position: int, piece: int) -> None:
        """Show as many more lines of a text as have room, from its end and its start in turns."""
        parts, density = self.forms.texts(position, piece), self.forms.density(position, piece)
        chosen = self._chosen.setdefault(position, {}).setdefault(piece, set())
        room, count = self.left, len(parts)
        for at in (end for i in range((count + 1) // 2) for end in (count - 1 - i, i)):
            cost = 1 + int(parts.size(at) * density)
            if cost > room:
                break
            room -= cost
            chosen.add(at)
        self._write(position)
