"""A fit in stable mode: the cut of the last fit as long as it fits, and then one that lasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from brim.history.history_fit import HistoryFit
from brim.history.options import check_stable
from brim.history.prompt import SentMessages, sent_messages
from brim.history.spans import Span, joined, ranges
from brim.history.stable import HeldCut, Stable


@dataclass(slots=True, kw_only=True)
class StableFit(HistoryFit):
    """One fit that continues from the last one."""

    stable: Stable
    """The lines and the cut of the last fit; after `finish`, the cut of this one."""
    last: HeldCut | None = None
    """The cut of the last fit, if it was of this history."""

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
        if self.used > line:
            self.seen = len(self.turns)
            self._cut(line)
            self.settle()

    def finish(self) -> None:
        """Add up what is sent, write the note, and hold the cut for the next fit."""
        HistoryFit.finish(self)
        turns = self.turns
        held = HeldCut(
            kept=tuple(self.kept),
            edits=dict(self.sent),
            unanswered=tuple(position for position in self.sent if position in self.dangling),
            note=self.note,
            seen=self.seen,
            length=len(turns),
            check=turns.fingerprint(len(turns)),
            extra=self._before_messages(),
        )
        self.stable = replace(self.stable, held=held)

    def last_prompt(self) -> SentMessages:
        """Return what the last fit sent; nothing if tools or a system prompt of another size stood before it."""
        held = self.last
        if held is None or held.extra != self._before_messages():
            return SentMessages([], [])
        return sent_messages(self.turns, held.kept, held.edits, held.note, held.length)

    def _known(self) -> HeldCut | None:
        """Return the cut of the last fit, if it was of this history and still runs between turns."""
        held, turns = self.stable.held, self.turns
        if held is None or held.length > len(turns) or held.check != turns.fingerprint(held.length):
            return None
        edges = [position for span in held.kept for position in span][:-1]
        return held if all(turns.starts[turns.turn_of(position)] == position for position in edges) else None

    def _keep_cut(self, held: HeldCut) -> None:
        """Send what the last fit sent, and what has come since."""
        turns = self.turns
        self.seen, self.note = held.seen, held.note
        if held.edits:
            self.weights = list(self.weights)
        for position, form in held.edits.items():
            if position not in self.edits and position not in held.unanswered:
                self.edits[position] = form
                self.weights[turns.turn_of(position)] += form.units - turns.units[position]
        edges = [turns.turn_of(position) for span in held.kept for position in span]
        if edges[1:] and (edges[0] > 0 or len(edges) > 2):
            self.spans = self._with_essential(zip(edges[::2], [*edges[1:-1:2], len(self.weights)], strict=True))

    def _with_essential(self, spans: Sequence[Span] | zip[Span]) -> list[Span]:
        """Return ranges of turns together with the turns that always stay."""
        return joined(sorted([*spans, *((turn, turn + 1) for turn in self.essential())]))

    def _cut(self, line: int) -> None:
        """Leave turns out so that the history comes down to the low line.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
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
            self.edits = {}  # What has to be cut is cut from the whole.
            self.prepare()
            if sum(self.weights[turn] for turn in essential) > self.room:
                self.cut_inside(essential)
            else:
                self.spans = ranges(essential)
            return
        left = room - need - self.note_room()
        self.spans = self._with_essential(self._around_gap(set(essential), max(0, left)))
        if left >= 0:
            self.plan_note()

    def _around_gap(self, essential: set[int], left: int) -> list[Span]:
        """Return the turns from the start and from the end that take the low line's share of what is left.

        What stands before the gap stays there, if it fits, so that the provider's cache still has it.
        """
        weights = [0 if turn in essential else weight for turn, weight in enumerate(self.weights)]
        head = self.budget - self.room + sum(self.weights[turn] for turn in essential)
        low = int(left * self.stable.low_line(left, head))
        first, stop = self.spans[0]
        anchor = stop if first == 0 else 0
        before = sum(weights[:anchor])
        if not self.left_out() or before > low:
            anchor, before, most = 0, 0, int(low * self.stable.anchor)
            while anchor < self.newest and before + weights[anchor] <= most:
                before += weights[anchor]
                anchor += 1
        resume, taken = self.newest, before
        while resume > anchor and taken + weights[resume - 1] <= low:
            resume -= 1
            taken += weights[resume]
        return [(0, anchor), (resume, len(weights))]

    def _before_messages(self) -> dict[str, int]:
        """Return the tokens of what stands before the messages: tools and a separate system prompt."""
        return {name: units for name, units in self.extra.items() if name != "reply"}
