"""Which turns a prompt has: all of them, those of the last cut and newer ones, or a new choice.

Providers count messages one by one, so the sum of the messages that are sent is the count of the whole. A kept cut is
the same choice in which the messages of the last cut are as they were.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from brim.errors import DoesNotFit
from brim.history.choice import Chosen, choose
from brim.history.note import note as written
from brim.history.offers import Offers, Terms
from brim.history.options import Options, check_stable
from brim.history.priority import NAMES
from brim.history.prompt import note_units
from brim.history.reading import Reading
from brim.history.rendering import Form
from brim.history.stable import HeldCut, Stable
from brim.history.tools import OfferedTools
from brim.history.turns import Repair, Span, Turns, joined, ranges

_FRESH = 0.1
"""Least share of the room that a cut must find free for newer turns; with less, the whole history is cut anew."""
_OUTGROWN = 1.25
"""Factor by which the budget must grow before a cut is made anew."""
_SPARE = 4
"""Tokens that a note may take more where it is joined to a message."""
SUMMARY = 10
"""A summary of dropped turns takes at most one tenth of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCut:
    """The turns of a prompt, and their messages that it has in another form."""

    spans: Sequence[Span]
    """The turns that stay, as ranges in order."""
    edits: Mapping[int, Form]
    """Messages in another form, by position."""
    seen: int
    """How many messages the history had when the start of the prompt last changed."""
    budget: int = 0
    """The budget for which the cut was made."""
    note: str = ""
    """The note of the last cut, if that one is kept."""
    is_new: bool = False
    """Whether turns were dropped, so that a note is written."""
    choice: Chosen | None = None
    """What was chosen; `None` if nothing was cut, or only by an earlier fit."""


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """A history, and what one fit of it may use."""

    reading: Reading
    budget: int
    extra: Mapping[str, int]
    """Tokens besides the messages, by name: tools, a separate system prompt, the framing of the reply."""
    options: Options
    stable: Stable | None = None
    """The lines and the cut of the last fit, if cuts are kept."""
    tools: OfferedTools = field(default_factory=OfferedTools)
    """The tools that may be left out; other tools are part of `extra`."""

    @property
    def turns(self) -> Turns:
        """The turns of the history."""
        return self.reading.turns

    @cached_property
    def room(self) -> int:
        """Tokens for the turns."""
        return self.budget - sum(self.extra.values()) - self.turns.fixed

    @cached_property
    def pinned(self) -> Set[int]:
        """The turns that the caller pinned."""
        return self.turns.pinned(self.options.pin, self.room) | (self.task if self.options.pin_first_user else set())

    @cached_property
    def banned(self) -> Sequence[int]:
        """The positions of messages whose attachments are too many for one request."""
        return self.reading.media.surplus()

    @cached_property
    def _dangling(self) -> tuple[Mapping[int, Form], Sequence[Repair]]:
        return self.reading.rendering.dangling() if self.turns.unfinished else ({}, ())

    @property
    def fixed(self) -> Mapping[int, Form]:
        """Messages without their calls that have no result yet, by position."""
        return self._dangling[0]

    @property
    def repairs(self) -> Sequence[Repair]:
        """How invalid messages were repaired."""
        return [*self.turns.repairs, *self._dangling[1]]

    @cached_property
    def last(self) -> HeldCut | None:
        """The cut of the last fit, if the history still begins with the same messages."""
        turns, held = self.turns, None if self.stable is None else self.stable.held
        if held is None or held.bound > len(turns) or held.start != turns.fingerprint(held.bound):
            return None
        return held

    @property
    def newest(self) -> int:
        """The last turn."""
        return len(self.turns.starts) - 1

    @property
    def task(self) -> Set[int]:
        """The turn of the task, and that of the user's first message where a history must begin with it."""
        turns = self.turns
        return turns.at(turns.task, turns.spoken[0] if turns.wire.pairs and turns.spoken else None)

    @property
    def essential(self) -> list[int]:
        """The turns that a prompt is about, in order.

        These are the task, the last instruction, pinned turns, the newest, and the one with the provider's compaction.
        """
        stay = self.pinned | self.task | self.turns.at(self.turns.instruction, self.turns.compaction)
        return sorted(stay | {self.newest} if self.turns.starts else stay)

    @cached_property
    def caps(self) -> Mapping[int, int]:
        """The turns that are over their cap and may be cut, each with its cap."""
        turns, recent, older, caps = self.turns, self.options.recent, self.options.older, dict[int, int]()
        if older is not None:
            spared, noted = {*self.essential, *turns.notes}, turns.noted  # The note of an earlier fit does not count.
            others = (turn for turn in range(len(turns.starts)) if turn not in spared)
            caps = {turn: older for turn in others if turns.weights[turn] - noted.get(turn, 0) > older}
        if recent is not None and turns.starts and self.newest not in self.pinned:
            caps |= {self.newest: recent} if turns.weights[self.newest] > recent else {}
        return caps

    @cached_property
    def note_room(self) -> int:
        """The most tokens that the note with a summary can take."""
        if not self.options.note:
            return 0
        most, chat = 10 ** len(str(len(self.turns.starts))) - 1, self.turns.chat
        shares = dict.fromkeys(NAMES, most) if "priority" in self.options.ways else None
        text = written(most, most, self.budget, self.budget, self.turns.meter.unit, shares, shortened=most)
        summary = self.budget // SUMMARY if self.options.summarise else 0
        return chat.frame("user") + chat.text(text) + _SPARE + summary

    # What a cut takes.

    def positions(self, cut: HistoryCut) -> list[Span]:
        """Return the turns that stay as ranges of positions."""
        starts, end = self.turns.starts, len(self.turns)
        return [(starts[first], starts[last] if last < len(starts) else end) for first, last in cut.spans]

    def sent(self, cut: HistoryCut) -> dict[int, Form]:
        """Return the edits of the turns that stay."""
        edges = [edge for span in self.positions(cut) for edge in span] if cut.edits else []
        return {at: form for at, form in cut.edits.items() if bisect_right(edges, at) % 2}

    def tools_of(self, cut: HistoryCut) -> Set[int]:
        """Return the tools that stay: those that are called, and those that were chosen."""
        called = self.tools.called(self.turns, kept_turns(cut) if self.tools.sizes else ())
        return called | (cut.choice.tools if cut.choice is not None else frozenset())

    def units(self, cut: HistoryCut) -> int:
        """Return the tokens of everything that is sent, without the note."""
        turns, before, count = self.turns, self.turns.before, len(self.turns.before)
        units = sum(self.extra.values()) + turns.fixed + self.tools.cost(self.tools_of(cut))
        for start, stop in cut.spans:
            units += (before[stop] if stop < count else turns.total) - before[start]
        return units + sum([form.units - turns.units[at] for at, form in self.sent(cut).items()])

    def used(self, cut: HistoryCut) -> int:
        """Return the tokens of everything that is sent, with the note of the last cut."""
        return self.units(cut) + (note_units(self.turns, self.positions(cut), cut.note) if cut.note else 0)

    def left_out(self, cut: HistoryCut) -> int:
        """Return how many turns are dropped."""
        return len(self.turns.starts) - sum(stop - start for start, stop in cut.spans)

    def size(self, cut: HistoryCut) -> int:
        """Return the tokens of all turns in their forms."""
        turns = self.turns
        return turns.total + sum([form.units - turns.units[at] for at, form in cut.edits.items()])

    def cost(self, cut: HistoryCut, turns: Iterable[int]) -> int:
        """Return the tokens of some turns in their forms."""
        known, chosen = self.turns, set(turns)
        less = [form.units - known.units[at] for at, form in cut.edits.items() if known.turn_of(at) in chosen]
        return sum([known.weights[turn] for turn in chosen]) + sum(less)

    # The cut.

    def decide(self) -> HistoryCut:
        """Return which turns stay.

        Raises:
            DoesNotFit: not even the marks of what must stay fit.
        """
        _ = self.pinned  # An invalid pin is an error even if everything fits.
        if self.stable is None:
            whole = self.whole()
            return self._chosen(self.room) if self._must_be_cut(whole) else whole
        check_stable(self.options)
        cut = self.whole() if self.last is None or self._shortens_pin(self.last) else self._kept(self.last)
        if self.last is not None and self._has_outgrown(cut, self.last):
            cut = self.whole()
        if self.used(cut) <= int(self.budget * self.stable.high) and not (self.last is None and self.banned):
            return cut
        low = int(self.budget * self._low(self.stable)) - (self.budget - self.room)
        cut = self._extended(cut, low) or self._chosen(low)
        return replace(cut, seen=len(self.turns), budget=self._own_budget)

    def whole(self) -> HistoryCut:
        """Return the whole history, without calls that have no result."""
        turns = self.turns
        spans = [(0, len(turns.starts))] if turns.starts else []
        seen = len(turns) if self.stable is None else 0  # In stable mode, nothing has changed the prompt yet.
        return HistoryCut(spans=spans, edits=self._changed(self.fixed), seen=seen)

    def _changed(self, forms: Mapping[int, Form]) -> dict[int, Form]:
        """Return the forms that differ from their messages."""
        raws = self.turns.raws
        return {at: form for at, form in forms.items() if form.raw is not raws[at]}

    def _must_be_cut(self, cut: HistoryCut) -> bool:
        called = self.tools.called(self.turns, range(len(self.turns.starts)))
        left = self.room - self.size(cut) - self.tools.cost(called)
        some = called < self.tools.filled(called, left) < self.tools.sizes.keys()
        return left < 0 or some or bool(self.caps) or bool(self.banned)

    def _chosen(self, room: int, held: HistoryCut | None = None, bound: int = 0) -> HistoryCut:
        """Return a new choice within some room, or a little more if what must stay needs it.

        Args:
            room: tokens for the turns.
            held: the last cut, as which the turns before `bound` stay.
            bound: the first newer turn; none of these can be dropped without changing the note in the prompt.

        Raises:
            DoesNotFit: not even the marks of what must stay fit.
        """
        turns, options, reading = self.turns, self.options, self.reading
        if not turns.starts:
            if self.room < 0:
                raise self._refusal()
            return self.whole()
        reading.items.keep_up(min([room, *self.caps.values()]))
        first = turns.at(turns.spoken[0] if turns.wire.pairs and turns.spoken else None, turns.compaction)
        frozen = set() if held is None else {turn for turn in kept_turns(held) if turn < bound}
        newer = set() if held is None else {*range(bound, len(turns.starts))}
        whole = self.pinned | frozen
        must = ({self.newest} | first | newer) - whole
        asked = [turn for turn in self.essential if turn not in whole | must]
        order = [] if held is not None else reading.ranking.order(options, [*whole, *must, *asked], room)
        by_worth = options.ways == ("recency",) and options.excerpts
        fixed = self._changed(self.fixed) if held is None else held.edits
        terms = Terms(
            room=room,
            must=must,
            whole=whole,
            candidates=sorted([*asked, *order], reverse=True) if by_worth else [*asked, *order],
            ranks=None if by_worth else {turn: len(order) - at for at, turn in enumerate(order)},
            cuts=options.excerpts,
            fixed=fixed,
            caps=self.caps,
            tools=self.tools,
            note=self.note_room,
            banned=self.banned,
        )
        choice = self._choice(terms)
        if choice.left < 0 and room < self.room and held is None:
            choice = self._choice(replace(terms, room=self.room))
        if choice.left < 0:
            raise self._refusal(choice.cost(whole), choice.cost(must), choice.tools)
        kept = {at: form for at, form in fixed.items() if turns.turn_of(at) in frozen}
        cut = HistoryCut(
            spans=ranges(sorted(choice.kept)),
            edits={**kept, **self._changed({**self.fixed, **choice.forms})},
            seen=len(turns),
            note="" if held is None else held.note,
            choice=choice,
        )
        return replace(cut, is_new=self.options.note and choice.noted and self.left_out(cut) > 0)

    def _choice(self, terms: Terms) -> Chosen:
        reading = self.reading
        return choose(Offers(reading.turns, reading.items, reading.rendering, terms), reading.names)

    def _refusal(self, pinned: int = 0, marks: int = 0, called: Collection[int] = ()) -> DoesNotFit:
        """Return the error that lists what must stay and how much is missing."""
        turns, tools = self.turns, self.extra.get("tools", 0) + self.tools.cost(called)
        named = {
            **self.extra,
            "tools": tools,
            "system messages": turns.fixed,
            "pinned": pinned,
            "marks of the newest turn": marks,
        }
        parts = {name: units for name, units in named.items() if units}
        needed, unit = sum(parts.values()), turns.meter.unit
        listed = " + ".join(f"{name} {units:,}" for name, units in parts.items())
        return DoesNotFit(
            f"the parts that must stay take {needed:,} {unit} ({listed}), and the budget is {self.budget:,}: "
            f"raise it by {needed - self.budget:,} or more, or shorten them",
            needed=needed,
            available=self.budget,
            parts=parts,
        )

    # A kept cut.

    def _low(self, stable: Stable) -> float:
        """Return the share of the budget that a cut leaves: all of it, if the next turn would need a new cut anyway."""
        room = self.budget * (stable.high - stable.low)
        return stable.low if sum(self.turns.weights[-1:]) <= room else stable.high

    def _has_outgrown(self, cut: HistoryCut, held: HeldCut) -> bool:
        """Return whether the budget has grown so much that the cut of the last fit leaves out too much."""
        return held.budget * _OUTGROWN < self._own_budget and bool(self.left_out(cut) or self.sent(cut))

    @property
    def _own_budget(self) -> int:
        """The budget without what a meter's count adds to it or takes from it."""
        own = None if self.stable is None else self.stable.budget
        return self.budget if own is None else own

    def _shortens_pin(self, held: HeldCut) -> bool:
        """Return whether the cut of the last fit shortens a message that was pinned since."""
        return any(self.turns.turn_of(at) in self.pinned for at in held.edits if at not in self.fixed)

    def _kept(self, held: HeldCut) -> HistoryCut:
        """Return what the last fit sent, and all newer messages."""
        turns, whole = self.turns, self.whole()
        counted, rendering = held.meter == turns.meter.name, self.reading.rendering
        forms = {
            at: kept if counted else rendering.counted(at, kept.raw)
            for at, kept in held.edits.items()
            if at not in whole.edits and at not in held.unanswered
        }
        edges = [turns.turn_of(position) for span in held.kept for position in span]
        spans = whole.spans
        if edges:
            kept = zip(edges[::2], [*edges[1:-1:2], len(turns.starts)], strict=True)
            spans = joined(sorted([*kept, *((turn, turn + 1) for turn in self.essential)]))
        edits = {**whole.edits, **self._changed(forms)}
        return HistoryCut(spans=spans, edits=edits, seen=held.seen, budget=held.budget, note=held.note)

    def _extended(self, cut: HistoryCut, room: int) -> HistoryCut | None:
        """Return a cut that shortens only what is newer than the last one, so that the start of the prompt stays.

        `None` if that leaves too few tokens for the newer turns.
        """
        if self.last is None or not (cut.edits or self.left_out(cut)):
            return None
        turns, bound = self.turns, self.turns.turn_of(self.last.bound - 1) + 1
        stays = [*(turn for turn in kept_turns(cut) if turn < bound), self.newest]
        note = note_units(turns, self.positions(cut), cut.note)
        if room - self.cost(cut, stays) - note < room * _FRESH or self.newest < bound:
            return None
        try:
            extended = self._chosen(room - note, cut, bound)
        except DoesNotFit:
            return None
        return None if extended.is_new else extended


def kept_turns(cut: HistoryCut) -> list[int]:
    """Return the turns that stay, in order."""
    return [turn for start, stop in cut.spans for turn in range(start, stop)]
