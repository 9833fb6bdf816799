"""One fit of a history at work: pins, selection, the ladder inside a turn, the note, and the sum.

Messages are counted one by one, as providers do, so the sum of what is kept is the count of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from brim.errors import DoesNotFit
from brim.history.book import Book, Repair
from brim.history.forms import Form, Forms
from brim.history.note import note as written
from brim.history.options import Options
from brim.history.order import Ranking
from brim.history.priority import distribution
from brim.history.scaled import TRACE, Scaled, Span, joined, ranges, without_turns
from brim.truncate import truncator

_ENOUGH = 4
"""Floors that the newest turn's texts are left with before the task is cut as well."""
_SUMMARY = 10
"""The part of the budget, one in so many, that a summary of what was left out may take."""


@dataclass(slots=True)
class Fitting:
    """One fit at work."""

    book: Book
    forms: Forms
    ranking: Ranking
    budget: int
    extra: Mapping[str, int]
    """Units beside the messages, by what takes them: tools, a system prompt that stands apart, the reply."""
    options: Options
    weights: list[int] = field(default_factory=list)
    """Units of each turn, without calls that nothing answers."""
    edits: dict[int, Form] = field(default_factory=dict)
    """What is not sent as it came, by position; also of turns that are then left out."""
    touched: set[int] = field(default_factory=set)
    """The turns in which something was changed before they were served."""
    spans: list[Span] = field(default_factory=list)
    """The turns that stay, as ranges in order."""
    sent: dict[int, Form] = field(default_factory=dict)
    """What of these is sent."""
    units: int = 0
    """Units of everything that is sent, without the note."""
    note: str = ""
    repairs: list[Repair] = field(default_factory=list)
    dangling: set[int] = field(default_factory=set)
    """The positions of messages with calls that nothing answers yet."""
    reasons: dict[int, str] = field(default_factory=dict)
    """Why a turn is not whole, where that is not because of its age."""
    seen: int = field(default=0, kw_only=True)
    """Messages that were there when the start of the prompt last changed."""

    def run(self) -> None:
        """Decide what is sent.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        self.prepare()
        self.seen = len(self.book)
        total = self.book.total if self.weights is self.book.weights else sum(self.weights)
        if total > self.room or self._capped():
            self._choose(total)
        self.settle()

    def finish(self) -> None:
        """Nothing lasts from one fit to the next."""

    def prepare(self) -> None:
        """Take everything as it came, but for calls that nothing answers."""
        book = self.book
        self.weights = book.weights
        self.repairs = list(book.repairs)
        if book.pairs.open:
            self._without_dangling()
        self.spans = [(0, len(self.weights))] if self.weights else []

    @property
    def room(self) -> int:
        """Units for the turns."""
        return self.budget - sum(self.extra.values()) - self.book.fixed

    @property
    def newest(self) -> int:
        """The last turn."""
        return len(self.weights) - 1

    def left_out(self) -> int:
        """Return how many turns are left out."""
        return len(self.weights) - sum(stop - start for start, stop in self.spans)

    def settle(self) -> None:
        """Add up what is sent, without the note."""
        book = self.book
        self.sent = self._sent()
        self.units = sum(self.extra.values()) + book.fixed
        for start, stop in self.spans:
            self.units += sum(book.weights[start:stop])
        if self.sent:
            whole = book.units
            self.units += sum([form.units - whole[position] for position, form in self.sent.items()])

    @property
    def used(self) -> int:
        """Units of everything that is sent."""
        return self.units + self.noted()

    def _sent(self) -> dict[int, Form]:
        """Return what is sent in another form, by position."""
        if not self.edits or not self.left_out():
            return self.edits
        starts, found = self.book.starts, {}
        bounds = [(starts[a], starts[b] if b < len(starts) else len(self.book)) for a, b in self.spans]
        for first, last in bounds:
            found.update({p: form for p, form in self.edits.items() if first <= p < last})
        return found

    def essential(self) -> list[int]:
        """Return the turns that always stay, in order: the task, what is pinned, the newest."""
        book, turns = self.book, self._held()
        if book.task is not None:
            turns.add(book.turn_of(book.task))
        if self.weights:
            turns.add(self.newest)
        return sorted(turns)

    @property
    def appended(self) -> bool:
        """Whether the note goes into the message before the gap, since two of the user's may not follow each other."""
        book, spans = self.book, self.spans
        if not book.wire.pairs or not spans or spans[0][0] > 0:
            return False
        return book.messages[book.span(spans[0][1] - 1)[1] - 1].role == "user"

    def noted(self) -> int:
        """Return the units that the note takes."""
        if not self.note:
            return 0
        return self.forms.added(self.note) if self.appended else self.forms.said(self.note)

    def note_room(self) -> int:
        """Return the units that the note, and a summary with it, can take at the most."""
        if not self.options.note:
            return 0
        digits = len(str(len(self.weights)))
        room = self.forms.note_room(digits, self.budget, classes="priority" in self.options.ways)
        return room + (self.budget // _SUMMARY if self.options.summarise else 0)

    def say(self) -> None:
        """Write the note, if turns are left out and it is wanted."""
        if self.options.note and self.left_out():
            self.settle()
            self.note = self._written() + self._summary()

    def cut_inside(self, essential: Sequence[int]) -> None:
        """Cut the longest texts of the turns that always stay, and leave out all others.

        Raises:
            DoesNotFit: even so they do not fit.
        """
        self.edits = {position: form for position, form in self.edits.items() if position in self.dangling}
        book, held = self.book, self._held()
        task = set() if book.task is None else {book.turn_of(book.task)}
        if self.options.pin_first_user:
            held |= task
        try:
            forms = self._inside(essential, held | (task - {self.newest}), _ENOUGH * self.forms.floor)
        except DoesNotFit:
            try:
                forms = self._inside(essential, held, self.forms.floor)
            except DoesNotFit as error:
                raise self._refusal(sum(self.weights[turn] for turn in held), error.needed) from error
        self._keep(forms)
        for turn in set(essential) - held:
            self.reasons[turn] = "it has to stay, and there was not room for all of it"
        self.spans = ranges(list(essential))

    def _inside(self, essential: Sequence[int], whole: set[int], floor: int) -> dict[int, Form]:
        """Return the messages of the turns that always stay, cut, but for those of the turns that stay whole.

        Raises:
            DoesNotFit: a text would have to be cut to less than the floor.
        """
        turns = [turn for turn in essential if turn not in whole]
        return self._shortened(turns, self.room - sum(self.weights[turn] for turn in whole), floor)

    def _shortened(self, turns: Iterable[int], room: int, floor: int) -> dict[int, Form]:
        """Return the messages of some turns with their longest texts cut; where that is not enough, without thinking.

        Raises:
            DoesNotFit: a text would have to be cut to less than the floor.
        """
        members = [position for turn in turns for position in self.book.members(turn)]
        forms = {p: self.edits[p] if p in self.dangling else self.forms.whole(p) for p in members}
        try:
            return self.forms.shortened(forms, room, floor)
        except DoesNotFit:
            if not self.book.thinks:
                raise
        bare = {p: self.forms.without_thinking(p, form) for p, form in forms.items()}
        return self.forms.shortened(bare, room, floor)

    def _held(self) -> set[int]:
        """Return the turns that the caller pinned."""
        pin, book = self.options.pin, self.book
        if pin is None:
            return set()
        if callable(pin):
            return {book.turn_of(i) for i, m in enumerate(book.messages) if m.role != "system" and pin(m.raw)}
        wanted = set(pin)
        return {book.turn_of(i) for i, at in enumerate(book.indexes) if at in wanted and i not in set(book.system)}

    def _without_dangling(self) -> None:
        """Leave out calls that nothing answers."""
        book = self.book
        self.weights = list(book.weights)
        for at, (form, repair) in self.forms.dangling().items():
            book.refuse(repair)
            self.repairs.append(repair)
            self.edits[at] = form
            self.dangling.add(at)
            turn = book.turn_of(at)
            self.touched.add(turn)
            self.weights[turn] -= repair.units

    def _capped(self) -> bool:
        """Return whether a turn is over the cap of its age."""
        recent, older = self.options.recent, self.options.older
        if recent is not None and self._too_recent(recent):
            return True
        if older is None:
            return False
        spared = {*self.essential(), *self.book.notes}
        return any(self._over(turn, older) for turn in range(len(self.weights)) if turn not in spared)

    def _too_recent(self, recent: int) -> bool:
        """Return whether the newest turn is over its cap and may be cut."""
        if not self.weights or self.weights[-1] <= recent or self.newest in self._held():
            return False
        task = self.book.task
        return not (self.options.pin_first_user and task is not None and self.book.turn_of(task) == self.newest)

    def _over(self, turn: int, cap: int) -> bool:
        """Return whether a turn is over its cap; the note of an earlier fit does not count."""
        return self.weights[turn] - self.book.noted.get(turn, 0) > cap

    def _choose(self, total: int) -> None:
        """Select what stays of a history that is too big."""
        essential, recent, room = self.essential(), self.options.recent, self.room
        need = sum(self.weights[turn] for turn in essential)
        if recent is not None and self._too_recent(recent):
            freed = self._cap_newest(recent)
            need -= freed
            total -= freed
        if need > room:
            self.cut_inside(essential)
        elif total > room or self.options.older is not None:
            left = room - need - self.note_room()
            self._serve(essential, max(0, left))
            if left >= 0:
                self.say()

    def _serve(self, essential: Sequence[int], left: int) -> None:
        """Keep what always stays, and of the other turns those most wanted that take at most `left` units."""
        if self.options.ways == ("recency",):
            aside = {*essential, *self.book.notes}
            first = self._trace(aside, *self._newest_first(aside, left))
            before = ranges([turn for turn in essential if turn < first])
            self.spans = joined([*before, *without_turns((first, len(self.weights)), self.book.notes)])
            return
        chosen = list(essential)
        for turn in self.ranking.order(self.options, essential, left):
            units = self._offer(turn, left)
            if units is not None:
                chosen.append(turn)
                left -= units
        self.spans = ranges(sorted(chosen))

    def _offer(self, turn: int, left: int) -> int | None:
        """Return the units that a turn takes in the longest form that fits, or `None`."""
        units, older = self.weights[turn], self.options.older
        if older is not None and self._over(turn, older):
            try:
                units -= self._cap(turn, older)
            except DoesNotFit:
                return None
        if units <= left:
            return units
        return self._clear(turn, left)

    def _newest_first(self, aside: set[int], left: int) -> tuple[int, int]:
        """Keep the newest turns whole, as long as the ones before can leave a trace.

        Returns:
            the first of them, and the units that are left.
        """
        scale = self._scale(aside)
        first = scale.first(left)
        if self.options.older is not None:
            first = self._cap_from(first, aside, self.options.older)
            return first, left - scale.taken(first)
        gain = self._gain(first, aside)
        while gain and (more := scale.first(left + gain)) < first:
            first = more
            gain = self._gain(first, aside)
        return first, left + gain - scale.taken(first)

    def _scale(self, aside: set[int]) -> Scaled:
        """Return what finds the first of the newest turns that fit, each taken for at most its cap."""
        book, weights, older = self.book, self.weights, self.options.older
        if older is None:
            lost = {turn: book.weights[turn] - weights[turn] for turn in self.touched}
            return Scaled(book.before, book.total, book.lit, {**lost, **{turn: book.weights[turn] for turn in aside}})
        most = [min(weight, older + book.noted.get(turn, 0)) for turn, weight in enumerate(weights)]
        before = list(accumulate(most, initial=0))
        return Scaled(before, before.pop(), book.lit, {turn: most[turn] for turn in aside})

    def _gain(self, first: int, aside: set[int]) -> int:
        """Refer to later results that are the same, from a turn on, and return the units that this frees."""
        gain, units = 0, self.book.units
        for turn in self.book.twins:
            if turn >= first and turn not in aside and turn not in self.touched:
                forms = self.forms.twinned(turn)
                gain += sum([units[position] - form.units for position, form in forms.items()])
                self.edits.update(forms)
        return gain

    def _cap_from(self, first: int, aside: set[int], older: int) -> int:
        """Cut the turns that are over their cap, and return the first turn after any that cannot be cut."""
        for turn in range(len(self.weights) - 1, first - 1, -1):
            if turn not in aside and self._over(turn, older):
                try:
                    self._cap(turn, older)
                except DoesNotFit:
                    return turn + 1
        return first

    def _trace(self, aside: set[int], first: int, left: int) -> int:
        """Keep some turns before the first one with their results cleared, and return the first of those."""
        for turn in range(first - 1, max(-1, first - 1 - TRACE), -1):
            if turn in aside:
                continue
            units = self._clear(turn, left) if self.options.older is None else self._offer(turn, left)
            if units is None:
                return turn + 1
            left -= units
            first = turn
        return first

    def _clear(self, turn: int, left: int) -> int | None:
        """Clear the results of a turn, and return its units then; `None` where they are more than are left."""
        units, cleared = self.forms.cleared(turn)
        if turn in self.touched:
            cleared = {position: form for position, form in cleared.items() if position not in self.edits}
            units = self.weights[turn] - sum(self.book.units[p] - form.units for p, form in cleared.items())
        if units > left:
            return None
        self.edits.update(cleared)
        return units

    def _keep(self, forms: Mapping[int, Form]) -> int:
        """Send messages in these forms, and return their units."""
        raws = self.book.raws
        self.edits.update({p: form for p, form in forms.items() if form.raw is not raws[p]})
        return sum([form.units for form in forms.values()])

    def _cap_newest(self, cap: int) -> int:
        """Cut the newest turn to its cap, if it can be, and return the units that this frees."""
        try:
            return self._cap(self.newest, cap)
        except DoesNotFit:
            return 0

    def _cap(self, turn: int, cap: int) -> int:
        """Cut a turn to its cap, and return the units that this frees.

        Raises:
            DoesNotFit: it cannot be cut so far.
        """
        before = self.weights[turn]
        self.touched.add(turn)
        self.reasons[turn] = f"its cap is {cap:,} {self.book.meter.unit} and it has {before:,}"
        return before - self._keep(self._shortened([turn], cap, self.forms.floor))

    def _refusal(self, whole: int, least: int) -> DoesNotFit:
        """Return the error that says what has to stay and how much is missing."""
        named = {**self.extra, "system messages": self.book.fixed, "pinned": whole, "task and newest turn, cut": least}
        parts = {name: units for name, units in named.items() if units}
        needed, unit = sum(parts.values()), self.book.meter.unit
        told = " + ".join(f"{name} {units:,}" for name, units in parts.items())
        return DoesNotFit(
            f"what has to stay takes {needed:,} {unit} ({told}) and the budget is {self.budget:,}: "
            f"raise it by {needed - self.budget:,}, or shorten what has to stay",
            needed=needed,
            available=self.budget,
            parts=parts,
        )

    def shares(self, turns: Iterable[int]) -> Mapping[str, int] | None:
        """Return how many of some turns each class has, where turns are selected by class."""
        if "priority" not in self.options.ways:
            return None
        return distribution(self.ranking.class_of(turn, self.options) for turn in turns)

    def _written(self) -> str:
        """Return the note: how many turns stay, and what they take of the budget."""
        total = len(self.weights) - len(self.book.notes)
        kept = sum([stop - start for start, stop in self.spans])
        shares = self.shares(turn for start, stop in self.spans for turn in range(start, stop))
        return written(kept, total, self.units, self.budget, self.book.meter.unit, shares)

    def _summary(self) -> str:
        """Return a summary of the turns that are left out, if one is asked for."""
        summarise, book = self.options.summarise, self.book
        if summarise is None:
            return ""
        kept = {turn for start, stop in self.spans for turn in range(start, stop)}
        lost = [turn for turn in range(len(self.weights)) if turn not in kept]
        told = [f"{book.messages[p].role}: {book.messages[p].text()}" for turn in lost for p in book.members(turn)]
        limit = self.budget // _SUMMARY - book.meter.load("\n\n") - 1
        said = summarise("\n\n".join(told), limit)
        if book.meter.load(said) > limit:
            try:
                said = truncator("head").truncate(said, limit, book.meter).text
            except DoesNotFit:
                said = ""
        return f"\n\n{said}" if said else ""

