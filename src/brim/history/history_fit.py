"""One fit of a history: what always stays, a form for each other turn, a kept cut, the note, and the sum.

Providers count messages one by one, so the sum of the messages that are sent is the count of the whole. A kept cut is
the same fit in which the messages of the last cut are frozen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from brim.errors import DoesNotFit, InvalidType
from brim.history.forms import Form, Forms
from brim.history.ladder import Ladder
from brim.history.names import NameIndex, names_in
from brim.history.note import note as written
from brim.history.options import Options, check_stable
from brim.history.priority import NAMES, distribution
from brim.history.prompt import SentMessages, note_units, sent_messages
from brim.history.ranking import Ranking
from brim.history.rules import binds
from brim.history.stable import HeldCut, Stable
from brim.history.turns import Repair, Span, Turns, joined, ranges
from brim.truncate import shortened
from brim.wire.message import spoken

_NEWEST = 0.4
"""Share of the tokens left by other essential turns for results of the newest turn, if older turns need the rest."""
_OLDER = 0.1
"""Share of the tokens for turns that may be dropped, if the turns that always stay must be cut."""
_LONG = 200
"""Tokens up to which the newest turn stays whole in any case."""
_REST = 0.85
"""Least share of the low line for turns that may be dropped, however much the essential turns take."""
_FRESH = 0.1
"""Least share of these tokens that a cut must find free for newer turns; with less, the whole history is cut anew."""
_OUTGROWN = 1.25
"""Factor by which the budget must grow before a cut is made anew."""
_SPARE = 4
"""Tokens that a note may take more where it is joined to a message."""
_SUMMARY = 10
"""A summary of dropped turns takes at most one tenth of the budget."""


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
    """The lines and the cut of the last fit, if cuts are kept; after `finish`, the cut of this one."""
    shares: bool = True
    """Whether a long newest turn leaves tokens to older turns; not if other parts of a request want them."""
    edits: dict[int, Form] = field(default_factory=dict)
    """Messages in another form, by position; also of turns that are then dropped."""
    saved: Counter[int] = field(default_factory=Counter)
    """Tokens that these forms save, by turn."""
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
    dangling: Collection[int] = ()
    """The positions of messages with calls that have no result yet."""
    pinned: set[int] = field(default_factory=set)
    """The turns that the caller pinned."""
    reasons: dict[int, str] = field(default_factory=dict)
    """Why a turn is not whole, if not because of its age."""
    seen: int = 0
    """How many messages the history had when the start of the prompt last changed."""
    last: HeldCut | None = None
    """The cut of the last fit, if it was of this history."""
    cut_for: int = 0
    """The budget for which the cut was made."""

    def run(self) -> None:
        """Decide what is sent; pinned texts are dropped if the budget is too small for them.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
        """
        try:
            self._decide()
        except DoesNotFit:
            bare = self.options.without_texts
            if bare == self.options:
                raise
            self.options = bare
            self._decide()

    def _decide(self) -> None:
        self.begin()
        room = self.room
        if self.stable is None:
            self.seen = len(self.turns)
            if self.size > room or self._caps():
                self._cut(room)
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
        if self.used > line:
            self.seen, self.cut_for = len(self.turns), self.budget
            room -= self.budget - line
            low = self._low(self.stable)
            if not self._extend_cut(room, low):
                self.begin()
                self._cut(room, low)
            self.settle()

    def begin(self) -> None:
        """Start from the whole history, without calls that have no result and without surplus media."""
        turns = self.turns
        self.edits, self.saved, self.note, self.reasons = {}, Counter(), "", {}
        self.pinned = turns.pinned(self.options.pin, self.room)
        self.repairs = list(turns.repairs)
        if turns.unfinished:
            self._drop_dangling()
        self._limit_media()
        self.spans = [(0, len(turns.starts))] if turns.starts else []

    def finish(self) -> None:
        """Add up what is sent, write the note if needed, and keep the cut for the next fit."""
        self.settle()
        if self.turns.thinks and binds(self.turns.model):
            self._unbind()
            self.settle()
        total, notes = len(self.turns.starts), self.turns.notes
        kept_notes = sum(start <= note < stop for note in notes for start, stop in self.spans)
        self.steps = total - self.left_out() - kept_notes, total - len(notes)
        if "priority" in self.options.ways:
            self.distribution = distribution(self.ranking.class_of(turn, self.options) for turn in self.kept_turns())
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
        return self.turns.total - sum(self.saved.values())

    def cost(self, turns: Iterable[int]) -> int:
        """Return the tokens of some turns in their present forms."""
        return sum([self.turns.weights[turn] - self.saved[turn] for turn in turns])

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
        """Return the turns that always stay, in order.

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
        turns = self.turns
        for at, form in forms.items():
            if form.raw is not turns.raws[at]:
                before = self.edits.get(at) or self.forms.whole(at)
                self.saved[turns.turn_of(at)] += before.units - form.units
                self.edits[at] = form

    # A new cut.

    def _cut(self, room: int, share: float = 1.0) -> None:
        """Select what stays of a history that is too big.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
        """
        if not self.turns.starts:
            if self.room < 0:
                raise self._refusal(0, 0)
            return
        essential, caps = self.essential(), self._caps()
        if self.newest in caps:
            self._cap(self.newest, caps.pop(self.newest))
        self._cap_newest(essential, room)
        need = self.cost(essential)
        if need > self.room:
            self._cut_essential(essential)
        elif need > room:
            self.spans = ranges(essential)
        elif self.size > room or caps:
            left = self._left(room, need, share) - self._note_room()
            uncut = {turn for turn, cap in caps.items() if not self._cap(turn, cap)}
            order = self.ranking.order(self.options, essential, left)
            self._choose(essential, [turn for turn in order if turn not in uncut], max(0, left))
            self.is_new = self.options.note and left >= 0 and self.left_out() > 0

    def _low(self, stable: Stable) -> float:
        """Return the share of the budget that a cut leaves: all of it, if the next turn would need a new cut anyway."""
        room = self.budget * (stable.high - stable.low)
        return stable.low if sum(self.turns.weights[-1:]) <= room else stable.high

    def _left(self, room: int, need: int, share: float) -> int:
        """Return the tokens that a cut leaves for turns that may be dropped."""
        line = int(self.budget * share) - (self.budget - self.room)
        return max(line - need, int((room - need) * share * _REST))

    def _choose(self, kept: Collection[int], order: Sequence[int], left: int) -> None:
        """Keep these turns, and as much of the others as fits `left` tokens."""
        self.forms.keep_up()
        members = [at for turn in kept for at in self.turns.members(turn)]
        texts = (piece.text for at in members for piece in self.turns.messages[at].pieces)
        ladder = Ladder(
            turns=self.turns,
            forms=self.forms,
            names=self.names,
            order=order,
            by_age=self.options.ways == ("recency",),
            fixed=dict(self.edits),
            left=left,
            cuts=self.options.excerpts,
            shown={name for text in texts for name, _ in names_in(text)},
        )
        ladder.run()
        self._edit(ladder.edits)
        self.reasons = ladder.reasons | self.reasons
        self.spans = ranges(sorted({*kept, *ladder.kept}))

    # Caps: of the newest turn, and of older ones.

    def apply_caps(self) -> None:
        """Cut the turns that are over their caps, even if the history fits."""
        for turn, cap in self._caps().items():
            self._cap(turn, cap)

    def _caps(self) -> dict[int, int]:
        """Return the turns that are over their cap and may be cut, each with its cap."""
        turns, recent, older, caps = self.turns, self.options.recent, self.options.older, dict[int, int]()
        if older is not None:
            spared, noted = {*self.essential(), *turns.notes}, turns.noted  # The note of an earlier fit does not count.
            others = (turn for turn in range(len(turns.starts)) if turn not in spared)
            caps = {turn: older for turn in others if self.cost([turn]) - noted.get(turn, 0) > older}
        if recent is not None and turns.starts and self.newest not in self._uncut():
            caps |= {self.newest: recent} if self.cost([self.newest]) > recent else {}
        return caps

    def _uncut(self) -> set[int]:
        """Return the turns that may not be cut."""
        return self.pinned | self.task() if self.options.pin_first_user else self.pinned

    def _cap_newest(self, essential: Sequence[int], room: int) -> None:
        """Cut results of the newest turn that would displace all other turns."""
        newest, options = self.newest, self.options
        if not (self.shares and options.excerpts) or options.recent is not None or newest in self._uncut():
            return
        if not self._newest_answers():
            return  # What a person wrote stays whole.
        free = room - self.cost(turn for turn in essential if turn != newest)
        others = self.size - self.cost(essential)
        cap = max(int(free * _NEWEST), free - others, self.turns.tokens(_LONG))
        if cap < min(free, self.cost([newest])):
            self._cap(newest, cap)

    def _newest_answers(self) -> bool:
        """Return whether the newest turn has results, which can be cut."""
        return any(self.turns.messages[at].results for at in self.turns.members(self.newest))

    def _cap(self, turn: int, cap: int) -> bool:
        """Cut a turn to its cap, and return whether it can be cut so far."""
        self.reasons[turn] = f"its cap is {cap:,} {self.turns.meter.unit} and it has {self.cost([turn]):,}"
        try:
            self._edit(self._shortened([turn], cap, self.forms.floor))
        except DoesNotFit:
            return False
        return True

    # Cutting what always stays.

    def _cut_essential(self, essential: Sequence[int]) -> None:
        """Cut the longest texts of the turns that always stay, no more than needed.

        If the task and the newest turn fit, results of the newest turn are cut so that the last instruction stays
        whole; if that leaves too little of them, they stay whole, and the instruction is cut, or dropped. Otherwise
        the newest turn is cut first, then the task too. Then the task is dropped, if a history may begin without the
        user, so that something of the newest turn remains, if only a mark.

        Raises:
            DoesNotFit: even so they do not fit.
        """
        every, floor = set(essential), self.forms.floor
        pinned, task, newest = self._uncut(), self.task() | self.turns.at(self.turns.compaction), {self.newest}
        first = pinned | task | newest
        older = every - self.turns.at(self.turns.instruction) | first
        bare = older if self.turns.wire.pairs else pinned | newest
        cuts = self.options.excerpts and self.options.older is None
        spare = int(self.room * _OLDER) if cuts and len(self.turns.starts) > len(essential) else 0
        newest_cut = pinned | (task - newest), self.forms.legible
        ways: tuple[tuple[set[int], set[int], int, int], ...] = (
            (every, *newest_cut, spare),
            (every, *newest_cut, 0),
            (older, *newest_cut, 0),
            (older, pinned, floor, spare),
            (older, pinned, floor, 0),
            (bare, pinned, self.forms.mark, 0),
        )
        if self.cost(first) <= self.room:
            ways = (every, first, floor, spare), (every, first, floor, 0), (first, first, floor, 0)
            if self._newest_answers() and not newest & pinned:
                ways = (every, every - newest, self.forms.legible, 0), *ways
        needed = 0
        for kept, whole, least, left in ways:
            try:
                self._edit(self._shortened(sorted(kept - whole), self.room - self.cost(whole) - left, least))
            except DoesNotFit as error:
                needed = error.needed
                continue
            for turn in every - pinned:
                self.reasons[turn] = f"it must stay, and did not fit{' whole' if turn in kept else ''}"
            order = self.ranking.order(self.options, essential, left)
            self._choose(sorted(kept), order if left else (), left)
            return
        raise self._refusal(self.cost(pinned), needed)

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

    def _refusal(self, whole: int, least: int) -> DoesNotFit:
        """Return the error that lists what always stays and how much is missing."""
        named = {**self.extra, "system messages": self.turns.fixed, "pinned": whole, "newest turn and task, cut": least}
        parts = {name: units for name, units in named.items() if units}
        needed, unit = sum(parts.values()), self.turns.meter.unit
        listed = " + ".join(f"{name} {units:,}" for name, units in parts.items())
        task = "" if self.task() <= self._uncut() else " and the task is cut or dropped"
        left = f" or more (the newest turn is then cut to marks{task})" if least else ""
        return DoesNotFit(
            f"the parts that must stay take {needed:,} {unit} ({listed}), and the budget is {self.budget:,}: "
            f"raise it by {needed - self.budget:,}{left}, or shorten them",
            needed=needed,
            available=self.budget,
            parts=parts,
        )

    # The note, calls without a result, media and thinking.

    def _note_room(self) -> int:
        """Return the most tokens that the note with a summary can take."""
        if not self.options.note:
            return 0
        most, chat = 10 ** len(str(len(self.turns.starts))) - 1, self.turns.chat
        shares = dict.fromkeys(NAMES, most) if "priority" in self.options.ways else None
        text = written(most, most, self.budget, self.budget, self.turns.meter.unit, shares)
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

    def _drop_dangling(self) -> None:
        """Leave out calls that have no result."""
        forms, repairs = self.forms.dangling()
        self.repairs += repairs
        self.dangling = forms.keys()
        self._edit(forms)

    def _limit_media(self) -> None:
        """Leave out the oldest media if a request may not have as many."""
        turns, surplus = self.turns, self.forms.media.surplus()
        places = [at for at in surplus if at not in self.edits and turns.at(at)]
        forms = {at: form for at in places if (form := self.forms.without_media(at)).raw is not turns.raws[at]}
        self._edit(forms)
        for turn in turns.at(*forms):
            images = self.forms.media.limits.images
            self.reasons[turn] = (
                f"its media were left out: a request may have at most {images:,} images, and a limited number of bytes"
            )

    def _unbind(self) -> None:
        """Leave out the thinking after the first change, of messages older than the change: a provider may refuse it.

        Newer thinking was produced with the changed messages before it.
        """
        turns, kept = self.turns, set(self.kept_turns())
        for position in range(self._first_change(), self.seen):
            if turns.messages[position].any("thinking") and turns.turn_of(position) in kept:
                form = self.edits.get(position) or self.forms.whole(position)
                self._edit({position: self.forms.without_thinking(position, form)})

    def _first_change(self) -> int:
        """Return the position of the first message that is changed or missing."""
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
        turns, dangling = self.turns, self.dangling
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
        )

    def _known(self, held: HeldCut | None) -> HeldCut | None:
        """Return the cut of the last fit if the history still begins with the same messages."""
        turns = self.turns
        if held is None or held.bound > len(turns) or held.start != turns.fingerprint(held.bound):
            return None
        return held

    def _has_outgrown(self, held: HeldCut) -> bool:
        """Return whether the budget has grown so much that the cut of the last fit leaves out too much."""
        return held.budget * _OUTGROWN < self.budget and bool(self.left_out() or self.sent)

    def _shortens_pin(self, held: HeldCut) -> bool:
        """Return whether the cut of the last fit shortens a message that was pinned since."""
        return any(self.turns.turn_of(at) in self.pinned for at in held.edits if at not in self.edits)

    def _keep_cut(self, held: HeldCut) -> None:
        """Send what the last fit sent, and all newer messages."""
        turns = self.turns
        self.seen, self.note, self.cut_for = held.seen, held.note, held.budget
        counted = held.meter == turns.meter.name
        for position, kept in held.edits.items():
            if position not in self.edits and position not in held.unanswered:
                self._edit({position: kept if counted else self.forms.counted(position, kept.raw)})
        edges = [turns.turn_of(position) for span in held.kept for position in span]
        if edges:
            self.spans = self._with_essential(zip(edges[::2], [*edges[1:-1:2], len(turns.starts)], strict=True))

    def _with_essential(self, spans: Iterable[Span]) -> list[Span]:
        """Return ranges of turns together with the turns that always stay."""
        return joined(sorted([*spans, *((turn, turn + 1) for turn in self.essential())]))

    def _extend_cut(self, room: int, share: float) -> bool:
        """Shorten only what is newer than the last cut, so that the older start of the prompt does not change.

        Returns:
            whether that leaves enough tokens for the newer turns.
        """
        if self.last is None or not (self.edits or self.left_out()):
            return False
        bound, essential = self.turns.turn_of(self.last.bound - 1) + 1, self.essential()
        frozen = [turn for turn in self.kept_turns() if turn < bound]
        need, stays = self.cost(essential), self.cost({*frozen, *essential})
        all_, note = self._left(room, need, share), note_units(self.turns, self.kept, self.note)
        left = all_ - (stays - need) - note
        if stays + note > room or left < all_ * _FRESH:
            return False
        newer = [turn for turn in self.ranking.order(self.options, essential, left) if turn >= bound]
        self._choose(essential, newer, left)
        kept = {*frozen, *self.kept_turns()}
        if any(turn not in kept and not self.forms.repeated(turn) for turn in newer):
            return False  # The note says how many turns are dropped, and it cannot change without the start.
        self.spans = self._with_essential(ranges(sorted(kept)))
        return True

    def _before_messages(self) -> dict[str, int]:
        """Return the tokens of what comes before the messages: tools and a separate system prompt."""
        return {name: units for name, units in self.extra.items() if name != "reply"}
