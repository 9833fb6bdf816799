"""The choice of what stays: items go in by worth per token until the budget is full.

A turn is offered with its skeleton and those of its items that are worth more than the two together; once it is in, its
other items are offered alone. Nothing but the law and the caller's pins is hard: the turns that must stay begin as
their shortest marks, and their items are chosen in the same pass as all others. Sizes are estimates until the end,
when the messages are written and counted; what was chosen last then gives way.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from brim.history.items import MARK, Item, Items
from brim.history.names import NameIndex, names_in
from brim.history.rendering import BARE, Form, Rendering, Shown
from brim.history.tools import OfferedTools
from brim.history.turns import Turns
from brim.history.worth import NAME, Tier, rate, tiers
from brim.truncate.json_parts import Parts
from brim.truncate.parts import TextParts, from_both_ends
from brim.wire.message import MEDIA

_GAP = 6
"""Tokens of the mark between two lines that stay."""
_ENOUGH = 5
"""Tokens below which nothing more is added."""
_NAMES = 1_000
"""The newest names that one choice looks at."""
_WORDS_OF_PEOPLE = ("said", "question")
"""The kinds of items that are a person's words."""
_LONG = 400
"""Tokens above which a text was not written by hand, and single lines of it are offered."""
_FREE = 10
"""Above a tenth of the room, what is left is filled with lines of values too, which stay whole or go otherwise."""
_REACH = 32
"""Times the room: older turns than have so many tokens, each at most a room, are not looked at, except those in which a
person speaks."""
_ROUNDS = 6
"""How often the messages are written at most while the room is filled."""
_SAME = 0.98
"""Worth that has fallen less than this is the same."""
_READ = ("output", "value", "unit", "thought")
"""The kinds of items that an agent has read or written once, and can read or write again."""
_MARK = -2
"""In place of the number of a part: the mark in words of a text that must stay."""
_NOTE = -3
"""In place of the number of a part: the note."""
_FOREMOST = 1 << 40
"""The rank of turns that must stay."""

Place = tuple[int, int]
"""A piece of the history: the position of its message, and its index."""


class _Offer(NamedTuple):
    """Something that can be added to the prompt."""

    density: float
    """What it is worth for a token."""
    cost: int
    """Its tokens, about."""
    turn: int
    place: Place | None = None
    """The piece; `None` for a turn with its skeleton."""
    part: int = -1
    """The part of its text; -1 for the rest of the piece, -2 for a mark in words."""
    worth: float = 0.0
    """What it is worth apart from names, or what a turn's skeleton is worth."""
    names: Sequence[tuple[str, float]] = ()
    """The names that are used here for the last time, each with its worth."""
    most: int | None = None
    """The most tokens of the piece at this worth."""
    tiers: Sequence[Tier] = ()
    """What more of its tokens are worth."""
    read: bool = False
    """Whether it is a result, a value or an attachment that the agent has read before."""
    items: Sequence[_Offer] = ()
    """The items of a turn, the most worth first."""
    waits: bool = False
    """Whether it comes after everything else, since something is left out that the agent has not read yet."""
    last: bool = False
    """Whether a turn is offered for the last time: with whatever fits."""


class _Step(NamedTuple):
    """Something that was added, and what was there before."""

    cost: int
    turn: int
    place: Place | None
    before: Shown
    offer: _Offer


@dataclass(slots=True, kw_only=True)
class Choice:
    """What stays of a history within some room."""

    turns: Turns
    items: Items
    rendering: Rendering
    names: NameIndex
    room: int
    """Tokens for all turns."""
    must: Collection[int]
    """The turns that must stay, at least as marks."""
    whole: Collection[int] = ()
    """The turns that stay as they are: pinned, or held by an earlier cut."""
    candidates: Sequence[int] = ()
    """The other turns that may stay, the newest first."""
    ranks: Mapping[int, int] | None = None
    """The ranks of turns, if something else than worth decides which come first; higher ones do."""
    cuts: bool = True
    """Whether these may be shortened."""
    fixed: Mapping[int, Form] = field(default_factory=dict)
    """Messages whose form is decided, by position."""
    caps: Mapping[int, int] = field(default_factory=dict)
    """The most tokens of some turns."""
    tight: bool = True
    """Whether the turns take more than the room; if not, only some of them are over their caps."""
    note: int = 0
    """Tokens of the note that says that turns were dropped."""
    banned: Collection[int] = ()
    """The positions of messages whose attachments may not be sent."""
    tools: OfferedTools = field(default_factory=OfferedTools)
    """The tools that are chosen with the turns, as turns of other numbers."""
    kept: set[int] = field(init=False, default_factory=set)
    """The turns that stay."""
    forms: dict[int, Form] = field(init=False, default_factory=dict)
    """The messages of the turns that stay, by position, if they are not whole."""
    least: float = field(init=False, default=0.0)
    """What a token is worth that was chosen last."""
    left: int = field(init=False, default=0)
    noted: bool = field(init=False, default=False)
    """Whether there is room for the note."""
    offered: dict[int, float] = field(init=False, default_factory=dict)
    """What a token of each turn is worth that need not stay."""
    _shown: dict[int, dict[int, Shown]] = field(init=False, default_factory=dict)
    _costs: dict[Place, int] = field(init=False, default_factory=dict)
    """About the tokens that a piece takes as it is shown."""
    _used: dict[int, int] = field(init=False, default_factory=dict)
    """Tokens of the turns and tools that stay."""
    _lines: dict[Place, dict[int, list[tuple[str, float]]]] = field(init=False, default_factory=dict)
    _worths: dict[Place, list[tuple[str, float]]] = field(init=False, default_factory=dict)
    """The names of a piece that is not divided into lines, each with its worth."""
    _seen: set[str] = field(init=False, default_factory=set)
    """Names that the prompt shows."""
    _heap: list[tuple[int, bool, float, int, int, _Offer]] = field(init=False, default_factory=list)
    _number: int = field(init=False, default=0)
    _again: set[Place] = field(init=False, default_factory=set)
    """The pieces of which a mark says that they stand again later."""
    _short: list[_Offer] = field(init=False, default_factory=list)
    """Texts of which only a part had room."""
    _unread_tiers: list[Tier] = field(init=False, default_factory=list)
    """What the tokens of the newest turn are worth."""
    _unread: bool = field(init=False, default=False)
    """Whether something is left out that the agent has not read yet."""
    _steps: list[_Step] = field(init=False, default_factory=list)

    def cost(self, turns: Collection[int]) -> int:
        """Return the tokens of some turns that stay."""
        return sum([self._used.get(turn, 0) for turn in turns])

    @property
    def kept_tools(self) -> set[int]:
        """The tools that stay."""
        return self.tools.sizes.keys() & self._used.keys()

    def run(self) -> None:
        """Choose; if `left` is below zero then, not even the marks of what must stay fit."""
        self.kept = {*self.must, *self.whole}
        for turn in self.kept:
            self._begin(turn, bare=turn in self.must)
        self._used |= self.tools.due(self.turns, self.kept, self._used)
        self.left = self.room - sum(self._used.values())
        if self.left < 0:
            return
        self._unread_tiers = tiers("unread", 0, self.room, self.turns.tokens(1), unread=True)
        self._look_for_names()
        newest = len(self.turns.starts) - 1
        for turn in self.must:
            self._offer_items(turn, newest - turn)
        if self.note and self.candidates:
            self._push(_Offer(rate("unread", 0), self.note, -1, part=_NOTE))
        reach = max(_REACH * self.room, 1)
        for turn in self.candidates:
            reach -= min(self.room, self.turns.weights[turn])
            if reach < 0 and not self._speaks(turn):
                continue
            self._offer_turn(turn, newest - turn)
        self.ranks = None if self.ranks is None else self.tools.ranked(self.ranks)
        first = self.turns.at(self.turns.task, self.turns.instruction) & set(self.offered)
        for tool, worth in self.tools.worths.items():  # No tool comes before the task.
            self._push(_Offer(min([worth, *map(self.offered.__getitem__, first)]), 0, tool))
        self._pass()
        self._settle()
        moved = {at for at, i in self._again if at in self.forms and not self._stands_again(at, i)}
        self._write({self.turns.turn_of(at) for at in moved})  # What they point to has given way since.
        self._heap, self._short, self._steps, self._lines, self._worths = (
            [],
            [],
            [],
            {},
            {},
        )  # A receipt may keep this for long.

    def _speaks(self, turn: int) -> bool:
        """Return whether a person says something in a turn, and not only asks."""
        turns = self.turns
        said = (at for at in turns.members(turn) if turns.messages[at].role == "user" or turns.answers)
        return any(block.kind == "said" for at in said for block in self.items.layout(at).blocks)

    # What is offered.

    def _blocks(self, turn: int) -> Iterator[tuple[int, Item]]:
        """Yield the items of a turn, each with the position of its message."""
        must = turn in self.must
        for at in self.turns.members(turn):
            if at not in self.fixed:
                for block in self.items.layout(at).blocks:
                    if block.size > (block.bare if must else block.mark):
                        yield at, block

    def _begin(self, turn: int, *, bare: bool) -> int:
        """Show the skeleton of a turn, and return its tokens; a turn that stays as it is has no other items."""
        members, units, fixed = self.turns.members(turn), self.turns.units, self.fixed
        cost = sum([fixed[at].units if at in fixed else units[at] for at in members])
        for at in self.banned if turn not in self._used else ():
            if at in members and at not in fixed:
                media = {i: () for i, piece in enumerate(self.turns.messages[at].pieces) if piece.kind in MEDIA}
                self._shown.setdefault(at, {}).update(media)
        for at, block in self._blocks(turn) if bare or turn not in self.whole else ():
            less = block.bare if bare else block.mark
            self._shown.setdefault(at, {})[block.at] = BARE if bare else ()
            self._costs[at, block.at] = less
            cost -= block.size - less
        self._used[turn] = cost
        return cost

    def _look_for_names(self) -> None:
        """Find where the newest names were last used, and what they are worth there."""
        turns, items = self.turns, self.items
        for name, use, chance in self.names.needed(_NAMES):
            at, worth = use.position, NAME * chance
            blocks = () if at in self.fixed else items.layout(at).blocks
            block = next((each for each in blocks if each.at == use.piece), None)
            if block is None or not _has_lines(block, turns.tokens(_LONG)) or block.size <= block.mark:
                self._worths.setdefault((at, use.piece), []).append((name, worth))
                continue
            part = self.rendering.parts(at, use.piece).part_at(use.start)
            self._lines.setdefault((at, use.piece), {}).setdefault(part, []).append((name, worth))
        for turn in self.whole:
            for at in turns.members(turn):
                self._show_names(at)

    def _show_names(self, position: int, at: int | None = None) -> None:
        """Note that the prompt shows the names of a message, or of one piece of it."""
        for i, piece in enumerate(self.turns.messages[position].pieces):
            if piece.kind in ("text", "output", "call") and (at is None or i == at):
                self._seen.update(name for name, _ in names_in(piece.text))

    def _fresh(self, names: Sequence[tuple[str, float]]) -> float:
        """Return the worth of the names that the prompt does not show yet."""
        return sum([worth for name, worth in names if name not in self._seen])

    def _offers(self, turn: int, age: int) -> Iterator[_Offer]:
        """Yield the items of a turn."""
        must, turns, later = turn in self.must, self.turns, self.rendering.repeats.later
        unread = age == 0 and must
        for at, block in self._blocks(turn):
            place = (at, block.at)
            kind = self._said(at, block.kind)
            if block.kind == "unit" and at in self.banned:
                continue
            if self.tight and kind != "task" and later(at, block.at) is not None:
                if block.kind in (*_WORDS_OF_PEOPLE, "reminder"):
                    continue  # What was said again is not said twice.
                kind = "repeated"
            elif unread and block.kind not in _WORDS_OF_PEOPLE:
                kind = "unread"
            first, *rest = tiers(kind, age, self.room, turns.tokens(1), unread=unread)
            if kind == "unread" and block.kind == "own":
                first, rest = first._replace(most=None), []
            worth = first.worth
            if _has_lines(block, turns.tokens(_LONG)) and kind != "repeated":
                yield from self._line_offers(turn, place, age, worth if unread else 0.0)
            if names := self._worths.get(place):
                worth += self._fresh(names) / block.size
            size = block.size if first.most is None else min(block.size, first.most)
            cost = max(1, size - (block.bare if must else block.mark))
            read = not unread and block.kind in _READ
            yield _Offer(worth * size / cost, cost, turn, place, most=first.most, tiers=rest, read=read)

    def _said(self, position: int, kind: str) -> str:
        """Return the kind of a person's words: the task and the instruction, or no news if they are said again."""
        if kind not in _WORDS_OF_PEOPLE:
            return kind
        if position in (self.turns.task, self.turns.instruction):
            return "task"
        pieces = range(len(self.turns.messages[position].pieces))
        return "question" if any(self.rendering.repeats.said_again(position, at) for at in pieces) else kind

    def _line_offers(self, turn: int, place: Place, age: int, base: float) -> Iterator[_Offer]:
        """Yield the lines of a result that tell more than others; `base` is what any line of it is worth."""
        parts, named = self.rendering.parts(*place), self._lines.get(place, {})
        if len(parts) < 2:
            return
        telling, density = self.items.telling(*place), self._density(place)
        for part in {**telling, **named}:
            cost = 1 + int(parts.size(part) * density)
            why, names = telling.get(part), named.get(part, ())
            own = rate(why, age) * min(cost, self.turns.tokens(_LONG)) if why else 0.0
            worth = base + (own + self._fresh(names)) / (cost + _GAP)
            was_read = not base and why != "heard"
            yield _Offer(worth, cost + _GAP, turn, place, part, own, names, read=was_read)

    def _density(self, place: Place) -> float:
        """Return the tokens of a character of a text, at most one."""
        text = self.turns.messages[place[0]].pieces[place[1]].text
        return min(1.0, self.turns.chat.text(text) / max(1, len(text)))

    def _push(self, offer: _Offer) -> None:
        self._number += 1
        rank = 0 if self.ranks is None else self.ranks.get(offer.turn, _FOREMOST if offer.turn >= 0 else _FOREMOST - 2)
        heapq.heappush(self._heap, (-rank, offer.waits, -offer.density, -offer.turn, self._number, offer))

    def _offer_items(self, turn: int, age: int) -> None:
        """Offer the items of a turn that must stay."""
        for at, block in self._blocks(turn):
            if block.size > block.mark > block.bare and block.kind != "call":
                self._push(_Offer(rate("task", 0) / 2, block.mark - block.bare, turn, (at, block.at), _MARK))
        for offer in self._offers(turn, age):
            self._push(offer)

    def _offer_turn(self, turn: int, age: int) -> None:
        """Offer a turn: its skeleton, and the items that are worth more for a token than all of it so far."""
        turns, due = self.turns, self.tools.due(self.turns, [turn], self._used)
        cost, worth = sum(due.values()), sum([self.tools.worths[tool] * units for tool, units in due.items()])
        for at in turns.members(turn):
            if at in self.fixed:
                cost += self.fixed[at].units
                continue
            layout = self.items.layout(at)
            cost += turns.units[at]
            if at in (turns.task, turns.instruction):
                worth += rate("task", age) * turns.chat.frame("user")
            worth += sum([rate(self._said(at, kind), age) * size for kind, size in layout.skeleton.items()])
            open_ = set[int]()
            for block in layout.blocks:
                if block.size > block.mark:
                    cost -= block.size - block.mark
                    open_.add(block.at)
            for i in range(len(turns.messages[at].pieces)):
                if i not in open_ and (names := self._worths.get((at, i))):
                    worth += self._fresh(names)
        items = sorted(self._offers(turn, age), key=_by_density) if self._may_cut(turn) else []
        skeleton, whole = worth, cost
        for offer in items:
            if offer.density * whole <= worth:
                break
            whole, worth = whole + offer.cost, worth + offer.density * offer.cost
        self.offered[turn] = worth / max(1, whole)
        self._push(_Offer(self.offered[turn], whole - sum(due.values()), turn, worth=skeleton, items=items))

    # The pass.

    def _pass(self) -> None:
        """Take offers, the most worth first, until the room is full."""
        heap = self._heap
        while heap and self.left >= _ENOUGH:
            offer = heapq.heappop(heap)[-1]
            if offer.read and self._unread and not offer.waits:
                self._push(offer._replace(waits=True))
            elif offer.part == _NOTE:
                self.noted = offer.cost <= self.left
                self.room -= offer.cost * self.noted
                self.left -= offer.cost * self.noted
            elif offer.turn < 0:
                self._take_tool(offer)
            elif offer.place is None:
                self._take_turn(offer)
            elif offer.part == _MARK:
                self._take_mark(offer)
            elif offer.part < 0:
                self._take_rest(offer)
            else:
                self._take_line(offer)

    def _room_of(self, turn: int) -> int:
        """Return how many tokens a turn may still take."""
        cap = self.caps.get(turn)
        due = {} if turn in self.kept else self.tools.due(self.turns, [turn], self._used)
        left = self.left - sum(due.values())
        return left if cap is None else min(left, cap - self._used.get(turn, 0))

    def _may_cut(self, turn: int) -> bool:
        """Return whether a turn may be shortened: by the options, or since it is over its cap, or should stay."""
        return self.cuts or turn in self.caps or self.ranks is None or turn not in self.ranks

    def _take_tool(self, offer: _Offer) -> None:
        """Take a tool, unless a turn that calls it has done so."""
        cost = self.tools.cost([offer.turn], self.kept_tools)
        if offer.turn not in self._used and cost <= self.left:
            self._used[offer.turn] = cost
            self.left -= cost
            self._steps.append(_Step(cost, offer.turn, None, None, offer))

    def _take_turn(self, offer: _Offer) -> None:
        turn, members = offer.turn, self.turns.members(offer.turn)
        room = self._room_of(turn)
        if self.ranks is not None and turn in self.ranks:
            whole = sum([self.fixed[at].units if at in self.fixed else self.turns.units[at] for at in members])
            if whole <= room and self.banned_in(members) is None:
                self._add(offer, whole)
                for at in members:
                    self._show_names(at)
                return
            if not self._may_cut(turn):
                return
        if offer.cost > room and not offer.last:  # Later perhaps a part of it.
            self._push(offer._replace(density=offer.density * _SAME, last=True))
            return
        cost = self._begin(turn, bare=False)
        if cost > room:
            self._forget(turn)
            return
        self._add(offer, cost)
        for at in members:
            shown = self._shown.get(at, {})
            for i in range(len(self.turns.messages[at].pieces)):
                if i not in shown:
                    self._show_names(at, i)
        for each in offer.items:
            self._push(each)

    def banned_in(self, members: Sequence[int]) -> int | None:
        """Return the first of some messages with attachments that may not be sent."""
        return next((at for at in members if at in self.banned), None)

    def _add(self, offer: _Offer, cost: int) -> None:
        for tool in self.tools.due(self.turns, [offer.turn], self._used):
            self._take_tool(_Offer(offer.density, 0, tool))
        self.kept.add(offer.turn)
        self._used[offer.turn] = cost
        self.left -= cost
        self.least = offer.density
        self._steps.append(_Step(cost, offer.turn, None, None, offer))

    def _forget(self, turn: int) -> None:
        """Show nothing of a turn."""
        self._used.pop(turn, None)
        for at in self.turns.members(turn) if turn >= 0 else ():
            self._shown.pop(at, None)
            self.forms.pop(at, None)

    def _block(self, place: Place) -> Item:
        return next(block for block in self.items.layout(place[0]).blocks if block.at == place[1])

    def _take_mark(self, offer: _Offer) -> None:
        assert offer.place is not None
        at, i = offer.place
        if self._shown[at][i] is BARE and offer.cost <= self._room_of(offer.turn):
            self._show(offer, (), self._costs[at, i] + offer.cost)

    def _take_line(self, offer: _Offer) -> None:
        place, turn = offer.place, offer.turn
        assert place is not None
        shown = self._shown.get(place[0], {}).get(place[1])
        if shown is None or offer.part in shown:
            return
        parts = self.rendering.parts(*place)
        size = self.turns.chat.text(parts.part(offer.part))
        base = 0.0
        if turn in self.must and turn == len(self.turns.starts) - 1:
            first, rest = self._unread_tiers
            base = first.worth if self._used[turn] < (first.most or 0) else rest.worth
        density = base + (offer.worth + self._fresh(offer.names)) / (size + _GAP)
        if density < offer.density * _SAME:
            self._push(offer._replace(density=density))  # Others show its names by now.
            return
        chosen = shown if isinstance(shown, set) else set()
        near = (offer.part - 1 in chosen) + (offer.part + 1 in chosen)
        gaps = 1 - near if chosen else (offer.part > 0) + (offer.part < len(parts) - 1)
        cost = size + gaps * _GAP - (0 if chosen else self._costs[place])
        if not isinstance(parts, TextParts):  # A member comes with the keys, brackets and quotes around it.
            cost = self.turns.chat.text(parts.show({*chosen, offer.part})) - self._costs[place]
        if cost > self._room_of(turn):
            return
        self._show(offer, chosen or {offer.part}, self._costs[place] + cost)
        chosen.add(offer.part)
        self._seen.update(name for name, _ in names_in(parts.part(offer.part)))

    def _take_rest(self, offer: _Offer) -> None:
        """Show the rest of a piece, or as much of it as fits."""
        place, turn = offer.place, offer.turn
        assert place is not None
        if self._shown.get(place[0], {}).get(place[1]) is None:
            return
        block, most = self._block(place), self._room_of(turn) + self._costs[place]
        if offer.most is not None:
            most = min(most, offer.most)
        if block.size <= most:
            self._show(offer, None, block.size)
            self._show_names(*place)
            return
        if block.kind == "value" and turn not in self.must and offer.tiers:
            self._push(
                offer._replace(density=0.0, most=None, tiers=())
            )  # Whole, or a mark; its lines only fill what is left.
            return
        if not offer.density and self.left * _FREE < self.room:
            return
        if block.kind not in ("unit", "thought"):
            self._take_part(offer, block, most)
            self._short += [offer] if offer.most is None else []
        if offer.tiers:
            unread = turn in self.must and turn == len(self.turns.starts) - 1
            self._unread |= unread
            (worth, more), *rest = offer.tiers
            lower = min(offer.density, worth)
            self._push(offer._replace(density=lower, most=more, tiers=rest, read=not unread and block.kind != "own"))

    def _take_part(self, offer: _Offer, block: Item, most: int) -> None:
        """Show parts of a text from its ends, or from the start of a value, up to `most` tokens."""
        place = offer.place
        assert place is not None
        shown = self._shown[place[0]][place[1]]
        parts, count = self.rendering.parts(*place), self.turns.chat.text
        chosen = {*shown} if isinstance(shown, set) else set[int]()
        mark = min(block.mark, self.turns.tokens(MARK))
        cost, added = (self._costs[place] if chosen else mark) + _GAP, list[int]()
        for part in _order(parts, head=block.kind in ("value", "call")):
            size = count(parts.part(part))
            if part not in chosen and cost + size <= most:
                added.append(part)
                cost += size
            elif part not in chosen and isinstance(parts, TextParts):
                break
        if not isinstance(parts, TextParts):  # Members come with the keys, brackets and quotes around them.
            cost = count(parts.show({*chosen, *added}))
            while added and cost > most:
                over = cost - most
                while added and over > 0:
                    over -= count(parts.part(added.pop()))
                cost = count(parts.show({*chosen, *added}))
        if added:
            self._show(offer, {*chosen, *added}, cost)

    def _show(self, offer: _Offer, shown: Shown, cost: int) -> None:
        """Show a piece differently; `cost` are its tokens then."""
        assert offer.place is not None
        at, i = offer.place
        more = cost - self._costs[at, i]
        self._steps.append(_Step(more, offer.turn, offer.place, self._shown[at][i], offer))
        self._shown[at][i] = shown
        self._costs[at, i] = cost
        self._used[offer.turn] += more
        self.left -= more
        self.least = offer.density

    # The end: what is written is counted.

    def _settle(self) -> None:
        """Write the messages, and correct the choice until they fit, and fill the room."""
        stale: Collection[int] | None = None
        for number in range(_ROUNDS):
            self._write(stale)
            self.left = self.room - sum(self._used.values())
            stale = self._give_way()
            if not stale:
                if self.left < 4 * _ENOUGH or number >= _ROUNDS // 2:
                    return
                count, short, self._short = len(self._steps), self._short, []
                for offer in short:  # Sizes were estimates: there may be room for more of these texts.
                    self._push(offer)
                self._pass()
                stale = {step.turn for step in self._steps[count:]}
                if not stale:
                    return
        while stale:
            self._write(stale)
            self.left = self.room - sum(self._used.values())
            stale = self._give_way(refill=False)

    def _write(self, some: Collection[int] | None) -> None:
        """Write the messages of some turns, or of all that stay, and count them."""
        for turn in sorted(self.kept if some is None else self.kept.intersection(some)):
            total = 0
            for at in self.turns.members(turn):
                self.forms[at] = form = self._form(at)
                total += form.units
            self._used[turn] = total

    def _form(self, position: int) -> Form:
        if position in self.fixed:
            return self.fixed[position]
        shown = self._shown.get(position)
        if not shown or not any(each is not None for each in shown.values()):
            return self.rendering.whole(position)
        again = [at for at, each in shown.items() if each == () and self._stands_again(position, at)]
        self._again.update((position, at) for at in again)
        return self.rendering.form(position, shown, again)

    def _stands_again(self, position: int, at: int) -> bool:
        """Return whether a text stands whole in a later message of the prompt."""
        later = self.rendering.repeats.later(position, at)
        if later is None or self.turns.turn_of(later[0]) not in self.kept:
            return False
        form = self.fixed.get(later[0])
        if form is not None:
            return form.raw is self.turns.raws[later[0]]
        return all(self._shown.get(later[0], {}).get(each) is None for each in self.rendering.repeats.pieces(*later))

    def _give_way(self, *, refill: bool = True) -> set[int]:
        """Take back what was chosen last until what is left is enough; return the turns that changed."""
        changed = set[int]()
        for turn, cap in self.caps.items():
            while turn in self.kept and self._used[turn] > cap:
                at = next((i for i in range(len(self._steps) - 1, -1, -1) if self._steps[i].turn == turn), None)
                if at is None:
                    break
                changed.add(self._undo(at, self._used[turn] - cap, refill=refill))
        over = -self.left
        while over > 0 and self._steps:
            step = self._steps[-1]
            cost = step.cost if step.place is not None else self._used[step.turn]
            changed.add(self._undo(len(self._steps) - 1, over, refill=refill))
            over -= cost
        return changed

    def _undo(self, number: int, over: int, *, refill: bool) -> int:
        """Take back one step, and return its turn; a text of which a part was shown is offered with less of it."""
        step = self._steps.pop(number)
        offer = step.offer
        if step.place is not None and offer.part < 0 and self._shown[step.place[0]][step.place[1]]:
            offer = offer._replace(most=max(1, self._costs[step.place] - over))
        if step.place is None:
            self.kept.discard(step.turn)
            self._forget(step.turn)
        else:
            at, i = step.place
            if isinstance(step.before, set) and step.before is self._shown[at][i]:
                step.before.discard(offer.part)  # A line was added to others.
            self._shown[at][i] = step.before
            self._costs[at, i] -= step.cost
            self._used[step.turn] -= step.cost
        if refill:
            self._push(offer)
        return step.turn


def _has_lines(block: Item, long: int) -> bool:
    """Return whether single lines of a text are offered: of results, and of what is too long to be written by hand."""
    return block.kind == "output" or (block.kind != "unit" and block.size > long)


def _by_density(offer: _Offer) -> float:
    return -offer.density


def _order(parts: Parts, *, head: bool) -> Iterable[int]:
    """Return the parts of a text in the order in which they are shown."""
    if isinstance(parts, TextParts):
        return range(len(parts)) if head else from_both_ends(range(len(parts)))
    return parts.ranked()
