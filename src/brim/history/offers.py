"""What can be added to a prompt: turns, items of turns and tools, each with its tokens and its worth for a token.

A turn is offered once, with its skeleton and those of its items that are worth more a token than the two together; its
other items are offered alone, and never before it. The worth of an offer depends on nothing that is chosen, so the
order of the offers is the same for every choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from brim.history.items import Item, Items
from brim.history.names import NameIndex
from brim.history.rendering import Form, Rendering
from brim.history.tools import OfferedTools
from brim.history.turns import Turns
from brim.history.worth import NAME, Tier, rate, tiers

GAP = 6
"""Tokens of the mark between two lines that stay."""
_NAMES = 1_000
"""The newest names that one choice looks at."""
_PEOPLE = ("said", "question")
"""The kinds of items that are a person's words."""
_LONG = 400
"""Tokens above which a text was not written by hand, and single lines of it are offered."""
_REACH = 32
"""Times the room: older turns than have so many tokens, each at most a room, are not looked at, except those in which a
person speaks."""
_READ_BEFORE = (Tier(0.0, None),)
"""What the lines of a text are worth as such that the agent has read before."""
_READ = ("output", "value", "unit", "thought")
"""The kinds of items that an agent has read or written once, and can read or write again."""

Place = tuple[int, int]
"""A piece of the history: the position of its message, and its index."""


class TurnOffer(NamedTuple):
    """Something that can be added to the prompt."""

    kind: Literal["note", "tool", "turn", "mark", "line", "text"]
    density: float
    """What it is worth for a token."""
    cost: int
    """Its tokens, about."""
    turn: int
    """The turn; the number of the tool."""
    place: Place = (-1, -1)
    """The piece."""
    item: Item | None = None
    part: int = -1
    """The part of a text, for a line."""
    most: int | None = None
    """The most tokens at this worth, of the piece, or of all lines of the turn; `None` for all."""
    read: bool = False
    """Whether it is a result, a value or an attachment that the agent has read before."""
    first: TurnOffer | None = None
    """The best item of a turn whose skeleton is worth nothing: without a part of it, the turn is not taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a choice has room for, and what it may not change."""

    room: int
    """Tokens for all turns."""
    must: Set[int]
    """The turns that must stay, at least as marks."""
    whole: Set[int] = frozenset()
    """The turns that stay as they are: pinned, or held by an earlier cut."""
    candidates: Sequence[int] = ()
    """The other turns that may stay, the newest first."""
    ranks: Mapping[int, int] | None = None
    """The ranks of turns, if something else than worth decides which come first; higher ones do."""
    cuts: bool = True
    """Whether turns with a rank may be shortened."""
    fixed: Mapping[int, Form] = field(default_factory=dict)
    """Messages whose form is decided, by position."""
    caps: Mapping[int, int] = field(default_factory=dict)
    """The most tokens of some turns."""
    note: int = 0
    """Tokens of the note that says that turns were dropped."""
    banned: Collection[int] = ()
    """The positions of messages whose attachments may not be sent."""
    tools: OfferedTools = field(default_factory=OfferedTools)
    """The tools that are chosen with the turns, as turns of other numbers."""

    def may_cut(self, turn: int) -> bool:
        """Return whether a turn may be shortened: by the options, or since it is over its cap, or should stay."""
        return self.cuts or turn in self.caps or self.ranks is None or turn not in self.ranks


@dataclass(slots=True)
class Offers:
    """The offers of one choice."""

    turns: Turns
    items: Items
    rendering: Rendering
    terms: Terms
    worths: dict[int, float] = field(default_factory=dict)
    """What a token of each turn is worth that need not stay."""
    _lines: dict[Place, dict[int, float]] = field(default_factory=dict)
    """The worth of the names in lines, by part."""
    _names: dict[Place, float] = field(default_factory=dict)
    """The worth of the names in a piece that is not divided into lines."""
    _paid: Set[int] = frozenset()
    """The tools that turns call which stay in any case."""
    _tight: bool = True
    """Whether the turns take more than the room; if not, only some of them are over their caps."""

    def listed(self, names: NameIndex) -> list[TurnOffer]:
        """Return all offers, the best first; an offer of a turn comes before those of its items."""
        terms, turns, found = self.terms, self.turns, list[TurnOffer]()
        newest = len(turns.starts) - 1
        self._tight = turns.total + terms.tools.cost(terms.tools.sizes) > terms.room
        self._paid = terms.tools.called(turns, [*terms.must, *terms.whole])
        self._place_names(names)
        for turn in terms.must:
            found += self._marks(turn)
            found += self._items(turn, newest - turn)
        if terms.note and terms.candidates:
            found.append(TurnOffer("note", rate("unread", 0), terms.note, -1))
        reach = max(_REACH * terms.room, 1)
        for turn in terms.candidates:
            reach -= min(terms.room, turns.weights[turn])
            if reach >= 0 or self._speaks(turn):
                found += self._turn(turn, newest - turn)
        first = [self.worths[turn] for turn in turns.at(turns.task, turns.instruction) if turn in self.worths]
        for tool, worth in terms.tools.worths.items():  # No tool comes before the task.
            found.append(TurnOffer("tool", min([worth, *first]), 0, tool))
        ranks = None if terms.ranks is None else terms.tools.ranked(terms.ranks)
        if ranks is None:
            return sorted(found, key=lambda offer: (-offer.density, -offer.turn))
        best = max(ranks.values(), default=0) + 1  # What must stay, then the note, then the ranks.
        return sorted(
            found, key=lambda offer: (-ranks.get(offer.turn, best + (offer.turn >= 0)), -offer.density, -offer.turn)
        )

    def open_items(self, turn: int) -> Iterator[tuple[int, Item]]:
        """Yield the items of a turn that can be left out, each with the position of its message."""
        must, fixed = turn in self.terms.must, self.terms.fixed
        for at in self.turns.members(turn):
            if at not in fixed:
                for item in self.items.layout(at).blocks:
                    if item.size > (item.bare if must else item.mark):
                        yield at, item

    def _speaks(self, turn: int) -> bool:
        """Return whether a person says something in a turn, and not only asks."""
        turns = self.turns
        said = (at for at in turns.members(turn) if turns.messages[at].role == "user" or turns.answers)
        return any(item.kind == "said" for at in said for item in self.items.layout(at).blocks)

    def _place_names(self, names: NameIndex) -> None:
        """Add up the worth of the newest names where each was last used."""
        uses: dict[Place, list[tuple[int, float]]] = {}
        for use, chance in names.needed(_NAMES):
            uses.setdefault((use.position, use.piece), []).append((use.start, NAME * chance))
        for (at, i), placed in uses.items():
            items = () if at in self.terms.fixed else self.items.layout(at).blocks
            item = next((each for each in items if each.at == i), None)
            if item is None or not self._has_lines(item) or item.size <= item.mark:
                self._names[at, i] = sum([worth for _, worth in placed])
                continue
            lines, part_at = self._lines.setdefault((at, i), {}), self.rendering.parts(at, i).part_at
            for start, worth in placed:
                part = part_at(start)
                lines[part] = lines.get(part, 0.0) + worth

    def _has_lines(self, item: Item) -> bool:
        """Return whether single lines are offered: of results, and of words that are too many to be written by hand."""
        return item.kind == "output" or (item.kind not in ("unit", "value") and item.size > self.turns.tokens(_LONG))

    def _marks(self, turn: int) -> Iterator[TurnOffer]:
        """Yield the marks in words of a turn that must stay."""
        for at, item in self.open_items(turn):
            if item.size > item.mark > item.bare and item.kind != "call":
                yield TurnOffer("mark", rate("task", 0) / 2, item.mark - item.bare, turn, (at, item.at), item)

    def _turn(self, turn: int, age: int) -> list[TurnOffer]:
        """Return a turn and its items."""
        turns, terms = self.turns, self.terms
        due = terms.tools.due(turns, [turn], self._paid)
        cost, worth = sum(due.values()), sum([terms.tools.worths[tool] * units for tool, units in due.items()])
        for at in turns.members(turn):
            if at in terms.fixed:
                cost += terms.fixed[at].units
                continue
            layout, open_ = self.items.layout(at), set[int]()
            cost += turns.units[at]
            if at in (turns.task, turns.instruction):
                worth += rate("task", age) * turns.chat.frame("user")
            worth += sum([rate(self._said(at, kind), age) * size for kind, size in layout.skeleton.items()])
            for item in layout.blocks:
                if item.size > item.mark:
                    cost -= item.size - item.mark
                    open_.add(item.at)
            for i in range(len(turns.messages[at].pieces)):
                if i not in open_:
                    worth += self._names.get((at, i), 0.0)
        items = sorted(self._items(turn, age), key=_by_density) if terms.may_cut(turn) else []
        first = items[0] if items and not worth else None
        for item_offer in items:
            if item_offer.density * cost <= worth:
                break
            cost, worth = cost + item_offer.cost, worth + item_offer.density * item_offer.cost
        self.worths[turn] = density = worth / max(1, cost)
        own = TurnOffer("turn", density, cost - sum(due.values()), turn, first=first)
        return [own, *(each if each.density < density else each._replace(density=density) for each in items)]

    def _items(self, turn: int, age: int) -> list[TurnOffer]:
        """Return the items of a turn: the lines that tell more than others, and the texts by their tiers."""
        terms, turns, found = self.terms, self.turns, list[TurnOffer]()
        later, said_again = self.rendering.repeats.later, self.rendering.repeats.said_again
        unread = age == 0 and turn in terms.must
        for at, item in self.open_items(turn):
            place = at, item.at
            kind = self._said(at, item.kind)
            if item.kind == "unit" and at in terms.banned:
                continue
            # A reminder leaves no mark, so it is sent once however short it is.
            again = said_again(at, item.at) if item.kind == "reminder" else later(at, item.at) is not None
            if self._tight and kind != "task" and again:
                if item.kind in (*_PEOPLE, "reminder"):
                    continue  # What was said again is not said twice.
                kind = "repeated"
            elif unread and item.kind not in _PEOPLE:
                kind = "unread"
            steps = tiers(kind, age, terms.room, turns.tokens(1), unread=unread)
            if kind == "unread" and item.kind == "own":
                steps = [steps[0]._replace(most=None)]
            if kind != "repeated" and self._has_lines(item):
                found += self._line_offers(turn, place, item, age, steps if unread else _READ_BEFORE)
            found += self._text_offers(turn, place, item, steps, unread=unread)
        return found

    def _text_offers(
        self, turn: int, place: Place, item: Item, steps: Sequence[Tier], *, unread: bool
    ) -> Iterator[TurnOffer]:
        """Yield a piece by the worth of its first tokens and of the rest; its mark is worth nothing."""
        must, named = turn in self.terms.must, self._names.get(place, 0.0) / item.size
        mark, shown, density = item.bare if must else item.mark, 0, float("inf")
        read = not unread and item.kind in _READ
        for worth, limit in steps:
            size, most = item.size if limit is None else min(item.size, limit), limit
            whole = size == item.size or (item.kind == "value" and not must)
            cost = (item.size if whole else size) - max(mark, shown)
            if cost > 0:
                density = min(density, (worth + named) * (size - shown) / cost)
                if whole and size < item.size:  # It is whole or a mark, and its lines only fill what is left.
                    density, most = 0.0, None
                yield TurnOffer("text", density, cost, turn, place, item, most=most, read=read)
            if whole:
                break
            shown, read = size, not unread and item.kind != "own"

    def _said(self, position: int, kind: str) -> str:
        """Return the kind of a person's words: the task and the instruction, or no news if they are said again."""
        if kind not in _PEOPLE:
            return kind
        if position in (self.turns.task, self.turns.instruction):
            return "task"
        pieces = range(len(self.turns.messages[position].pieces))
        return "question" if any(self.rendering.repeats.said_again(position, at) for at in pieces) else kind

    def _line_offers(self, turn: int, place: Place, item: Item, age: int, steps: Sequence[Tier]) -> Iterator[TurnOffer]:
        """Yield the lines of a text that tell more than others; `steps` are what any of its lines is worth."""
        parts, named = self.rendering.parts(*place), self._lines.get(place, {})
        if len(parts) < 2:
            return
        telling, density = self.items.telling(*place), item.size / len(parts.text)
        rates, long = {why: rate(why, age) for why in {*telling.values()}}, self.turns.tokens(_LONG)
        for part in {**telling, **named} if named else telling:
            why, cost = telling.get(part), 1 + int(parts.size(part) * density)
            worth = named.get(part, 0.0)
            if why:
                worth += rates[why] * min(cost, long)
            read = steps is _READ_BEFORE and why != "heard"
            for base, most in steps:
                yield TurnOffer("line", base + worth / (cost + GAP), cost + GAP, turn, place, item, part, most, read)


def _by_density(offer: TurnOffer) -> float:
    return -offer.density
