"""The state of one fit of a history: turns that always stay, cuts inside them, the note, and the sum.

Messages are counted one by one, as providers do, so the sum of the kept ones is the count of the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from brim.errors import DoesNotFit, InvalidType
from brim.history.arrangement import Arrangement
from brim.history.excerpts import Excerpts
from brim.history.forms import Form, Forms
from brim.history.names import NameIndex
from brim.history.note import note as written
from brim.history.options import Options
from brim.history.priority import distribution
from brim.history.prompt import SentMessages, note_units, sent_messages
from brim.history.ranking import Ranking
from brim.history.repair import Repair
from brim.history.spans import Span, ranges
from brim.history.turns import Turns
from brim.truncate import shortened
from brim.wire.message import spoken

_OLDER = 0.9
"""The share of the room for turns that do not stay whole; what they do not need goes to whole turns."""
_DEEDS = 0.1
"""The share of the room for what the agent did in other turns, if what always stays has to be cut."""
_ENOUGH = 4
"""The task is cut too once the texts of the newest turn would have to be cut below so many floors."""
_SPOKEN = 4
"""The part of the room, one in so many, from which a message of the user is long, and that must be left for such."""
_LONGER = 2
"""How many times longer than the newest turn messages of the user are before they are cut first."""
_OTHERS = 8
"""The part of the room, one in so many, that long messages of the user leave to other turns."""
_SUMMARY = 10
"""The part of the budget, one in so many, for a summary of the turns that are left out."""


@dataclass(slots=True)
class HistoryFit:
    """One fit: `SelectionFit` selects turns each time, `StableFit` continues from the last cut."""

    turns: Turns
    forms: Forms
    excerpts: Excerpts
    names: NameIndex
    ranking: Ranking
    budget: int
    extra: Mapping[str, int]
    """Tokens besides the messages, by name: tools, a separate system prompt, the framing of the reply."""
    options: Options
    weights: list[int] = field(default_factory=list)
    """Tokens of each turn, without calls that have no result."""
    edits: dict[int, Form] = field(default_factory=dict)
    """Messages in another form, by position; also of turns that are then left out."""
    touched: set[int] = field(default_factory=set)
    """The turns that were changed before the selection."""
    spans: list[Span] = field(default_factory=list)
    """The turns that stay, as ranges in order."""
    sent: dict[int, Form] = field(default_factory=dict)
    """The edits of turns that stay."""
    units: int = 0
    """Tokens of everything that is sent, without the note."""
    note: str = ""
    steps: tuple[int, int] = (0, 0)
    """How many turns stay, of how many, without notes of earlier fits."""
    writes_note: bool = False
    distribution: Mapping[str, int] | None = None
    """How many of the turns that stay each class has, if turns are selected by class."""
    repairs: list[Repair] = field(default_factory=list)
    dangling: Collection[int] = ()
    """The positions of messages with calls that have no result yet."""
    pinned: set[int] = field(default_factory=set)
    """The turns that the caller pinned."""
    reasons: dict[int, str] = field(default_factory=dict)
    """Why a turn is not whole, if not because of its age."""
    holds: ClassVar[bool] = False
    """Whether the next fit begins with what this one sends."""
    seen: int = field(default=0, kw_only=True)
    """Messages that there were when the start of the prompt last changed."""

    def finish(self) -> None:
        """Add up what is sent, and write the note if there is one."""
        self.settle()
        total, notes = len(self.weights), self.turns.notes
        kept_notes = sum(start <= note < stop for note in notes for start, stop in self.spans)
        self.steps = total - self.left_out() - kept_notes, total - len(notes)
        if "priority" in self.options.ways:
            self.distribution = distribution(self.ranking.class_of(turn, self.options) for turn in self.kept_turns())
        if self.writes_note:
            unit = self.turns.meter.unit
            self.note = written(*self.steps, self.units, self.budget, unit, self.distribution) + self._summary()

    def prepare(self) -> None:
        """Keep everything as it came, without calls that have no result."""
        turns = self.turns
        self.pinned = turns.pinned(self.options.pin)
        self.weights = turns.weights
        self.repairs = list(turns.repairs)
        if turns.unfinished:
            self._without_dangling()
        self.spans = [(0, len(self.weights))] if self.weights else []

    @property
    def room(self) -> int:
        """Tokens for the turns."""
        return self.budget - sum(self.extra.values()) - self.turns.fixed

    @property
    def newest(self) -> int:
        """The last turn."""
        return len(self.weights) - 1

    def kept_turns(self) -> list[int]:
        """Return the turns that stay, in order."""
        return [turn for start, stop in self.spans for turn in range(start, stop)]

    def left_out(self) -> int:
        """Return how many turns are left out."""
        return len(self.weights) - sum(stop - start for start, stop in self.spans)

    def sent_messages(self) -> SentMessages:
        """Return the messages to send."""
        return sent_messages(self.turns, self.kept, self.sent, self.note, len(self.turns))

    def settle(self) -> None:
        """Add up what is sent, without the note."""
        turns, self.sent = self.turns, self.edits
        if self.edits and self.left_out():
            self.sent = {p: form for first, last in self.kept for p, form in self.edits.items() if first <= p < last}
        before, count = turns.before, len(turns.before)
        self.units = sum(self.extra.values()) + turns.fixed
        for start, stop in self.spans:
            self.units += (before[stop] if stop < count else turns.total) - before[start]
        if self.sent:
            whole = turns.units
            self.units += sum([form.units - whole[position] for position, form in self.sent.items()])

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
        """Return the turns that always stay, in order: the task, the last instruction, pinned ones, the newest."""
        stay = self.pinned | self.task()
        stay |= self.instruction()
        if self.weights:
            stay.add(self.newest)
        return sorted(stay)

    def arrange(
        self, essential: Sequence[int], left: int, newest: int = 0, deeds: int = 0, *, aside: Collection[int] = ()
    ) -> None:
        """Keep what always stays, and what takes at most `left` tokens of the other turns.

        Args:
            essential: the turns that always stay.
            left: tokens for the others.
            newest: how many of them are for turns that stay whole, at the least.
            deeds: how many are for what the agent did in older turns, before that.
            aside: turns that are decided otherwise.
        """
        older = max(min(deeds, left), min(int(left * _OLDER), left - newest)) if self.options.excerpts else 0
        decided = {*essential, *aside, *self.turns.notes}
        if self.turns.twins:
            self.weights = list(self.weights)
            for turn, (units, forms) in self.forms.twinned().items():
                if turn not in decided and turn not in self.touched:
                    self.weights[turn] -= units
                    self.edits.update(forms)
        made = Arrangement(
            turns=self.turns,
            excerpts=self.excerpts,
            names=self.names,
            weights=self.weights,
            aside=decided,
            fixed=dict(self.edits),
            left=left,
            older=older,
            held=self.holds,
            asked=[at for turn in sorted(self.instruction() | {self.newest}) for at in self.turns.members(turn)],
        )
        made.run()
        self.edits.update(made.forms)
        self.spans = ranges(sorted({*essential, *made.whole, *made.reduced}))

    def deeds(self, turns: range, aside: Collection[int]) -> int:
        """Return the tokens of what the agent did in some turns, without those that are decided otherwise."""
        if not turns:
            return 0
        self.excerpts.keep_up()
        read, reduction, least = self.turns, self.excerpts.reduction, self.excerpts.least
        outside = {*aside, *range(turns.start), *range(turns.stop, len(read.weights))}
        sums = self.excerpts.reductions.units(read.weights, outside) if len(outside) < len(turns) else None
        if sums is None:
            sums = sum([read.weights[turn] - reduction(turn)[0] for turn in turns if turn not in aside])
        units = sums
        first, last = read.starts[turns[0]], read.span(turns[-1])[1]
        for at, form in [(at, form) for at, form in self.edits.items() if first <= at < last]:
            if read.turn_of(at) not in aside:
                units += form.units - least(at).units
        return units

    def note_room(self) -> int:
        """Return the most tokens that the note with a summary can take."""
        if not self.options.note:
            return 0
        digits = len(str(len(self.weights)))
        room = self.forms.note_room(digits, self.budget, classes="priority" in self.options.ways)
        return room + (self.budget // _SUMMARY if self.options.summarise else 0)

    def plan_note(self) -> None:
        """Write a note at the end, if turns are left out and the options allow it."""
        self.writes_note = self.options.note and self.left_out() > 0

    def cut_spoken(self, essential: Sequence[int], need: int, room: int) -> int:
        """Cut long messages of the user, if what always stays needs more than the room, and they are most of it.

        A pasted log is cut before the newest result is, and leaves room for other turns, as far as they need it.

        Returns:
            the tokens that this frees.
        """
        spoken = self._long_spoken(essential, need, room)
        rest, others = need - sum(self.weights[turn] for turn in spoken), room // _OTHERS
        if sum(self.weights[turn] for turn in self.pinned | self.task() | set(essential[-1:])) <= room:
            return 0  # These stay whole, and the last instruction is cut.
        if need <= room or not spoken or rest + room // _SPOKEN + others > room:
            return 0
        try:
            left = room - rest - (sum(self.weights) - need) - self.note_room()
            forms = self.shortened(spoken, max(left, min(room // 2, room - rest - others)), self.forms.floor)
        except DoesNotFit:
            return 0
        before = {position: (self.edits.get(position) or self.forms.whole(position)).units for position in forms}
        self.keep(forms)
        self.weights = list(self.weights)
        for position, form in forms.items():
            turn = self.turns.turn_of(position)
            self.weights[turn] += form.units - before[position]
            self.touched.add(turn)
            self.reasons[turn] = "it has to stay, and there was not room for all of it"
        return need - rest - sum(self.weights[turn] for turn in spoken)

    def _long_spoken(self, essential: Sequence[int], need: int, room: int) -> list[int]:
        """Return the turns of long messages of the user, if they are most of what always stays.

        With less room there are never fewer of them, so a message that is cut stays cut.
        """
        spared = {*self.pinned, self.newest, *(self.task() if self.options.pin_first_user else ())}
        spoken = [turn for turn in essential if turn not in spared and self.weights[turn] > room // _SPOKEN]
        long = sum(self.weights[turn] for turn in spoken)
        return spoken if long > _LONGER * (need - long) else []

    def cut_inside(self, essential: Sequence[int]) -> None:
        """Cut the longest texts of the turns that always stay; of all others only what the agent did may stay.

        Raises:
            DoesNotFit: even so they do not fit.
        """
        capped = set(self.turns.members(self.newest)) if self.weights else set()
        self.edits = {p: form for p, form in self.edits.items() if p in self.dangling or p in capped}
        task = self.task()
        pinned = self.pinned | task if self.options.pin_first_user else self.pinned
        forms, kept, left = self._squeezed(essential, pinned, task)
        self.keep(forms)
        for turn in set(essential) - pinned:
            self.reasons[turn] = "it has to stay, and there was not room for " + ("all of it" if turn in kept else "it")
        self.arrange(sorted(kept), left, aside=essential)

    def _squeezed(
        self, essential: Sequence[int], pinned: set[int], task: set[int]
    ) -> tuple[dict[int, Form], set[int], int]:
        """Return the messages of what always stays, cut no more than they must be, its turns, and what is left.

        If the task and the newest turn fit, they stay whole, and the last instruction is cut, or dropped. Otherwise the
        newest turn is cut first, then the task too; a long task is cut together with it. Then the task is dropped, if a
        history may begin without the user, so that something of the newest turn remains, if only a mark.

        Raises:
            DoesNotFit: even so they do not fit.
        """
        every, floor = set(essential), self.forms.floor
        older = every - self.instruction() | pinned | task | set(essential[-1:])
        bare = older if self.turns.wire.pairs else pinned | set(essential[-1:])
        first = pinned | task | set(essential[-1:])
        deeds = self.options.excerpts and self.options.older is None
        done = self.deeds(range(len(self.weights)), {*essential, *self.turns.notes}) if deeds else 0
        done = min(done, int(self.room * _DEEDS))
        long = self._long_spoken(essential, sum(self.weights[turn] for turn in essential), self.room)
        newest_cut = pinned | (task - {self.newest, *long}), _ENOUGH * floor
        ways: tuple[tuple[set[int], set[int], int, int], ...] = (
            (every, *newest_cut, done),
            (every, *newest_cut, 0),
            (older, *newest_cut, 0),
            (older, pinned, floor, 0),
            (bare, pinned, self.forms.mark, 0),
        )
        if sum(self.weights[turn] for turn in first) <= self.room:
            ways = (every, first, floor, done), (every, first, floor, 0), (first, first, floor, 0)
        for kept, whole, least, left in ways:
            taken = sum(self.weights[turn] for turn in whole) + left
            try:
                return self.shortened(sorted(kept - whole), self.room - taken, least), kept, left
            except DoesNotFit as error:
                needed = error.needed
        raise self.refusal(sum(self.weights[turn] for turn in pinned), needed)

    def task(self) -> set[int]:
        """Return the turn of the task, if there is one."""
        return set() if self.turns.task is None else {self.turns.turn_of(self.turns.task)}

    def instruction(self) -> set[int]:
        """Return the turn of what the user said last, if there is one."""
        return set() if self.turns.instruction is None else {self.turns.turn_of(self.turns.instruction)}

    def shortened(self, turns: Iterable[int], room: int, floor: int) -> dict[int, Form]:
        """Return the messages of some turns with their longest texts cut; if that is not enough, without thinking.

        Raises:
            DoesNotFit: a text would have to be cut to less than the floor.
        """
        members = [position for turn in turns for position in self.turns.members(turn)]
        forms = {p: self.edits.get(p) or self.forms.whole(p) for p in members}
        try:
            return self.forms.shortened(forms, room, floor)
        except DoesNotFit:
            if not self.turns.thinks:
                raise
        bare = {p: self.forms.without_thinking(p, form) for p, form in forms.items()}
        return self.forms.shortened(bare, room, floor)

    def keep(self, forms: Mapping[int, Form]) -> int:
        """Send messages in these forms, and return their tokens."""
        raws = self.turns.raws
        self.edits.update({p: form for p, form in forms.items() if form.raw is not raws[p]})
        return sum([form.units for form in forms.values()])

    def _without_dangling(self) -> None:
        """Leave out calls that have no result."""
        unfinished = self.forms.dangling()
        if not unfinished.forms:
            return
        for repair in unfinished.repairs if self.turns.repair == "error" else ():
            self.turns.refuse(repair)
        self.repairs += unfinished.repairs
        self.edits.update(unfinished.forms)
        self.dangling = unfinished.forms.keys()
        self.touched.update(unfinished.lost)
        self.weights = list(self.turns.weights)
        for turn, units in unfinished.lost.items():
            self.weights[turn] -= units

    def refusal(self, whole: int, least: int) -> DoesNotFit:
        """Return the error that lists what always stays and how much is missing."""
        named = {**self.extra, "system messages": self.turns.fixed, "pinned": whole, "newest turn and task, cut": least}
        parts = {name: units for name, units in named.items() if units}
        needed, unit = sum(parts.values()), self.turns.meter.unit
        listed = " + ".join(f"{name} {units:,}" for name, units in parts.items())
        return DoesNotFit(
            f"what has to stay takes {needed:,} {unit} ({listed}) and the budget is {self.budget:,}: "
            f"raise it by {needed - self.budget:,}, or shorten what has to stay",
            needed=needed,
            available=self.budget,
            parts=parts,
        )

    def _summary(self) -> str:
        """Return a summary of the turns that are left out; empty without the option `summarise`."""
        summarise, turns = self.options.summarise, self.turns
        if summarise is None:
            return ""
        dropped = sorted(set(range(len(self.weights))).difference(self.kept_turns()))
        messages = [turns.messages[position] for turn in dropped for position in turns.members(turn)]
        limit = self.budget // _SUMMARY - turns.meter.load("\n\n") - 1
        summary = summarise("\n\n".join(spoken(message.role, message.text()) for message in messages), limit)
        if not isinstance(summary, str):
            raise InvalidType("what summarise returned", summary, "a text")
        if turns.meter.load(summary) > limit:
            summary = shortened(summary, limit, turns.meter)
        return f"\n\n{summary}" if summary else ""
