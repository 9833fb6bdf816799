"""One fit of a history: what always stays, the ladder for the rest, a cut that is held, the note, and the sum.

Messages are counted one by one, as providers do, so the sum of the kept ones is the count of the whole. A cut that is
held is the same fit with the rows of the last one frozen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from brim.errors import DoesNotFit, InvalidType
from brim.history.forms import Form, Forms
from brim.history.ladder import Ladder
from brim.history.names import NameIndex, names_in
from brim.history.note import note as written
from brim.history.options import Options, check_stable
from brim.history.priority import distribution
from brim.history.prompt import SentMessages, note_units, sent_messages
from brim.history.ranking import Ranking
from brim.history.rules import binds
from brim.history.stable import HeldCut, Stable
from brim.history.turns import Repair, Span, Turns, joined, ranges
from brim.truncate import shortened
from brim.wire.message import spoken

_NEWEST = 0.4
"""The most of the room beside the task for the newest turn, if older turns could use the rest."""
_LONG = 200
"""Tokens up to which the newest turn stays whole in any case."""
_WORTH = 0.9
"""A newest turn is cut to its share only if that saves a tenth of it: less is not worth a mark."""
_OLDER = 0.1
"""The share of the room for older turns if what always stays has to be cut."""
_ENOUGH = 4
"""The task is cut too once the texts of the newest turn would have to be cut below so many floors."""
_REST = 0.85
"""The least share of the low line that other turns get of what always stays leaves, however much that is."""
_FRESH = 0.1
"""The least share of what a cut leaves for the turns since the last one; otherwise all of the history is cut anew."""
_OUTGROWN = 1.25
"""The factor by which the budget has to grow before a cut is made anew."""
_SUMMARY = 10
"""The part of the budget, one in so many, for a summary of the turns that are left out."""

_NO_ROOM = "it has to stay, and there was not room for"


@dataclass(slots=True)
class HistoryFit:
    """One fit of a history."""

    turns: Turns
    forms: Forms
    names: NameIndex
    ranking: Ranking
    budget: int
    extra: Mapping[str, int]
    """Tokens besides the messages, by name: tools, a separate system prompt, the framing of the reply."""
    options: Options
    stable: Stable | None = None
    """The lines and the cut of the last fit, if cuts are held; after `finish`, the cut of this one."""
    shares: bool = True
    """Whether a long newest turn leaves room to older ones; not if others bid for that room."""
    weights: list[int] = field(default_factory=list)
    """Tokens of each turn, without calls that have no result."""
    edits: dict[int, Form] = field(default_factory=dict)
    """Messages in another form, by position; also of turns that are then left out."""
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
    media: Collection[int] = ()
    """The positions of messages whose media are left out, since a request may not have so many."""
    pinned: set[int] = field(default_factory=set)
    """The turns that the caller pinned."""
    reasons: dict[int, str] = field(default_factory=dict)
    """Why a turn is not whole, if not because of its age."""
    seen: int = 0
    """Messages that there were when the start of the prompt last changed."""
    last: HeldCut | None = None
    """The cut of the last fit, if it was of this history."""
    cut_for: int = 0
    """The budget that the cut was made for."""

    def run(self) -> None:
        """Decide what is sent; pinned texts are no reason to refuse.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
        """
        try:
            self._decide()
        except DoesNotFit:
            bare = self.options.without_texts
            if bare == self.options:
                raise
            self.options, self.edits, self.note, self.reasons = bare, {}, "", {}
            self._decide()

    def _decide(self) -> None:
        self.prepare()
        room = self.room
        if self.stable is None:
            self.seen = len(self.turns)
            total = self.turns.total if self.weights is self.turns.weights else sum(self.weights)
            if total > room or self._too_recent() or self._too_old():
                self._cut(room)
            return
        check_stable(self.options)
        self.last = self._known(self.stable.held)
        if self.last is not None:
            self._keep_cut(self.last)
        self.settle()
        if self.last is not None and self._has_outgrown(self.last):
            self._begin_anew()
        line = int(self.budget * self.stable.high)
        if self.used > line:
            self.seen, self.cut_for = len(self.turns), self.budget
            room -= self.budget - line
            low = self._low(self.stable)
            if not self._extend_cut(room, low):
                self._begin_anew()
                self._cut(room, low)
            self.settle()

    def finish(self) -> None:
        """Add up what is sent, write the note if there is one, and hold the cut for the next fit."""
        self.settle()
        if self.turns.thinks and binds(self.turns.model):
            self._unbind()
            self.settle()
        total, notes = len(self.weights), self.turns.notes
        kept_notes = sum(start <= note < stop for note in notes for start, stop in self.spans)
        self.steps = total - self.left_out() - kept_notes, total - len(notes)
        if "priority" in self.options.ways:
            self.distribution = distribution(self.ranking.class_of(turn, self.options) for turn in self.kept_turns())
        if self.writes_note:
            sums = (*self.steps, self.units, self.budget, self.turns.meter.unit, self.distribution)
            summary, less = self._summary(), {self.turns.turn_of(at) for at in self.sent}
            self.note = written(*sums, shortened=len(less)) + summary
            if self.used > self.budget:  # Room is kept for the note without that: marks say it too.
                self.note = written(*sums) + summary
        if self.stable is not None:
            self.stable = replace(self.stable, held=self._held())

    def prepare(self) -> None:
        """Keep everything as it came, without calls that have no result."""
        turns = self.turns
        self.pinned = turns.pinned(self.options.pin, self.room)
        self.weights = turns.weights
        self.repairs = list(turns.repairs)
        if turns.unfinished:
            self._without_dangling()
        self._limit_media()
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
            edges = [edge for span in self.kept for edge in span]
            self.sent = {p: form for p, form in self.edits.items() if bisect_right(edges, p) % 2}
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
        """Return the turns that always stay, in order: the task, the last instruction, pinned ones, the newest.

        So does the turn in which the provider's compaction is.
        """
        stay = self.pinned | self.task() | self.instruction() | self.compaction()
        if self.weights:
            stay.add(self.newest)
        return sorted(stay)

    def task(self) -> set[int]:
        """Return the turn of the task, if there is one, and that of the user's first message where it must be first."""
        turns = self.turns
        return turns.at(turns.task, turns.spoken[0] if turns.wire.pairs and turns.spoken else None)

    def instruction(self) -> set[int]:
        """Return the turn of what the user said last, if there is one."""
        return self.turns.at(self.turns.instruction)

    def compaction(self) -> set[int]:
        """Return the turn of the provider's newest compaction, if that is not a message of its own."""
        return self.turns.at(self.turns.compaction)

    def _cut(self, room: int, share: float = 1.0) -> None:
        """Select what stays of a history that is too big; older turns get a share of what always stays leaves.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
        """
        if not self.weights:
            if self.room < 0:
                raise self.refusal(0, 0)
            return
        essential = self.essential()
        if self.options.recent is not None and self._too_recent():
            self._cap(self.newest, self.options.recent)
        self._cap_newest(essential, room)
        need = self._cost(essential)
        if need > room:
            if need > self.room or self.stable is None:
                self._cut_essential(essential)
            else:
                self.spans = ranges(essential)
            return
        if sum(self.weights) <= room and not self._too_old():
            return
        left = self._left(room, need, share) - self._note_room()
        self._serve(essential, max(0, left))
        if left >= 0:
            self.writes_note = self.options.note and self.left_out() > 0

    def _low(self, stable: Stable) -> float:
        """Return the share of the budget that a cut leaves: all of it, if the next turn would need a new cut anyway."""
        room = self.budget * (stable.high - stable.low)
        return stable.low if sum(self.weights[-1:]) <= room else stable.high

    def _left(self, room: int, need: int, share: float) -> int:
        """Return the tokens that a cut leaves for other turns than those that always stay."""
        line = int(self.budget * share) - (self.budget - room)
        return max(line - need, int((room - need) * share * _REST))

    def _serve(self, essential: Sequence[int], left: int) -> None:
        """Keep what always stays, and what takes at most `left` tokens of the others."""
        uncut = set() if self.options.older is None else self._cap_older(essential, self.options.older)
        if self.options.ways == ("recency",):
            self._climb(essential, left, uncut)
            return
        chosen = list(essential)
        self.forms.keep_up()
        for turn in self.ranking.order(self.options, essential, left):
            units = None if turn in uncut else self._offer(turn, left)
            if units is not None:
                chosen.append(turn)
                left -= units
        self.spans = ranges(sorted(chosen))

    def _climb(self, essential: Collection[int], left: int, decided: Collection[int] = ()) -> None:
        """Keep what always stays, and of the turns that are not decided what the ladder finds room for."""
        self.forms.keep_up()
        ladder = Ladder(
            turns=self.turns,
            forms=self.forms,
            names=self.names,
            decided={*essential, *decided, *self.turns.notes},
            fixed=dict(self.edits),
            left=left,
            cuts=self.options.excerpts,
            shown=self._names_of(essential),
        )
        ladder.run()
        self._keep(ladder.edits)
        self.reasons = ladder.reasons | self.reasons
        self.spans = ranges(sorted({*essential, *ladder.whole, *ladder.spare}))

    def _names_of(self, turns: Iterable[int]) -> set[str]:
        """Return the names that some turns mention."""
        messages = self.turns.messages
        members = [at for turn in turns for at in self.turns.members(turn)]
        return {name for at in members for piece in messages[at].pieces for name, _ in names_in(piece.text)}

    def _offer(self, turn: int, left: int) -> int | None:
        """Return the tokens of a turn in the longest form that fits: whole, or its words and calls; `None` if none."""
        if self.weights[turn] <= left:
            return self.weights[turn]
        forms = {at: self.edits.get(at) or self.forms.spare(at) for at in self.turns.members(turn)}
        units = sum([form.units for form in forms.values()])
        if units > left or not self.options.excerpts:
            return None
        self._keep(forms)
        return units

    def _cost(self, turns: Iterable[int]) -> int:
        return sum([self.weights[turn] for turn in turns])

    # Caps: of the newest turn, and of older ones.

    def apply_caps(self) -> None:
        """Cut the turns that are over their caps, however much room there is."""
        if self.options.recent is not None and self._too_recent():
            self._cap(self.newest, self.options.recent)
        if self.options.older is not None:
            self._cap_older(self.essential(), self.options.older)

    def _too_old(self) -> bool:
        """Return whether an older turn is over its cap and may be cut."""
        older = self.options.older
        if older is None:
            return False
        spared = {*self.essential(), *self.turns.notes}
        return any(self._over(turn, older) for turn in range(len(self.weights)) if turn not in spared)

    def _too_recent(self) -> bool:
        """Return whether the newest turn is over its cap and may be cut."""
        recent = self.options.recent
        if recent is None or not self.weights or self.weights[-1] <= recent:
            return False
        return self.newest not in self._uncut()

    def _uncut(self) -> set[int]:
        """Return the turns that may not be cut."""
        return self.pinned | self.task() if self.options.pin_first_user else self.pinned

    def _over(self, turn: int, cap: int) -> bool:
        """Return whether a turn is over its cap; the note of an earlier fit does not count."""
        return self.weights[turn] - self.turns.noted.get(turn, 0) > cap

    def _cap_newest(self, essential: Sequence[int], room: int) -> None:
        """Cut the results of a newest turn that would push out what else there is."""
        newest = self.newest
        if not (self.shares and self.options.excerpts) or self.options.recent is not None or newest in self._uncut():
            return
        if not self._newest_answers():
            return  # What a person wrote stays whole.
        free = room - self._cost(turn for turn in essential if turn != newest)
        others = sum(self.weights) - self._cost(essential)
        cap = max(int(free * _NEWEST), free - others, self.turns.tokens(_LONG))
        if cap < min(free, self.weights[newest]) * _WORTH:
            self._cap(newest, cap)

    def _newest_answers(self) -> bool:
        """Return whether the newest turn has results, which can be cut."""
        return any(self.turns.messages[at].results for at in self.turns.members(self.newest))

    def _cap_older(self, essential: Sequence[int], older: int) -> set[int]:
        """Cut the turns that are over their cap, and return those that cannot be cut so far."""
        spared = {*essential, *self.turns.notes}
        over = [turn for turn in range(len(self.weights)) if turn not in spared and self._over(turn, older)]
        return {turn for turn in over if not self._cap(turn, older)}

    def _cap(self, turn: int, cap: int) -> bool:
        """Cut a turn to its cap, and return whether it can be cut so far."""
        before = self.weights[turn]
        self.reasons[turn] = f"its cap is {cap:,} {self.turns.meter.unit} and it has {before:,}"
        try:
            forms = self._shortened([turn], cap, self.forms.floor)
        except DoesNotFit:
            return False
        self._keep(forms)
        self._weigh(turn, sum([form.units for form in forms.values()]))
        return True

    def _weigh(self, turn: int, units: int) -> None:
        """Note the tokens of a turn that was cut."""
        if self.weights is self.turns.weights:
            self.weights = list(self.weights)
        self.weights[turn] = units

    # What always stays, cut.

    def _cut_essential(self, essential: Sequence[int]) -> None:
        """Cut the longest texts of the turns that always stay; a little room is left for older turns.

        Raises:
            DoesNotFit: even so they do not fit.
        """
        capped = set(self.turns.members(self.newest)) if self.weights else set()
        self.edits = {p: form for p, form in self.edits.items() if p in self.dangling or p in self.media or p in capped}
        pinned = self._uncut()
        forms, kept, left = self._squeezed(essential, pinned)
        self._keep(forms)
        for turn in set(essential) - pinned:
            self.reasons[turn] = f"{_NO_ROOM} {'all of it' if turn in kept else 'it'}"
        self._climb(sorted(kept), left, essential)

    def _squeezed(self, essential: Sequence[int], pinned: set[int]) -> tuple[dict[int, Form], set[int], int]:
        """Return the messages of what always stays, cut no more than they must be, its turns, and what is left.

        If the task and the newest turn fit, results of the newest turn are cut so that the last instruction stays
        whole; if that leaves too little of them, they stay whole, and the instruction is cut, or dropped. Otherwise
        the newest turn is cut first, then the task too. Then the task is dropped, if a history may begin without the
        user, so that something of the newest turn remains, if only a mark.

        Raises:
            DoesNotFit: even so they do not fit.
        """
        every, floor, task = set(essential), self.forms.floor, self.task() | self.compaction()
        first = pinned | task | set(essential[-1:])
        older = every - self.instruction() | first
        bare = older if self.turns.wire.pairs else pinned | set(essential[-1:])
        cuts = self.options.excerpts and self.options.older is None
        spare = int(self.room * _OLDER) if cuts and len(self.weights) > len(essential) else 0
        newest_cut = pinned | (task - {self.newest}), _ENOUGH * floor
        ways: tuple[tuple[set[int], set[int], int, int], ...] = (
            (every, *newest_cut, spare),
            (every, *newest_cut, 0),
            (older, *newest_cut, 0),
            (older, pinned, _ENOUGH * floor, spare),
            (older, pinned, floor, 0),
            (bare, pinned, self.forms.mark, 0),
        )
        if self._cost(first) <= self.room:
            ways = (every, first, floor, spare), (every, first, floor, 0), (first, first, floor, 0)
            if self._newest_answers() and self.newest not in pinned:
                ways = (every, every - {self.newest}, _ENOUGH * floor, 0), *ways
        needed = 0
        for kept, whole, least, left in ways:
            taken = self._cost(whole) + left
            try:
                return self._shortened(sorted(kept - whole), self.room - taken, least), kept, left
            except DoesNotFit as error:
                needed = error.needed
        raise self.refusal(self._cost(pinned), needed)

    def _shortened(self, turns: Iterable[int], room: int, floor: int) -> dict[int, Form]:
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

    def _keep(self, forms: Mapping[int, Form]) -> None:
        """Send messages in these forms."""
        raws = self.turns.raws
        self.edits.update({p: form for p, form in forms.items() if form.raw is not raws[p]})

    def refusal(self, whole: int, least: int) -> DoesNotFit:
        """Return the error that lists what always stays and how much is missing."""
        named = {**self.extra, "system messages": self.turns.fixed, "pinned": whole, "newest turn and task, cut": least}
        parts = {name: units for name, units in named.items() if units}
        needed, unit = sum(parts.values()), self.turns.meter.unit
        listed = " + ".join(f"{name} {units:,}" for name, units in parts.items())
        return DoesNotFit(
            f"the parts that must stay take {needed:,} {unit} ({listed}), and the budget is {self.budget:,}: "
            f"raise it by {needed - self.budget:,}, or shorten them",
            needed=needed,
            available=self.budget,
            parts=parts,
        )

    # The note, and calls without a result.

    def _note_room(self) -> int:
        """Return the most tokens that the note with a summary can take."""
        if not self.options.note:
            return 0
        digits = len(str(len(self.weights)))
        room = self.forms.note_room(digits, self.budget, classes="priority" in self.options.ways)
        return room + (self.budget // _SUMMARY if self.options.summarise else 0)

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
            raise InvalidType("what summarise returned", summary, "a string")
        if turns.meter.load(summary) > limit:
            summary = shortened(summary, limit, turns.meter)
        return f"\n\n{summary}" if summary else ""

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
        for turn, units in unfinished.lost.items():
            self._weigh(turn, self.weights[turn] - units)

    def _limit_media(self) -> None:
        """Leave out the oldest media, if they are more than a request may have."""
        turns, surplus = self.turns, self.forms.media.surplus()
        if not surplus:
            return
        images = self.forms.media.limits.images
        places = [at for at in surplus if at not in self.edits and turns.at(at)]
        forms = {at: form for at in places if (form := self.forms.without_media(at)).raw is not turns.raws[at]}
        for at, form in forms.items():
            turn = turns.turn_of(at)
            self.edits[at] = form
            self._weigh(turn, self.weights[turn] + form.units - turns.units[at])
            self.reasons[turn] = f"its media are left out: a request may have {images:,} images, and so many bytes"
        self.media = forms.keys()

    def _unbind(self) -> None:
        """Leave out the thinking after the first change, of messages older than the change: a provider may refuse it.

        Newer thinking was produced with the changed messages before it.
        """
        turns, kept = self.turns, set(self.kept_turns())
        for position in range(self._first_change(), self.seen):
            if turns.messages[position].any("thinking") and turns.turn_of(position) in kept:
                form = self.edits.get(position) or self.forms.whole(position)
                bare = self.forms.without_thinking(position, form)
                if bare is not form:
                    self.edits[position] = bare

    def _first_change(self) -> int:
        """Return the position of the first message that is not sent as it came."""
        turns = self.turns
        changes = [position for position, form in self.sent.items() if form.raw is not turns.raws[position]]
        if self.left_out():
            gap = self.spans[0][1] if self.spans and self.spans[0][0] == 0 else 0
            changes.append(turns.starts[gap])
        if turns.repairs:
            altered = {repair.index for repair in turns.repairs if repair.action == "changed"}
            places = enumerate(turns.indexes)
            changes += [at for at, index in places if index != at + turns.skipped(at) or index in altered][:1]
        return min(changes, default=len(turns))

    # A cut that is held.

    def last_prompt(self) -> SentMessages:
        """Return what the last fit sent; nothing if that is unknown, or if something else stood before it."""
        held, turns = self.last, self.turns
        if held is None or held.extra != self._before_messages() or held.length > len(turns):
            return SentMessages([], [])
        if held.check != turns.fingerprint(held.length):
            return SentMessages([], [])
        return sent_messages(turns, held.kept, held.edits, held.note, held.length)

    def _held(self) -> HeldCut:
        """Return what this fit sends, for the next one."""
        turns, dangling = self.turns, self.dangling
        edges = [position for span in self.kept for position in span][:-1]
        edited = [position for position in self.sent if position not in dangling] if dangling else self.sent
        bound = max(*edges, 0, max(edited, default=-1) + 1)
        return HeldCut(
            kept=tuple(self.kept),
            edits={position: self.sent[position] for position in sorted(self.sent)},
            unanswered=tuple(position for position in self.sent if position in dangling) if dangling else (),
            note=self.note,
            seen=self.seen,
            length=len(turns),
            check=turns.fingerprint(len(turns)),
            bound=bound,
            start=turns.fingerprint(bound),
            budget=self.cut_for,
            meter=turns.meter.name,
            extra=self._before_messages(),
        )

    def _known(self, held: HeldCut | None) -> HeldCut | None:
        """Return the cut of the last fit, if the history begins as it did then, and it still runs between turns."""
        turns = self.turns
        if held is None or held.bound > len(turns) or held.start != turns.fingerprint(held.bound):
            return None
        edges = [position for span in held.kept for position in span][:-1]
        return held if all(turns.starts[turns.turn_of(position)] == position for position in edges) else None

    def _has_outgrown(self, held: HeldCut) -> bool:
        """Return whether the budget has become so much larger that the cut of the last fit leaves out too much."""
        return held.budget * _OUTGROWN < self.budget and bool(self.left_out() or self.sent)

    def _begin_anew(self) -> None:
        """Start from the whole history, so that what was shortened or left out can return."""
        self.edits, self.note, self.reasons = {}, "", {}
        self.prepare()
        self.settle()

    def _keep_cut(self, held: HeldCut) -> None:
        """Send what the last fit sent, and what has come since."""
        turns = self.turns
        self.seen, self.note, self.cut_for = held.seen, held.note, held.budget
        if held.edits:
            self.weights = list(self.weights)
        counted = held.meter == turns.meter.name
        for position, kept in held.edits.items():
            if position not in self.edits and position not in held.unanswered:
                form = kept if counted else self.forms.recounted(position, kept)
                self.edits[position] = form
                self.weights[turns.turn_of(position)] += form.units - turns.units[position]
        edges = [turns.turn_of(position) for span in held.kept for position in span]
        if edges[1:] and (edges[0] > 0 or len(edges) > 2):
            self.spans = self._with_essential(zip(edges[::2], [*edges[1:-1:2], len(self.weights)], strict=True))

    def _with_essential(self, spans: Iterable[Span]) -> list[Span]:
        """Return ranges of turns together with the turns that always stay."""
        return joined(sorted([*spans, *((turn, turn + 1) for turn in self.essential())]))

    def _extend_cut(self, room: int, share: float) -> bool:
        """Shorten only what has come since the last cut, so that the cache still has what stands before.

        Returns:
            whether that leaves enough room for what has come.
        """
        if self.last is None or not (self.edits or self.left_out()):
            return False
        bound, essential = self.turns.turn_of(self.last.bound - 1) + 1, self.essential()
        frozen = [turn for turn in self.kept_turns() if turn < bound]
        need, stays = self._cost(essential), self._cost({*frozen, *essential})
        all_, note = self._left(room, need, share), note_units(self.turns, self.kept, self.note)
        left = all_ - (stays - need) - note
        if stays + note > room or left < all_ * _FRESH:
            return False
        self._climb(essential, left, range(bound))
        kept = {*frozen, *self.kept_turns()}
        if any(not self.forms.repeated(turn) for turn in range(bound, len(self.weights)) if turn not in kept):
            return False
        self.spans = self._with_essential(ranges(sorted(kept)))
        return True

    def _before_messages(self) -> dict[str, int]:
        """Return the tokens of what stands before the messages: tools and a separate system prompt."""
        return {name: units for name, units in self.extra.items() if name != "reply"}
