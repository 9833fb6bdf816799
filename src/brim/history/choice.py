"""The choice of what stays: items go in by worth per token until the budget is full.

Nothing but the law and the caller's pins is hard: the turns that must stay begin as their shortest marks, and their
items are chosen in the same pass as all others. Sizes are estimates until the messages are written and counted; what
was chosen last then gives way, and what is free is filled from the offers that did not fit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from brim.history.items import MARK
from brim.history.names import NameIndex
from brim.history.offers import GAP, Offers, Place, Terms, TurnOffer
from brim.history.rendering import BARE, MARKED, Form, Rendering, Shown
from brim.history.turns import Turns
from brim.truncate.json_parts import Parts
from brim.truncate.parts import TextParts, from_both_ends
from brim.wire.message import MEDIA

_ENOUGH = 5
"""Tokens below which nothing more is added."""
_WORTH_FILLING = 20
"""Tokens from which what is left is filled again after the messages were written."""
_FREE = 10
"""Above a tenth of the room, what is left is filled with lines of values too, which stay whole or go otherwise."""
_ROUNDS = 3
"""How often what is left is filled: the messages are written and counted before each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What stays of a history within some room."""

    kept: Set[int]
    """The turns that stay."""
    forms: Mapping[int, Form]
    """The messages of these turns, by position, as they are sent."""
    tools: Set[int]
    """The tools that stay."""
    used: Mapping[int, int]
    """The tokens of the turns and tools that stay."""
    left: int
    """Tokens that are free; below zero, not even the marks of what must stay fit."""
    noted: bool
    """Whether there is room for the note."""
    worths: Mapping[int, float]
    """What a token of each turn is worth that need not stay."""
    least: float
    """What a token is worth at least that was chosen."""

    def cost(self, turns: Collection[int]) -> int:
        """Return the tokens of some turns that stay."""
        return sum([self.used.get(turn, 0) for turn in turns])


def choose(offers: Offers, names: NameIndex) -> Chosen:
    """Return what stays within the terms of some offers."""
    chosen = _Pass(offers)
    chosen.begin()
    if chosen.left >= 0:
        chosen.run(offers.listed(names))
    return Chosen(
        kept=chosen.kept,
        forms=chosen.forms,
        tools=chosen.used.keys() & offers.terms.tools.sizes.keys(),
        used=chosen.used,
        left=chosen.left,
        noted=chosen.noted,
        worths=offers.worths,
        least=min([step.offer.density for step in chosen.steps], default=0.0),
    )


class _Step(NamedTuple):
    """Something that was added, and what was there before."""

    offer: TurnOffer
    cost: int
    before: Shown


@dataclass(slots=True)
class _Pass:
    """What is chosen so far."""

    offers: Offers
    left: int = 0
    noted: bool = False
    kept: set[int] = field(default_factory=set)
    forms: dict[int, Form] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)
    """Tokens of the turns and tools that stay."""
    steps: list[_Step] = field(default_factory=list)
    """What was added, in order."""
    shown: dict[int, dict[int, Shown]] = field(default_factory=dict)
    """What is shown of the pieces that are not whole, by position and index."""
    costs: dict[Place, int] = field(default_factory=dict)
    """About the tokens that a piece takes as it is shown."""
    again: set[Place] = field(default_factory=set)
    """The pieces of which a mark says that they stand again later."""
    unread: bool = False
    """Whether something is left out that the agent has not read yet: what it has read waits."""

    @property
    def terms(self) -> Terms:
        return self.offers.terms

    @property
    def turns(self) -> Turns:
        return self.offers.turns

    @property
    def rendering(self) -> Rendering:
        return self.offers.rendering

    def begin(self) -> None:
        """Start with the turns that must stay."""
        terms = self.terms
        for turn in (*terms.must, *terms.whole):
            self.kept.add(turn)
            self.used[turn] = self._skeleton(turn)
        self.used |= terms.tools.due(self.turns, self.kept, self.used.keys())
        self.left = terms.room - sum(self.used.values())

    def run(self, listed: Sequence[TurnOffer]) -> None:
        """Take the offers that fit, write the messages, and correct the choice until they fit and fill the room."""
        later = self._take_all(self._take_all(listed), last=True)
        self._write(self.kept)
        for _ in range(_ROUNDS):
            later = [*self._give_way(), *later]
            if self.noted and self.kept.issuperset(self.terms.candidates):  # Nothing was dropped.
                self.noted, self.left = False, self.left + self.terms.note
            count = len(self.steps)
            later = self._take_all(later, last=True) if self.left >= _WORTH_FILLING else later
            if len(self.steps) == count:
                return
            self._write({step.offer.turn for step in self.steps[count:]})
        self._give_way()

    def _take_all(self, offers: Sequence[TurnOffer], *, last: bool = False) -> list[TurnOffer]:
        """Take the offers that fit, and return those that did not, or of which only a part did."""
        later = list[TurnOffer]()
        for number, offer in enumerate(offers):
            if self.left < _ENOUGH:
                return [*later, *offers[number:]]
            if (offer.read and self.unread and not last) or not self._take(offer, last=last):
                later.append(offer)
        return later

    def _take(self, offer: TurnOffer, *, last: bool) -> bool:
        """Take an offer if it fits; return whether nothing more of it can be taken.

        `last` says whether all other offers were looked at: then a part is taken where the whole does not fit.
        """
        if offer.kind == "note":
            self.noted = offer.cost <= self.left
            self.left -= offer.cost * self.noted
            return True
        if offer.kind == "tool":
            return offer.turn in self.used or self._take_tool(offer)
        if offer.kind == "turn":
            return self._take_turn(offer)
        shown = self.shown.get(offer.place[0], {}).get(offer.place[1])
        if shown is None:
            return offer.turn in self.kept
        if offer.kind == "mark":
            return shown is not BARE or (offer.cost <= self._room(offer.turn) and self._show(offer, MARKED, offer.cost))
        if offer.kind == "line":
            return offer.part in shown or self._take_line(offer, shown)
        return self._take_text(offer, shown, last=last)

    def _room(self, turn: int) -> int:
        """Return how many tokens a turn may still take."""
        cap = self.terms.caps.get(turn)
        left = self.left
        if turn not in self.kept:
            left -= sum(self.terms.tools.due(self.turns, [turn], self.used.keys()).values())
        return left if cap is None else min(left, cap - self.used.get(turn, 0))

    def _skeleton(self, turn: int) -> int:
        """Show the skeleton of a turn, and return its tokens; a turn that stays as it is has no other items."""
        terms, members, units = self.terms, self.turns.members(turn), self.turns.units
        cost = sum([terms.fixed[at].units if at in terms.fixed else units[at] for at in members])
        for at in terms.banned:
            if at in members and at not in terms.fixed:
                media = {i: MARKED for i, piece in enumerate(self.turns.messages[at].pieces) if piece.kind in MEDIA}
                self.shown.setdefault(at, {}).update(media)
        must = turn in terms.must
        for at, item in self.offers.open_items(turn) if turn not in terms.whole else ():
            less = item.bare if must else item.mark
            self.shown.setdefault(at, {})[item.at] = BARE if must else MARKED
            self.costs[at, item.at] = less
            cost -= item.size - less
        return cost

    def _take_tool(self, offer: TurnOffer) -> bool:
        tools = self.terms.tools
        cost = tools.cost([offer.turn], tools.sizes.keys() & self.used.keys())
        if cost > self.left:
            return False
        self._add(offer, cost)
        return True

    def _take_turn(self, offer: TurnOffer) -> bool:
        terms, turn, room = self.terms, offer.turn, self._room(offer.turn)
        if terms.ranks is not None and turn in terms.ranks:
            members = self.turns.members(turn)
            whole = sum([terms.fixed[at].units if at in terms.fixed else self.turns.units[at] for at in members])
            if whole <= room and not any(at in terms.banned for at in members):
                self._add(offer, whole)
                return True
            if not terms.may_cut(turn):
                return False
        cost = self._skeleton(turn)
        if cost > room:
            self._forget(turn)
            return False
        self._add(offer, cost)
        if offer.cost > room and offer.first is not None and not self._starts(offer.first):
            self._undo(len(self.steps) - 1, 0, again=False)
            return False
        return True

    def _starts(self, offer: TurnOffer) -> bool:
        """Return whether at least a part of an item fits, and take it."""
        count = len(self.steps)
        self._take(offer, last=True)
        return len(self.steps) > count

    def _add(self, offer: TurnOffer, cost: int) -> None:
        """Add a turn with the tools that it calls, or a tool."""
        if offer.kind == "turn":
            self.kept.add(offer.turn)
            for tool, units in self.terms.tools.due(self.turns, [offer.turn], self.used.keys()).items():
                self._add(offer._replace(kind="tool", turn=tool), units)
        self.used[offer.turn] = cost
        self.left -= cost
        self.steps.append(_Step(offer, cost, None))

    def _forget(self, turn: int) -> None:
        """Show nothing of a turn or a tool."""
        self.kept.discard(turn)
        self.used.pop(turn, None)
        for at in self.turns.members(turn) if turn >= 0 else ():
            self.shown.pop(at, None)
            self.forms.pop(at, None)

    def _take_line(self, offer: TurnOffer, shown: Set[int]) -> bool:
        if offer.most is not None and self.used[offer.turn] >= offer.most:
            return False
        parts, count = self.rendering.parts(*offer.place), self.turns.chat.text
        chosen = frozenset(shown - BARE)
        if isinstance(parts, TextParts):
            near = (offer.part - 1 in chosen) + (offer.part + 1 in chosen)
            gaps = 1 - near if chosen else (offer.part > 0) + (offer.part < len(parts) - 1)
            cost = count(parts.part(offer.part)) + gaps * GAP - (0 if chosen else self.costs[offer.place])
        else:  # A member comes with the keys, brackets and quotes around it.
            cost = count(parts.show({*chosen, offer.part})) - self.costs[offer.place]
        return cost <= self._room(offer.turn) and self._show(offer, chosen | {offer.part}, cost)

    def _take_text(self, offer: TurnOffer, shown: Set[int], *, last: bool) -> bool:
        """Show all of a piece, or as much of it as fits; return whether nothing is left of the offer."""
        item, turn, used = offer.item, offer.turn, self.costs[offer.place]
        assert item is not None
        room = self._room(turn) + used
        most = room if offer.most is None else min(room, offer.most)
        if item.size <= most:
            return self._show(offer, None, item.size - used)
        unread = not offer.read and turn in self.terms.must and turn == len(self.turns.starts) - 1
        self.unread |= unread
        fills = last and self.left * _FREE >= self.terms.room
        if not self._divides(offer) or not (offer.density or fills):
            return False
        self._show_part(offer, shown, most)
        return most < room

    def _show_part(self, offer: TurnOffer, shown: Set[int], most: int) -> None:
        """Show parts of a text from its ends, or from the start of a value, up to `most` tokens."""
        item, parts, count = offer.item, self.rendering.parts(*offer.place), self.turns.chat.text
        assert item is not None
        chosen, added = frozenset(shown - BARE), list[int]()
        cost = (self.costs[offer.place] if chosen else min(item.mark, self.turns.tokens(MARK))) + GAP
        for part in _order(parts, head=item.kind in ("value", "call")):
            if part in chosen:
                continue
            size = count(parts.part(part))
            if cost + size <= most:
                added.append(part)
                cost += size
            elif isinstance(parts, TextParts):
                break
        if not isinstance(parts, TextParts):  # Members come with the keys, brackets and quotes around them.
            while added and (over := (cost := count(parts.show({*chosen, *added}))) - most) > 0:
                while added and over > 0:
                    over -= count(parts.part(added.pop()))
        if added:
            self._show(offer, chosen.union(added), cost - self.costs[offer.place])

    def _show(self, offer: TurnOffer, shown: Shown, cost: int) -> bool:
        """Show a piece differently, which takes `cost` more tokens."""
        at, i = offer.place
        self.steps.append(_Step(offer, cost, self.shown[at][i]))
        self._change(offer, shown, cost)
        return True

    def _change(self, offer: TurnOffer, shown: Shown, cost: int) -> None:
        at, i = offer.place
        self.shown[at][i] = shown
        self.costs[at, i] += cost
        self.used[offer.turn] += cost
        self.left -= cost

    # What is written is counted.

    def _write(self, turns: Iterable[int]) -> None:
        """Write the messages of some turns, and of those with marks that have become wrong, and count them."""
        wrong = (at for at, i in self.again if at in self.forms and not self._stands_again(at, i))
        for turn in self.kept.intersection([*turns, *map(self.turns.turn_of, wrong)]):
            total = 0
            for at in self.turns.members(turn):
                self.forms[at] = form = self._form(at)
                total += form.units
            self.left += self.used[turn] - total
            self.used[turn] = total

    def _form(self, position: int) -> Form:
        if position in self.terms.fixed:
            return self.terms.fixed[position]
        shown = self.shown.get(position)
        if not shown or not any(each is not None for each in shown.values()):
            return self.rendering.whole(position)
        again = [i for i, each in shown.items() if each is not None and not each and self._stands_again(position, i)]
        self.again.update((position, i) for i in again)
        return self.rendering.form(position, shown, again)

    def _stands_again(self, position: int, at: int) -> bool:
        """Return whether a text stands whole in a later message of the prompt."""
        later = self.rendering.repeats.later(position, at)
        if later is None or self.turns.turn_of(later[0]) not in self.kept:
            return False
        form = self.terms.fixed.get(later[0])
        if form is not None:
            return form.raw is self.turns.raws[later[0]]
        return all(self.shown.get(later[0], {}).get(each) is None for each in self.rendering.repeats.pieces(*later))

    def _give_way(self) -> list[TurnOffer]:
        """Take back what was chosen last until the messages fit as they are written; return what was taken back."""
        back, rounds, caps = list[TurnOffer](), _ROUNDS, self.terms.caps
        while True:
            stale = set[int]()
            for turn in caps:
                while self.used.get(turn, 0) > caps[turn] and (mine := self._steps_of(turn)):
                    stale.add(turn)
                    back += self._undo(mine[-1], self.used[turn] - caps[turn], again=rounds > 0)
            while self.left < 0 and self.steps:
                stale.add(self.steps[-1].offer.turn)
                back += self._undo(len(self.steps) - 1, -self.left, again=rounds > 0)
            if not stale:
                return back[::-1]
            self._write(stale)
            rounds -= 1

    def _steps_of(self, turn: int) -> list[int]:
        return [number for number, step in enumerate(self.steps) if step.offer.turn == turn]

    def _undo(self, number: int, over: int, *, again: bool) -> list[TurnOffer]:
        """Take back one step, and return its offer; `again` says whether to show a little less of a text instead."""
        offer, cost, before = self.steps.pop(number)
        if offer.kind in ("turn", "tool"):
            self.left += self.used[offer.turn]
            self._forget(offer.turn)
            return [offer]
        assert before is not None
        most = self.costs[offer.place] - over
        self._change(offer, before, -cost)
        if again and offer.kind == "text" and self._divides(offer):
            self._show_part(offer, before, most)
        return [offer]

    def _divides(self, offer: TurnOffer) -> bool:
        """Return whether a part of a text may be shown; older values are whole or a mark, unless they only fill."""
        kind = offer.item.kind if offer.item is not None else ""
        if kind == "value":
            return not offer.density or offer.turn in self.terms.must
        return kind not in ("unit", "thought")


def _order(parts: Parts, *, head: bool) -> Iterable[int]:
    """Return the parts of a text in the order in which they are shown."""
    if isinstance(parts, TextParts):
        return range(len(parts)) if head else from_both_ends(range(len(parts)))
    return parts.ranked()
