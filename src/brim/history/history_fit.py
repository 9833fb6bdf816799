"""One fit of a history: the cut, without thinking and citations that it makes invalid, and with its note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from brim.errors import DoesNotFit, InvalidType
from brim.history.cut import SUMMARY, Fitting, HistoryCut, kept_turns
from brim.history.note import note as written
from brim.history.priority import distribution
from brim.history.prompt import SentMessages, note_units, sent_messages
from brim.history.rendering import Form
from brim.history.rules import binds
from brim.history.stable import HeldCut
from brim.history.turns import BLANK, Repair, Span
from brim.truncate import shortened
from brim.wire.message import spoken


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFit:
    """What is sent of a history."""

    fitting: Fitting
    cut: HistoryCut
    kept: Sequence[Span]
    """The turns that stay, as ranges of positions."""
    sent: Mapping[int, Form]
    """The messages of turns that stay in another form, by position."""
    kept_tools: Set[int]
    """The tools that stay."""
    units: int
    """Tokens of everything that is sent, without the note."""
    note: str
    steps: tuple[int, int]
    """How many turns stay, and how many there are, without notes of earlier fits."""
    distribution: Mapping[str, int] | None
    """How many of the turns that stay each class has, if turns are selected by class."""
    repairs: Sequence[Repair]
    """How invalid messages were repaired."""
    banned: Sequence[int]
    """The positions of messages whose attachments are too many for one request."""

    @classmethod
    def of(cls, fitting: Fitting) -> HistoryFit:
        """Return a fit; pinned texts are dropped if the budget is too small for them.

        Raises:
            DoesNotFit: not even the marks of what must stay fit.
        """
        try:
            cut = fitting.decide()
        except DoesNotFit:
            bare = fitting.options.without_texts
            if bare == fitting.options:
                raise
            fitting = replace(fitting, options=bare)
            cut = fitting.decide()
        return _finished(fitting, cut)

    @property
    def budget(self) -> int:
        """The budget."""
        return self.fitting.budget

    def kept_turns(self) -> list[int]:
        """Return the turns that stay, in order."""
        return kept_turns(self.cut)

    @property
    def used(self) -> int:
        """Tokens of everything that is sent."""
        return self.units + note_units(self.fitting.turns, self.kept, self.note)

    def sent_messages(self) -> SentMessages:
        """Return the messages to send."""
        turns = self.fitting.turns
        return sent_messages(turns, self.kept, self.sent, self.note, len(turns))

    def last_prompt(self) -> SentMessages:
        """Return what the last fit sent; nothing if that is unknown, or if something else came before it."""
        held, turns = self.fitting.last, self.fitting.turns
        if held is None or held.extra != self._before_messages() or held.length > len(turns):
            return SentMessages([], [])
        if held.check != turns.fingerprint(held.length):
            return SentMessages([], [])
        return sent_messages(turns, held.kept, held.edits, held.note, held.length)

    def held(self, settled: int) -> HeldCut:
        """Return what this fit sends, for the next one; `settled` messages at the start stay as they are."""
        turns, dangling, cut = self.fitting.turns, self.fitting.fixed, self.cut
        edges = [position for span in self.kept for position in span][:-1]
        bound = max([0, *edges, *(position + 1 for position in self.sent if position not in dangling)])
        return HeldCut(
            kept=tuple(self.kept),
            edits={position: self.sent[position] for position in sorted(self.sent)},
            unanswered=tuple(position for position in self.sent if position in dangling),
            note=self.note,
            seen=cut.seen,
            length=len(turns),
            check=turns.fingerprint(len(turns)),
            bound=bound,
            start=turns.fingerprint(bound),
            budget=cut.budget,
            meter=turns.meter.name,
            extra=self._before_messages(),
            settled=settled,
        )

    def _before_messages(self) -> dict[str, int]:
        """Return the tokens of what comes before the messages: tools and a separate system prompt."""
        return {name: units for name, units in self.fitting.extra.items() if name != "reply"}


def _finished(fitting: Fitting, cut: HistoryCut) -> HistoryFit:
    turns, options, tools = fitting.turns, fitting.options, fitting.tools
    if turns.thinks and binds(turns.model):
        cut = _unbound(fitting, cut)
    if turns.documents:
        cut = _uncited(fitting, cut)
    called = fitting.tools_of(cut)
    left = fitting.budget - fitting.used(cut) - (fitting.note_room if cut.is_new else 0)
    kept_tools = tools.filled(called, left)
    units = fitting.units(cut) - tools.cost(called) + tools.cost(kept_tools)
    kept, total, notes, positions = kept_turns(cut), len(turns.starts), turns.notes, fitting.positions(cut)
    steps = len(kept) - len(notes.intersection(kept)), total - len(notes)
    classes, sent, note = None, fitting.sent(cut), cut.note
    if "priority" in options.ways:
        classes = distribution(fitting.reading.ranking.class_of(turn, options) for turn in kept)
    if cut.is_new:
        sums = (*steps, units, fitting.budget, turns.meter.unit, classes)
        summary, less = _summary(fitting, kept), {turns.turn_of(at) for at in sent}
        note = written(*sums, shortened=len(less)) + summary
        if units + note_units(turns, positions, note) > fitting.budget:
            note = written(*sums) + summary  # There may be no room for the number of shortened turns.
    return HistoryFit(
        fitting=fitting,
        cut=cut,
        kept=positions,
        sent=sent,
        kept_tools=kept_tools,
        units=units,
        note=note,
        steps=steps,
        distribution=classes,
        repairs=fitting.repairs,
        banned=fitting.banned,
    )


def _summary(fitting: Fitting, kept: Sequence[int]) -> str:
    """Return a summary of the turns that are dropped; empty without the option `summarise`."""
    summarise, turns = fitting.options.summarise, fitting.turns
    if summarise is None:
        return ""
    dropped = sorted(set(range(len(turns.starts))).difference(kept))
    messages = [turns.messages[position] for turn in dropped for position in turns.members(turn)]
    limit = fitting.budget // SUMMARY - turns.meter.load("\n\n") - 1
    summary = summarise("\n\n".join(spoken(message.role, message.text()) for message in messages), limit)
    if not isinstance(summary, str):
        raise InvalidType("what summarise returned", summary, "a string")
    if turns.meter.load(summary) > limit:
        summary = shortened(summary, limit, turns.meter)
    return f"\n\n{summary}" if summary else ""


def _unbound(fitting: Fitting, cut: HistoryCut) -> HistoryCut:
    """Return a cut without the thinking after the first change, of older messages: a provider may refuse it.

    Newer thinking was produced with the changed messages before it.
    """
    turns, rendering, kept, edits = fitting.turns, fitting.reading.rendering, {*kept_turns(cut)}, {**cut.edits}
    for at in range(_first_change(fitting, cut), cut.seen):
        if turns.messages[at].any("thinking") and turns.turn_of(at) in kept:
            _edit(edits, fitting, at, rendering.without_thinking(at, edits.get(at) or rendering.whole(at)))
    return replace(cut, edits=edits)


def _uncited(fitting: Fitting, cut: HistoryCut) -> HistoryCut:
    """Return a cut without the citations after a document that is not sent: they would point to another one."""
    turns, rendering, kept, edits = fitting.turns, fitting.reading.rendering, {*kept_turns(cut)}, {**cut.edits}
    sent = fitting.sent(cut)
    gone = [at for at in turns.documents if at in sent or not turns.at(at) <= kept]
    for at in range(gone[0], len(turns)) if gone else ():
        if turns.messages[at].role == "assistant" and turns.turn_of(at) in kept:
            form = edits.get(at) or rendering.whole(at)
            raw = None if form.raw is None else turns.wire.uncited(form.raw)
            if raw is not form.raw:
                _edit(edits, fitting, at, rendering.counted(at, raw))
    return replace(cut, edits=edits)


def _edit(edits: dict[int, Form], fitting: Fitting, position: int, form: Form) -> None:
    if form.raw is not fitting.turns.raws[position]:
        edits[position] = form


def _first_change(fitting: Fitting, cut: HistoryCut) -> int:
    """Return the position of the first message that is changed or missing."""
    turns = fitting.turns
    changes = [*fitting.sent(cut)]
    if fitting.left_out(cut):
        gap = cut.spans[0][1] if cut.spans and cut.spans[0][0] == 0 else 0
        changes.append(turns.starts[gap])
    if turns.repairs:
        repaired = min((each.index for each in turns.repairs if each.reason != BLANK), default=len(turns.source))
        changes += [at for at, index in enumerate(turns.indexes) if index >= repaired][:1]
    return min(changes, default=len(turns))
