"""A fit in stable mode: the cut of the last fit as long as it fits, and then one that lasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from brim.history.history_fit import HistoryFit
from brim.history.options import check_stable
from brim.history.prompt import SentMessages, note_units, sent_messages
from brim.history.spans import Span, joined, ranges
from brim.history.stable import HeldCut, Stable

_NEWEST = (10, 3)
"""How many turns at the end a cut leaves as they are: the first number if they fit, or the second."""
_WIDE = 24_000
"""Tokens of a room from which it does: in a smaller one, excerpts keep more of what is needed for less."""
_FULL = 0.7
"""The most of the budget that they may take with what always stays: a fuller prompt would soon be cut again."""
_HUGE = 0.5
"""The share of the room from which a turn is cut, however new it is."""
_BESIDE = 1.2
"""The factor by which what a cut leaves is more than they are, so that something of older turns stays."""
_DEEDS = 0.4
"""The most of what always stays leaves that is for what the agent did in older turns, before the newest turns."""
_BEFORE = 1.2
"""How much less a cut leaves, by the share that tools and a separate system prompt take of the budget.

They are cached whatever is cut and keep the prompt full, so a deeper cut lasts longer at little loss.
"""
_LEAST = 0.2
"""The smallest share of the room that is left because of them."""
_USUAL = 6_000
"""Tokens of a room of which a cut leaves just the share that is asked for."""
_POWER = 0.4
"""By what power of its size a cut leaves less of a larger room, and more of a smaller one.

What an agent needs does not grow as its past does: a large room still has it after a deeper cut, which lasts longer,
and a small one does not.
"""
_LARGE = 0.7
"""The smallest factor that comes of it."""
_MOST = 0.85
"""The largest share that comes of it: after a cut that leaves all, the next prompt would be cut again."""
_PAST = 3.8
"""How many rooms a history fills from which a cut leaves the whole share: a shorter past has less that is needed."""
_MORE = 1.25
"""The factor by which the budget has to grow before the cut is made anew."""


@dataclass(slots=True, kw_only=True)
class StableFit(HistoryFit):
    """One fit that continues from the last one."""

    holds: ClassVar[bool] = True
    stable: Stable
    """The lines and the cut of the last fit; after `finish`, the cut of this one."""
    last: HeldCut | None = None
    """The cut of the last fit, if it was of this history."""
    cut_for: int = 0
    """The budget that the cut was made for."""

    def run(self) -> None:
        """Decide what is sent.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
        """
        check_stable(self.options)
        self.prepare()
        self.last = self._known()
        if self.last is not None:
            self._keep_cut(self.last)
        self.settle()
        line = int(self.budget * self.stable.high)
        if self.last is not None and self._has_outgrown(self.last):
            self._begin_anew()
        if self.used > line:
            self.seen, self.cut_for = len(self.turns), self.budget
            if not self._extend_cut(line):
                self._begin_anew()
                self._cut(line)
            self.settle()

    def finish(self) -> None:
        """Add up what is sent, write the note, and hold the cut for the next fit."""
        HistoryFit.finish(self)
        turns = self.turns
        edges, dangling = [position for span in self.kept for position in span][:-1], self.dangling
        edited = [position for position in self.sent if position not in dangling] if dangling else self.sent
        bound = max(*edges, 0, max(edited, default=-1) + 1)
        held = HeldCut(
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
        self.stable = replace(self.stable, held=held)

    def last_prompt(self) -> SentMessages:
        """Return what the last fit sent; nothing if that is unknown, or if something else stood before it."""
        held, turns = self.last, self.turns
        if held is None or held.extra != self._before_messages() or held.length > len(turns):
            return SentMessages([], [])
        if held.check != turns.fingerprint(held.length):
            return SentMessages([], [])
        return sent_messages(turns, held.kept, held.edits, held.note, held.length)

    def _known(self) -> HeldCut | None:
        """Return the cut of the last fit, if the history begins as it did then, and it still runs between turns."""
        held, turns = self.stable.held, self.turns
        if held is None or held.bound > len(turns) or held.start != turns.fingerprint(held.bound):
            return None
        edges = [position for span in held.kept for position in span][:-1]
        return held if all(turns.starts[turns.turn_of(position)] == position for position in edges) else None

    def _has_outgrown(self, held: HeldCut) -> bool:
        """Return whether the budget has become so much larger that the cut of the last fit leaves out too much."""
        return held.budget * _MORE < self.budget and bool(self.left_out() or self.sent)

    def _begin_anew(self) -> None:
        """Start from the whole history, so that what was shortened or left out can return."""
        self.edits, self.note = {}, ""
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

    def _with_essential(self, spans: Sequence[Span] | zip[Span]) -> list[Span]:
        """Return ranges of turns together with the turns that always stay."""
        return joined(sorted([*spans, *((turn, turn + 1) for turn in self.essential())]))

    def _cut(self, line: int) -> None:
        """Cut the whole history down to the low line.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
        """
        if not self.weights:
            if self.used > self.budget:
                raise self.refusal(0, 0)
            return
        essential, room = self.essential(), line - (self.budget - self.room)
        need = sum(self.weights[turn] for turn in essential)
        for limit in (int(room * self.stable.low), room) if need > room else ():
            need -= self.cut_spoken(essential, need, limit)
        if need > room:
            if need > self.room:
                self.cut_inside(essential)
            else:
                self.spans = ranges(essential)
            return
        stays = need + self.note_room()
        newest = self._newest(essential, room)
        left = max(0, min(self._low_line(need, room, *newest), room) - stays)
        self.arrange(essential, left, *newest)
        if stays <= room:
            self.plan_note()

    def _extend_cut(self, line: int) -> bool:
        """Shorten only what has come since the last cut, so that the cache still has what stands before.

        Returns:
            whether that leaves enough room.
        """
        if self.last is None or not (self.edits or self.left_out()):
            return False
        room, bound = line - (self.budget - self.room), self.turns.turn_of(self.last.bound - 1) + 1
        essential, before = self.essential(), [turn for turn in self.kept_turns() if turn < bound]
        newest, deeds = self._newest(essential, room)
        if bound > len(self.weights) - _NEWEST[0] and newest:
            return False  # Turns that could be whole were shortened.
        need = sum(self.weights[turn] for turn in essential)
        stays = sum(self.weights[turn] for turn in {*before, *essential}) + note_units(self.turns, self.kept, self.note)
        left = min(self._low_line(need, room, newest, deeds), room) - stays
        since = range(bound, len(self.weights))
        if left <= self.deeds(since, essential):
            return False
        self.arrange(essential, left, newest, self.deeds(since[: -_NEWEST[0]], essential), aside=range(bound))
        self.spans = self._with_essential(ranges(sorted({*before, *self.kept_turns()})))
        return True

    def _low_line(self, need: int, room: int, newest: int, deeds: int) -> int:
        """Return the tokens of the turns that a cut leaves, those that always stay included."""
        beside = max(int(newest * _BESIDE), newest + deeds) if newest else 0
        size, before = max(1, room - need), sum(self.extra.values())
        past = size if self.turns.notes else max(1, min(size, int(self.turns.total / _PAST)))
        low = min(_MOST, self.stable.low * max((_USUAL / past) ** _POWER, _LARGE) * past / size)
        share = max(min(low, _LEAST), low * (1 - _BEFORE * before / max(1, before + self.turns.fixed + room)))
        return need + max(int(size * share), beside)

    def _newest(self, essential: Sequence[int], room: int) -> tuple[int, int]:
        """Return the tokens of the newest turns besides those that always stay, and of what was done in older ones.

        The newest are all, if only a huge turn is too much. They are 0 if the room is small, or if with them the
        prompt would soon be full.
        """
        need, fixed = sum(self.weights[turn] for turn in essential), self.budget - self.room
        turns, most = range(len(self.weights)), int((room - need) * _DEEDS)
        for count in (len(turns), *(_NEWEST if room >= _WIDE else ())):
            sizes = [self.weights[turn] for turn in turns[-count:] if turn not in essential]
            newest = sum(size for size in sizes if size <= room * _HUGE)
            deeds = min(most, self.deeds(turns[:-count], essential))
            if fixed + need + newest + deeds <= (fixed + room) * _FULL:
                return newest, deeds
        return 0, min(most, self.deeds(turns, essential))

    def _before_messages(self) -> dict[str, int]:
        """Return the tokens of what stands before the messages: tools and a separate system prompt."""
        return {name: units for name, units in self.extra.items() if name != "reply"}
