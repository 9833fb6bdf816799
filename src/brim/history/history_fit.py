"""One fit of a history: what is cut, the kept cut, the note, and the sum.

Providers count messages one by one, so the sum of the messages that are sent is the count of the whole. A kept cut is
the same choice in which the messages of the last cut are as they were.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from brim.errors import DoesNotFit, InvalidType
from brim.history.choice import Choice
from brim.history.items import Items
from brim.history.media_limit import MediaIndex
from brim.history.names import NameIndex
from brim.history.note import note as written
from brim.history.options import Options, check_stable
from brim.history.priority import NAMES, distribution
from brim.history.prompt import SentMessages, note_units, sent_messages
from brim.history.ranking import Ranking
from brim.history.rendering import Form, Rendering
from brim.history.rules import binds
from brim.history.stable import HeldCut, Stable
from brim.history.tools import OfferedTools
from brim.history.turns import BLANK, Repair, Span, Turns, joined, ranges
from brim.receipts.receipt import Part
from brim.truncate import shortened
from brim.wire.message import spoken

_FRESH = 0.1
"""Least share of the room that a cut must find free for newer turns; with less, the whole history is cut anew."""
_OUTGROWN = 1.25
"""Factor by which the budget must grow before a cut is made anew."""
_SPARE = 4
"""Tokens that a note may take more where it is joined to a message."""
_SUMMARY = 10
"""A summary of dropped turns takes at most one tenth of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is known of a history besides its turns, kept up from fit to fit."""

    turns: Turns
    rendering: Rendering
    items: Items
    names: NameIndex
    ranking: Ranking
    media: MediaIndex
    parts: dict[tuple[int, int, int], Part] = field(default_factory=dict)
    """The parts of dropped turns in receipts, by the generation of the turns and the positions of each."""

    @classmethod
    def of(cls, turns: Turns) -> Reading:
        """Return what is read of some turns."""
        rendering = Rendering(turns)
        return cls(
            turns=turns,
            rendering=rendering,
            items=Items(turns, rendering),
            names=NameIndex(turns),
            ranking=Ranking(turns),
            media=MediaIndex(turns),
        )


@dataclass(slots=True)
class HistoryFit:
    """One fit of a history."""

    reading: Reading
    budget: int
    extra: Mapping[str, int]
    """Tokens besides the messages, by name: tools, a separate system prompt, the framing of the reply."""
    options: Options
    stable: Stable | None = None
    """The lines and the cut of the last fit, if cuts are kept; after `finish`, the cut of this one."""
    tools: OfferedTools = field(default_factory=OfferedTools)
    """The tools that may be left out; other tools are part of `extra`."""
    kept_tools: set[int] = field(default_factory=set)
    """Those of them that stay."""
    edits: dict[int, Form] = field(default_factory=dict)
    """Messages in another form, by position."""
    spans: list[Span] = field(default_factory=list)
    """The turns that stay, as ranges in order."""
    sent: dict[int, Form] = field(default_factory=dict)
    """The edits of turns that stay."""
    units: int = 0
    """Tokens of everything that is sent, without the note."""
    note: str = ""
    is_new: bool = False
    """Whether turns were dropped by this fit, so that it writes a note."""
    steps: tuple[int, int] = (0, 0)
    """How many turns stay, and how many there are, without notes of earlier fits."""
    distribution: Mapping[str, int] | None = None
    """How many of the turns that stay each class has, if turns are selected by class."""
    repairs: list[Repair] = field(default_factory=list)
    fixed: dict[int, Form] = field(default_factory=dict)
    """Messages without their calls that have no result yet, by position."""
    pinned: set[int] = field(default_factory=set)
    """The turns that the caller pinned."""
    banned: list[int] = field(default_factory=list)
    """The positions of messages whose attachments are too many for one request."""
    choice: Choice | None = None
    """What this fit chose; `None` if nothing was cut, or only by an earlier fit."""
    seen: int = 0
    """How many messages the history had when the start of the prompt last changed."""
    last: HeldCut | None = None
    """The cut of the last fit, if it was of this history."""
    cut_for: int = 0
    """The budget for which the cut was made."""

    def run(self) -> None:
        """Decide what is sent; pinned texts are dropped if the budget is too small for them.

        Raises:
            DoesNotFit: not even the marks of what must stay fit.
        """
        try:
            self._decide()
        except DoesNotFit:
            bare = self.options.without_texts
            if bare == self.options:
                raise
            self.options = bare
            self._decide()

    @property
    def turns(self) -> Turns:
        """The turns of the history."""
        return self.reading.turns

    def _decide(self) -> None:
        self.begin()
        if self.stable is None:
            self.seen = len(self.turns)
            if self._must_be_cut(self.room):
                self._cut(self.room)
            return
        check_stable(self.options)
        self.last = self._known(self.stable.held)
        if self.last is not None and not self._shortens_pin(self.last):
            self._keep_cut(self.last)
        self.settle()
        if self.last is not None and self._has_outgrown(self.last):
            self.begin()
            self.settle()
        line = int(self.budget * self.stable.high)
        if self.used > line or (self.last is None and self.banned):
            self.seen, self.cut_for = len(self.turns), self._own_budget
            low = int(self.budget * self._low(self.stable)) - (self.budget - self.room)
            if not self._extend_cut(low):
                self.begin()
                self._cut(low)
            self.settle()

    def begin(self) -> None:
        """Start from the whole history, without calls that have no result."""
        turns = self.turns
        self.edits, self.note, self.choice = {}, "", None
        self.pinned = turns.pinned(self.options.pin, self.room)
        if self.options.pin_first_user:
            self.pinned |= self.task()
        self.repairs, self.fixed = list(turns.repairs), {}
        if turns.unfinished:
            self.fixed, repairs = self.reading.rendering.dangling()
            self.repairs += repairs
        self._edit(self.fixed)
        self.banned = self.reading.media.surplus()
        self.spans = [(0, len(turns.starts))] if turns.starts else []

    def _must_be_cut(self, room: int) -> bool:
        called = self.tools.called(self.turns, range(len(self.turns.starts)))
        left = room - self.size - self.tools.cost(called)
        some = called < self.tools.filled(called, left) < self.tools.sizes.keys()
        return left < 0 or some or bool(self.caps()) or bool(self.banned)

    def finish(self) -> None:
        """Add up what is sent, write the note if needed, and keep the cut for the next fit."""
        self.settle()
        if self.turns.thinks and binds(self.turns.model):
            self._unbind()
            self.settle()
        if self.turns.documents:
            self._uncite()
            self.settle()
        left = self.budget - self.used - (self._note_room() if self.is_new else 0)
        self.units -= self.tools.cost(self.kept_tools)
        self.kept_tools = self.tools.filled(self.kept_tools, left)
        self.units += self.tools.cost(self.kept_tools)
        total, notes = len(self.turns.starts), self.turns.notes
        kept_notes = sum(start <= note < stop for note in notes for start, stop in self.spans)
        self.steps = total - self.left_out() - kept_notes, total - len(notes)
        if "priority" in self.options.ways:
            ranking = self.reading.ranking
            self.distribution = distribution(ranking.class_of(turn, self.options) for turn in self.kept_turns())
        if self.is_new:
            sums = (*self.steps, self.units, self.budget, self.turns.meter.unit, self.distribution)
            summary, less = self._summary(), {self.turns.turn_of(at) for at in self.sent}
            self.note = written(*sums, shortened=len(less)) + summary
            if self.used > self.budget:  # `_note_room` does not include the number of shortened turns.
                self.note = written(*sums) + summary
        if self.stable is not None:
            self.stable = replace(self.stable, held=self._held())

    @property
    def room(self) -> int:
        """Tokens for the turns."""
        return self.budget - sum(self.extra.values()) - self.turns.fixed

    @property
    def size(self) -> int:
        """Tokens of all turns in their present forms."""
        turns = self.turns
        return turns.total + sum([form.units - turns.units[at] for at, form in self.edits.items()])

    def cost(self, turns: Iterable[int]) -> int:
        """Return the tokens of some turns in their present forms."""
        known, chosen = self.turns, set(turns)
        less = [form.units - known.units[at] for at, form in self.edits.items() if known.turn_of(at) in chosen]
        return sum([known.weights[turn] for turn in chosen]) + sum(less)

    @property
    def newest(self) -> int:
        """The last turn."""
        return len(self.turns.starts) - 1

    def kept_turns(self) -> list[int]:
        """Return the turns that stay, in order."""
        return [turn for start, stop in self.spans for turn in range(start, stop)]

    def left_out(self) -> int:
        """Return how many turns are dropped."""
        return len(self.turns.starts) - sum(stop - start for start, stop in self.spans)

    def sent_messages(self) -> SentMessages:
        """Return the messages to send."""
        return sent_messages(self.turns, self.kept, self.sent, self.note, len(self.turns))

    def settle(self) -> None:
        """Add up what is sent, without the note."""
        turns, before, count = self.turns, self.turns.before, len(self.turns.before)
        edges = [edge for span in self.kept for edge in span]
        self.sent = {at: form for at, form in self.edits.items() if bisect_right(edges, at) % 2}
        self.units = sum(self.extra.values()) + turns.fixed
        for start, stop in self.spans:
            self.units += (before[stop] if stop < count else turns.total) - before[start]
        self.units += sum([form.units - turns.units[at] for at, form in self.sent.items()])
        called = self.tools.called(turns, self.kept_turns() if self.tools.sizes else ())
        self.kept_tools = called | (self.choice.kept_tools if self.choice is not None else set())
        self.units += self.tools.cost(self.kept_tools)

    @property
    def used(self) -> int:
        """Tokens of everything that is sent."""
        return self.units + (note_units(self.turns, self.kept, self.note) if self.note else 0)

    @property
    def kept(self) -> list[Span]:
        """The turns that stay, as ranges of positions."""
        starts, end = self.turns.starts, len(self.turns)
        return [(starts[first], starts[last] if last < len(starts) else end) for first, last in self.spans]

    def essential(self) -> list[int]:
        """Return the turns that a prompt is about, in order.

        These are the task, the last instruction, pinned turns, the newest, and the one with the provider's compaction.
        """
        stay = self.pinned | self.task() | self.turns.at(self.turns.instruction, self.turns.compaction)
        return sorted(stay | {self.newest} if self.turns.starts else stay)

    def task(self) -> set[int]:
        """Return the turn of the task, and that of the user's first message where a history must begin with it."""
        turns = self.turns
        return turns.at(turns.task, turns.spoken[0] if turns.wire.pairs and turns.spoken else None)

    def _edit(self, forms: Mapping[int, Form]) -> None:
        """Send messages in these forms."""
        raws = self.turns.raws
        self.edits |= {at: form for at, form in forms.items() if form.raw is not raws[at]}

    # A new cut.

    def _cut(self, room: int, frozen: Collection[int] = (), newer: Collection[int] = ()) -> None:
        """Choose what stays within some room, or a little more if what must stay needs it.

        Args:
            room: tokens for the turns.
            frozen: the turns that stay as an earlier cut has them.
            newer: the turns since that cut, which cannot be dropped without changing the note in its prompt.

        Raises:
            DoesNotFit: not even the marks of what must stay fit.
        """
        if not self.turns.starts:
            if self.room < 0:
                raise self._refusal()
            return
        turns, options, reading = self.turns, self.options, self.reading
        caps = self.caps()
        reading.items.keep_up(min([room, *caps.values()]))
        first = turns.at(turns.spoken[0] if turns.wire.pairs and turns.spoken else None, turns.compaction)
        whole = {*self.pinned, *frozen}
        must = {self.newest, *first, *newer} - whole
        asked = [turn for turn in self.essential() if turn not in whole | must]
        order = [] if frozen else reading.ranking.order(options, [*whole, *must, *asked], room)
        by_worth = options.ways == ("recency",) and options.excerpts
        ranks = {turn: len(order) - at for at, turn in enumerate(order)}
        choice = Choice(
            turns=turns,
            items=reading.items,
            rendering=reading.rendering,
            names=reading.names,
            room=room,
            must=must,
            whole=whole,
            candidates=sorted([*asked, *order], reverse=True) if by_worth else [*asked, *order],
            ranks=None if by_worth else ranks,
            cuts=options.excerpts,
            fixed=dict(self.edits),
            caps=caps,
            tight=self.size + self.tools.cost(self.tools.sizes) > room,
            tools=self.tools,
            note=self._note_room(),
            banned=self.banned,
        )
        choice.run()
        if choice.left < 0 and room < self.room and not frozen:
            choice = replace(choice, room=self.room)
            choice.run()
        if choice.left < 0:
            raise self._refusal(choice)
        self.choice = choice
        self.edits = {at: form for at, form in self.edits.items() if turns.turn_of(at) in frozen}
        self._edit({**self.fixed, **choice.forms})
        self.spans = ranges(sorted(choice.kept))
        self.is_new = self.options.note and self.left_out() > 0 and choice.noted

    def _low(self, stable: Stable) -> float:
        """Return the share of the budget that a cut leaves: all of it, if the next turn would need a new cut anyway."""
        room = self.budget * (stable.high - stable.low)
        return stable.low if sum(self.turns.weights[-1:]) <= room else stable.high

    # Caps of the newest turn, and of older ones.

    def caps(self) -> dict[int, int]:
        """Return the turns that are over their cap and may be cut, each with its cap."""
        turns, recent, older, caps = self.turns, self.options.recent, self.options.older, dict[int, int]()
        if older is not None:
            spared, noted = {*self.essential(), *turns.notes}, turns.noted  # The note of an earlier fit does not count.
            others = (turn for turn in range(len(turns.starts)) if turn not in spared)
            caps = {turn: older for turn in others if turns.weights[turn] - noted.get(turn, 0) > older}
        if recent is not None and turns.starts and self.newest not in self.pinned:
            caps |= {self.newest: recent} if turns.weights[self.newest] > recent else {}
        return caps

    def _refusal(self, choice: Choice | None = None) -> DoesNotFit:
        """Return the error that lists what must stay and how much is missing."""
        turns, pinned, marks = self.turns, 0, 0
        if choice is not None:
            pinned, marks = choice.cost(choice.whole), choice.cost(choice.must)
        tools = self.extra.get("tools", 0) + (self.tools.cost(choice.kept_tools) if choice is not None else 0)
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

    # The note, and thinking.

    def _note_room(self) -> int:
        """Return the most tokens that the note with a summary can take."""
        if not self.options.note:
            return 0
        most, chat = 10 ** len(str(len(self.turns.starts))) - 1, self.turns.chat
        shares = dict.fromkeys(NAMES, most) if "priority" in self.options.ways else None
        text = written(most, most, self.budget, self.budget, self.turns.meter.unit, shares, shortened=most)
        summary = self.budget // _SUMMARY if self.options.summarise else 0
        return chat.frame("user") + chat.text(text) + _SPARE + summary

    def _summary(self) -> str:
        """Return a summary of the turns that are dropped; empty without the option `summarise`."""
        summarise, turns = self.options.summarise, self.turns
        if summarise is None:
            return ""
        dropped = sorted(set(range(len(turns.starts))).difference(self.kept_turns()))
        messages = [turns.messages[position] for turn in dropped for position in turns.members(turn)]
        limit = self.budget // _SUMMARY - turns.meter.load("\n\n") - 1
        summary = summarise("\n\n".join(spoken(message.role, message.text()) for message in messages), limit)
        if not isinstance(summary, str):
            raise InvalidType("what summarise returned", summary, "a string")
        if turns.meter.load(summary) > limit:
            summary = shortened(summary, limit, turns.meter)
        return f"\n\n{summary}" if summary else ""

    def _unbind(self) -> None:
        """Leave out the thinking after the first change, of messages older than the change: a provider may refuse it.

        Newer thinking was produced with the changed messages before it.
        """
        turns, kept = self.turns, set(self.kept_turns())
        for position in range(self._first_change(), self.seen):
            if turns.messages[position].any("thinking") and turns.turn_of(position) in kept:
                rendering = self.reading.rendering
                form = self.edits.get(position) or rendering.whole(position)
                self._edit({position: rendering.without_thinking(position, form)})

    def _uncite(self) -> None:
        """Leave out the citations after a document that is not sent: they would point to another one."""
        turns, rendering, kept = self.turns, self.reading.rendering, set(self.kept_turns())
        gone = [at for at in turns.documents if at in self.sent or not turns.at(at) <= kept]
        for position in range(gone[0], len(turns)) if gone else ():
            if turns.messages[position].role == "assistant" and turns.turn_of(position) in kept:
                form = self.edits.get(position) or rendering.whole(position)
                raw = None if form.raw is None else turns.wire.uncited(form.raw)
                if raw is not form.raw:
                    self._edit({position: rendering.counted(position, raw)})

    def _first_change(self) -> int:
        """Return the position of the first message that is changed or missing."""
        turns = self.turns
        changes = [position for position, form in self.sent.items() if form.raw is not turns.raws[position]]
        if self.left_out():
            gap = self.spans[0][1] if self.spans and self.spans[0][0] == 0 else 0
            changes.append(turns.starts[gap])
        if turns.repairs:
            repaired = min((each.index for each in turns.repairs if each.reason != BLANK), default=len(turns.source))
            changes += [at for at, index in enumerate(turns.indexes) if index >= repaired][:1]
        return min(changes, default=len(turns))

    # A kept cut.

    def last_prompt(self) -> SentMessages:
        """Return what the last fit sent; nothing if that is unknown, or if something else came before it."""
        held, turns = self.last, self.turns
        if held is None or held.extra != self._before_messages() or held.length > len(turns):
            return SentMessages([], [])
        if held.check != turns.fingerprint(held.length):
            return SentMessages([], [])
        return sent_messages(turns, held.kept, held.edits, held.note, held.length)

    def _held(self) -> HeldCut:
        """Return what this fit sends, for the next one."""
        turns, dangling = self.turns, self.fixed
        edges = [position for span in self.kept for position in span][:-1]
        bound = max([0, *edges, *(position + 1 for position in self.sent if position not in dangling)])
        return HeldCut(
            kept=tuple(self.kept),
            edits={position: self.sent[position] for position in sorted(self.sent)},
            unanswered=tuple(position for position in self.sent if position in dangling),
            note=self.note,
            seen=self.seen,
            length=len(turns),
            check=turns.fingerprint(len(turns)),
            bound=bound,
            start=turns.fingerprint(bound),
            budget=self.cut_for,
            meter=turns.meter.name,
            extra=self._before_messages(),
            settled=0,
        )

    def _known(self, held: HeldCut | None) -> HeldCut | None:
        """Return the cut of the last fit if the history still begins with the same messages."""
        turns = self.turns
        if held is None or held.bound > len(turns) or held.start != turns.fingerprint(held.bound):
            return None
        return held

    def _has_outgrown(self, held: HeldCut) -> bool:
        """Return whether the budget has grown so much that the cut of the last fit leaves out too much."""
        return held.budget * _OUTGROWN < self._own_budget and bool(self.left_out() or self.sent)

    @property
    def _own_budget(self) -> int:
        """The budget without what a meter's count adds to it or takes from it."""
        own = None if self.stable is None else self.stable.budget
        return self.budget if own is None else own

    def _shortens_pin(self, held: HeldCut) -> bool:
        """Return whether the cut of the last fit shortens a message that was pinned since."""
        return any(self.turns.turn_of(at) in self.pinned for at in held.edits if at not in self.edits)

    def _keep_cut(self, held: HeldCut) -> None:
        """Send what the last fit sent, and all newer messages."""
        turns = self.turns
        self.seen, self.note, self.cut_for = held.seen, held.note, held.budget
        counted = held.meter == turns.meter.name
        rendering = self.reading.rendering
        for position, kept in held.edits.items():
            if position not in self.edits and position not in held.unanswered:
                self._edit({position: kept if counted else rendering.counted(position, kept.raw)})
        edges = [turns.turn_of(position) for span in held.kept for position in span]
        if edges:
            spans = zip(edges[::2], [*edges[1:-1:2], len(turns.starts)], strict=True)
            self.spans = joined(sorted([*spans, *((turn, turn + 1) for turn in self.essential())]))

    def _extend_cut(self, room: int) -> bool:
        """Shorten only what is newer than the last cut, so that the older start of the prompt does not change.

        Returns:
            whether that leaves enough tokens for the newer turns.
        """
        if self.last is None or not (self.edits or self.left_out()):
            return False
        turns, bound = self.turns, self.turns.turn_of(self.last.bound - 1) + 1
        frozen = [turn for turn in self.kept_turns() if turn < bound]
        note = note_units(turns, self.kept, self.note)
        if room - self.cost({*frozen, self.newest}) - note < room * _FRESH or self.newest < bound:
            return False
        try:
            self._cut(room - note, frozen, range(bound, len(turns.starts)))
        except DoesNotFit:
            return False
        return not self.is_new

    def _before_messages(self) -> dict[str, int]:
        """Return the tokens of what comes before the messages: tools and a separate system prompt."""
        return {name: units for name, units in self.extra.items() if name != "reply"}
