"""What stays of the turns that need not stay: the newest whole, of the older ones what was done, and excerpts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from brim.history.excerpts import Excerpts, Intervals, ends, with_interval, with_intervals
from brim.history.forms import Form
from brim.history.names import NameIndex, Surroundings
from brim.history.turns import Turns

_DEEDS = 0.7
"""The share of the room for older turns that may go to what the agent did; the rest is for excerpts."""
_TRIES = 1_500
"""Names that are looked at in one fit."""
_INTRODUCED = 2
"""The part of the room for excerpts, one in so many, for where names of the newest messages were said first."""
_ROUNDS = 2
"""How often excerpts are taken: most count less than was estimated, and what that leaves is for more of them."""
_GAP = 3
"""About the tokens of the mark between two excerpts."""
_SKIPPED = 64
"""Turns that are too long to stay whole before the search for shorter ones ends."""
_SPARE = 20
"""The part of the room, one in so many, that may be left in the end."""
_UNUSED = 0.5
"""The share of the room for older turns that is left at most if the prompt is to grow into it: without names there is
nothing to take excerpts of."""
_LONG = 64
"""Tokens from which it is worth keeping more of a text than what stands around names."""
_ROOM = (0.85, 0.5)
"""The share of what is left that the start and the end of a text may take, and a smaller one if they count more."""
_MANY = 256
"""Turns from which on it pays to add them up at once."""
_ENOUGH = 12
"""Tokens below which no excerpt fits."""


@dataclass(slots=True, kw_only=True)
class Arrangement:
    """The turns that stay besides those that always do."""

    turns: Turns
    excerpts: Excerpts
    names: NameIndex
    weights: list[int]
    """Tokens of each turn as a whole."""
    aside: Collection[int]
    """Turns that are decided."""
    fixed: Mapping[int, Form]
    """Messages whose form is decided, by position."""
    left: int
    """Tokens that are left."""
    older: int
    """Tokens of them for older turns; what these do not need goes to whole turns. With 0 only whole turns stay."""
    held: bool
    """Whether the next fit begins with what stays, so that the prompt can grow into what is left."""
    asked: Sequence[int]
    """The messages of the newest turn and of the last instruction: where their names were said first is looked at."""
    whole: set[int] = field(default_factory=set)
    """The turns that stay whole."""
    reduced: dict[int, int] = field(default_factory=dict)
    """The turns of which a part stays, with the tokens of that part, the newest first."""
    forms: dict[int, Form] = field(default_factory=dict)
    """The messages that are sent in another form, by position."""
    _old: set[int] = field(default_factory=set)
    """The turns that later ones supersede, which are the first to shrink."""
    _positions: dict[int, list[int]] = field(default_factory=dict)
    """The messages of a turn whose form is not decided."""
    _parts: dict[int, dict[int, Intervals]] = field(default_factory=dict)
    """The parts that stay, by position and piece."""
    _before: dict[int, dict[int, Intervals]] = field(default_factory=dict)
    """The parts of messages before new ones were added."""

    def run(self) -> None:
        """Decide what stays."""
        self._old = self.excerpts.superseded() if self.older else set()
        others = self._keep_newest(self.left - self.older)
        if not self.older:
            return
        deeds = int(self.older * _DEEDS)
        rest = self._keep_deeds(others, deeds)
        # If there was no room for all that was done, excerpts do not get what that happens to leave: with more room one
        # deed more could stay, and less of a newer turn.
        late = self._take_excerpts(self.left - self.older + deeds if rest else 0)
        self._keep_deeds(rest, self.left)
        if not rest and next(late, None) is None:
            self._fill(int(self.older * _UNUSED) if self.held else 0)
            if not self.held:
                self._lengthen(max(_LONG, self.older // _SPARE))
        raws = self.turns.raws
        self.forms = {at: form for at, form in self.forms.items() if form.raw is not raws[at]}

    def _keep_newest(self, room: int) -> list[int]:
        """Keep the newest turns whole, and return the others.

        A turn that is larger than all the room is skipped. Any other turn that does not fit ends the search, and a turn
        that cannot be shortened is not counted here. Both may still stay whole later, so the room that they leave must
        not go to an older turn, which a bigger budget would then shorten.
        """
        others: list[int] = []
        turns, huge = self._backwards(), self.left
        for turn in turns:
            weight = self.weights[turn]
            counts = not self.older or (turn not in self._old and self._reduction(turn)[0] > 0)
            if counts and weight <= room:
                self.whole.add(turn)
                room -= weight
                self.left -= weight
                continue
            others.append(turn)
            if room < _ENOUGH or len(others) > _SKIPPED or (self.older and counts and weight <= huge):
                break
        return [*others, *turns]

    def _backwards(self) -> Iterator[int]:
        return (turn for turn in range(len(self.weights) - 1, -1, -1) if turn not in self.aside)

    def _keep_deeds(self, older: Sequence[int], room: int) -> Sequence[int]:
        """Keep of older turns what the agent did, and return the turns for which there was no room."""
        known = self._keep_known_deeds(older, room)
        if known is not None:
            return older[known:]
        reduction, weights = self._reduction if self.fixed else self.excerpts.reduction, self.weights
        for at, turn in enumerate(older):
            saved, forms = reduction(turn)
            units = weights[turn] - saved
            if units > room:
                return older[at:]
            if saved > 0:
                self.reduced[turn] = units
                self.forms.update(forms)
            else:
                self.whole.add(turn)
            room -= units
            self.left -= units
        return ()

    def _keep_known_deeds(self, older: Sequence[int], room: int) -> int | None:
        """Keep what the agent did in many older turns that are known; return in how many, or `None` if they are not."""
        if self.reduced or self.fixed or len(older) < _MANY:
            return None
        found = self.excerpts.reductions.fitting(older, self.weights, room)
        if found is None:
            return None
        self.reduced, self.forms = found.shorter, found.forms
        self.whole |= found.same
        self.left -= found.units
        return found.number

    def _reduction(self, turn: int) -> tuple[int, Mapping[int, Form]]:
        """Return the tokens that the shortest forms of a turn's messages save, and these forms, by position."""
        saved, forms = self.excerpts.reduction(turn)
        if not self.fixed or self.fixed.keys().isdisjoint(forms):
            return saved, forms
        forms, units = {at: forms[at] for at in self._members(turn)}, self.turns.units
        return sum([units[at] - form.units for at, form in forms.items()]), forms

    def _members(self, turn: int) -> list[int]:
        known = self._positions.get(turn)
        if known is None:
            known = self._positions[turn] = [at for at in self.turns.members(turn) if at not in self.fixed]
        return known

    def _take_excerpts(self, spare: int) -> Iterator[Surroundings]:
        """Choose the parts around the names that are most likely to be needed, in all but so many of the tokens left.

        Returns:
            the parts for which there was no room.
        """
        open_ = set(self.forms)  # So far these are the messages of reduced turns.
        introduced = [[each for each in self.names.introduced(at) if each.position in open_] for at in self.asked]
        late = self._likely(open_)
        for _ in range(1 if self.held else _ROUNDS):
            self._before = {}
            room = self.left - spare
            room -= self._take_introduced(introduced, room // _INTRODUCED)
            late = self._take_each(late, room)
            self._write()
        return late

    def _take_introduced(self, introduced: Sequence[Sequence[Surroundings]], room: int) -> int:
        """Add the parts where names of the newest messages were said first, and return about their tokens."""
        left = room
        for parts in introduced:
            for around in parts if left >= _ENOUGH else ():
                left -= self._take(around, left) or 0
        return room - left

    def _likely(self, open_: Collection[int]) -> Iterator[Surroundings]:
        """Yield the parts around names in some messages, the most likely to be needed first."""
        around = self.names.surroundings
        for use in islice(self.names.ranked(), _TRIES):
            if use.position in open_:
                yield use.around or around(use)

    def _take_each(self, parts: Iterator[Surroundings], room: int) -> Iterator[Surroundings]:
        """Add parts as long as there is room, and return those for which there was none."""
        late, take = list[Surroundings](), self._take
        for around in parts:
            if room < _ENOUGH:
                return chain(late, (around,), parts)
            units = take(around, room)
            if units is None:
                late.append(around)
            else:
                room -= units
        return iter(late)

    def _take(self, around: Surroundings, left: int) -> int | None:
        """Add a part, and return about its new tokens; `None` if they are more than are left."""
        position, piece, start, stop, density = around
        kept = self._parts.get(position)
        if kept is None:
            kept = self._parts[position] = {}
        before = kept.get(piece)
        after: Intervals = ((start, stop),)
        if before is None:
            units = int((stop - start) * density) + _GAP
        else:
            after, fresh = with_interval(before, start, stop)
            if not fresh:
                return 0
            units = int(fresh * density) + (_GAP if len(after) > len(before) else 0)
        if units > left:
            return None
        if position not in self._before:
            self._before[position] = kept.copy()
        kept[piece] = after
        return units

    def _lengthen(self, spare: int) -> None:
        """Keep more of the start and the end of long texts as long as much is left, the newest first."""
        for turn in self._newest_reduced():
            texts = [
                (len(piece.text), at, index)
                for at in self._members(turn)
                for index, piece in enumerate(self.turns.messages[at].pieces)
                if piece.kind in ("text", "output")
            ]
            for share in _ROOM if texts else ():
                if self.left < spare:
                    return
                size, at, index = max(texts)
                parts = self._parts.get(at, {})
                more = ends(
                    self.turns.messages[at].pieces[index].text, int(self.left * share * size / self.turns.units[at])
                )
                self._parts[at] = {**parts, index: with_intervals(parts.get(index, ()), more)}
                self._write_message(at)
                if self.left >= 0:
                    break
                self._parts[at] = parts
                self._write_message(at)

    def _newest_reduced(self) -> list[int]:
        """Return the turns of which a part stays, the newest first, and those that were superseded last."""
        return sorted(self.reduced, key=lambda turn: turn in self._old)

    def _write(self) -> None:
        """Make the forms of the messages with new parts, and give these up if they count more than was estimated."""
        # The others have the least that stays of them already.
        new = [at for at in self._parts if at in self._before]
        for at in new:
            self._write_message(at)
        for at in reversed(new):
            if self.left >= 0:
                return
            self._parts[at] = self._before[at]
            self._write_message(at)

    def _write_message(self, at: int) -> None:
        form = self.excerpts.form(at, self._parts[at])
        more = form.units - self.forms[at].units
        self.forms[at] = form
        self.reduced[self.turns.turn_of(at)] += more
        self.left -= more

    def _fill(self, spare: int) -> None:
        """Keep more turns whole with all but so many of the tokens left, the newest first.

        If names were left out for want of room, more room could bring one back in place of what is added here.
        """
        for turn in self._newest_reduced():
            more = self.weights[turn] - self.reduced[turn]
            if more <= self.left - spare:
                self.left -= more
                self.whole.add(turn)
                del self.reduced[turn]
                for at in self._members(turn):
                    del self.forms[at]


def expected_parts(names: NameIndex, stop: int) -> dict[int, dict[int, Intervals]]:
    """Return the parts of messages before a position that a cut would take now, if it had room for all."""
    found: dict[int, dict[int, Intervals]] = {}
    for around in map(names.surroundings, islice(names.ranked(), _TRIES)):
        if around.position < stop:
            kept = found.setdefault(around.position, {})
            kept[around.piece] = with_interval(kept.get(around.piece, ()), around.start, around.stop)[0]
    return found
