"""A fit that keeps the prefix of the last one: the same cut as long as it fits, and then one that lasts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from brim.history.history_fit import HistoryFit
from brim.history.options import check_held
from brim.history.spans import joined, ranges
from brim.history.stable import HeldCut, Stable


@dataclass(slots=True, kw_only=True)
class StableFit(HistoryFit):
    """One fit at work that goes on from the last one."""

    stable: Stable
    """The lines, and the cut of the last fit; after the run, the cut of this one."""
    prefix: int = 0
    """Units at the start of the prompt that are those of the last one."""
    anchor: int = 0
    """Turns before the gap."""
    resume: int = 0
    """The first turn after the gap; 0 without one."""
    before: HeldCut | None = None
    """The cut of the last fit, if it was of this history."""

    def run(self) -> None:
        """Decide what is sent.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        check_held(self.options)
        self.prepare()
        self.before = self._known()
        line = int(self.budget * self.stable.high)
        if self.before is not None:
            self._go_on(self.before)
        self.settle()
        if self.used > line:
            self.seen = len(self.turns)
            self._cut(line, self.before)
            self.settle()

    def finish(self) -> None:
        """Take note of what is held from here on, and of what the last prompt had as well."""
        HistoryFit.finish(self)
        if self.before is not None:
            self.prefix = self._shared(self.before)
        self.stable = replace(self.stable, held=self._held_now())

    def _known(self) -> HeldCut | None:
        """Return the cut of the last fit, if it was of this history."""
        held, turns = self.stable.held, self.turns
        if held is None or held.length > len(turns):
            return None
        if held.turns is turns:
            return held if turns.steady(held.length, held.moves) and self._resumes(held) else None
        if self.stable.sealed().check != turns.fingerprint(held.length):
            return None
        return held if self._resumes(held) else None

    def _resumes(self, held: HeldCut) -> bool:
        """Return whether a turn still begins where the gap ended."""
        starts = self.turns.starts
        return not held.resume or (held.resume < len(starts) and starts[held.resume] == held.at)

    def _go_on(self, held: HeldCut) -> None:
        """Send what the last fit sent, and what has come since."""
        self.anchor, self.resume, self.seen, self.note = held.anchor, held.resume, held.seen, held.note
        if held.edits:
            self.weights = list(self.weights)
        for position, form in held.edits.items():
            if position not in self.edits:
                self.edits[position] = form
                self.weights[self.turns.turn_of(position)] += form.units - self.turns.units[position]
        self._keep_around()

    def _keep_around(self) -> None:
        """Keep the turns on both sides of the gap, and those that always stay."""
        if self.resume:
            between = [turn for turn in self.essential() if self.anchor <= turn < self.resume]
            self.spans = joined([(0, self.anchor), *ranges(between), (self.resume, len(self.weights))])

    def _cut(self, line: int, held: HeldCut | None) -> None:
        """Make a gap that brings the history to the low line.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        self.note = ""
        if not self.weights:
            if self.used > self.budget:
                raise self.refusal(0, 0)
            return
        essential = self.essential()
        room = line - (self.budget - self.room)
        need = sum(self.weights[turn] for turn in essential)
        if need > room:
            self._forget(held)
            self.anchor, self.resume = 0, self.newest
            if sum(self.weights[turn] for turn in essential) > self.room:
                self.cut_inside(essential)
            else:
                self._keep_around()
            return
        left = room - need - self.note_room()
        self._part(essential, max(0, left), held)
        self._keep_around()
        if left >= 0:
            self.say()

    def _part(self, essential: list[int], left: int, held: HeldCut | None) -> None:
        """Choose the gap: turns from the start and from the end that take the low line's share of what is left."""
        weights = [0 if turn in essential else weight for turn, weight in enumerate(self.weights)]
        head = self.budget - self.room + sum(self.weights[turn] for turn in essential)
        low = int(left * self.stable.low_line(left, head))
        before = sum(weights[: held.anchor]) if held is not None and held.resume else -1
        if held is not None and 0 <= before <= low:
            self.anchor = held.anchor
        else:
            self.anchor, before, most = 0, 0, int(low * self.stable.anchor)
            while self.anchor < self.newest and before + weights[self.anchor] <= most:
                before += weights[self.anchor]
                self.anchor += 1
        self.resume, after = self.newest, before
        while self.resume > self.anchor and after + weights[self.resume - 1] <= low:
            self.resume -= 1
            after += weights[self.resume]

    def _forget(self, held: HeldCut | None) -> None:
        """Take the messages as they came again: what has to be cut is cut from the whole."""
        if held is None:
            return
        for position in held.edits:
            form = self.edits.pop(position, None)
            if form is not None:
                self.weights[self.turns.turn_of(position)] += self.turns.units[position] - form.units

    def _shared(self, held: HeldCut) -> int:
        """Return the units at the start of the prompt that the last one had as well."""
        turns = self.turns
        moved = [p for p in {*held.edits, *self.sent} if held.edits.get(p) != self.sent.get(p)]
        until = min([held.until, *moved])
        if held.aside != self._aside():
            return 0
        lead = self._start(min(self._lead(), held.lead))
        moves = self._lead() != held.lead and lead < held.length
        if moves or (self.anchor, self.resume, self.note) != (held.anchor, held.resume, held.note):
            until = min(until, lead)
            if turns.wire.pairs:
                until -= 1
        elif until >= held.length:
            return held.units
        return sum(self._aside().values()) + self._units_before(until)

    def _aside(self) -> dict[str, int]:
        """Return the units that stand before the messages."""
        return {name: units for name, units in self.extra.items() if name != "reply"}

    def _lead(self) -> int:
        """Return how many turns stand before the first that is left out."""
        return self.spans[0][1] if self.spans and self.spans[0][0] == 0 else 0

    def _start(self, turn: int) -> int:
        """Return the position of a turn's first message, or of the end."""
        starts = self.turns.starts
        return starts[turn] if turn < len(starts) else len(self.turns)

    def _units_before(self, until: int) -> int:
        """Return the units of what is sent of the messages before a position."""
        turns, units = self.turns, 0
        kept = [(self._start(first), self._start(last)) for first, last in self.spans]
        for start, stop in kept:
            positions = range(start, min(stop, until))
            units += sum([self.sent[p].units if p in self.sent else turns.units[p] for p in positions])
        fixed = [p for p in turns.system if p < until and not any(start <= p < stop for start, stop in kept)]
        units += sum([turns.units[p] for p in fixed])
        noted = self.note and self._start(self._lead()) < until
        return units + (self.noted() if noted else 0)

    def _held_now(self) -> HeldCut:
        turns = self.turns
        return HeldCut(
            anchor=self.anchor,
            resume=self.resume,
            at=turns.starts[self.resume] if self.resume else 0,
            aside=self._aside(),
            lead=self._lead(),
            note=self.note,
            seen=self.seen,
            length=len(turns),
            until=min(self.dangling, default=len(turns)),
            turns=turns,
            moves=turns.moves,
            units=self.used - self.extra.get("reply", 0),
            edits={p: form for p, form in self.sent.items() if p not in self.dangling},
        )
