"""The messages that the next prompt is made of, each counted once, and what their tokens are spent on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from brim.errors import DoesNotFit
from brim.history.compact import mark
from brim.history.history import History
from brim.history.note import is_note
from brim.history.options import Options
from brim.history.prompt import note_place, note_units, sent_messages
from brim.history.receipt import written
from brim.history.result import Fitted
from brim.history.spans import turns_at
from brim.history.stable import HeldCut, Stable
from brim.meter.base import BaseMeter
from brim.receipts.receipt import handle
from brim.sessions.read_ahead import ReadAhead
from brim.wire import Format
from brim.wire.message import Message

_MANY = 64
"""Messages from which on it pays to look for those that were counted."""
_NOTHING: Mapping[str, Any] = {"tools": None, "system": None, "fields": None}
"""What stands before messages that stand alone."""

_RESULT = 200
"""Tokens that are left to a newest turn with results before memory gives way to it."""


class DroppedTurn(NamedTuple):
    """A turn that is not sent as it came."""

    handle: str
    """The hash of its messages, which receipts name."""
    messages: list[Any]
    numbers: list[int]
    """The entries of its messages; empty if the log does not have all of them as they were sent."""


class Context:
    """The messages of the next prompt, before it is fitted."""

    def __init__(
        self,
        scale: BaseMeter,
        messages: Sequence[Any] = (),
        *,
        stable: Stable | bool = True,
        format: str | None = None,
        summary: mark.Summary | None = None,
    ) -> None:
        """Count messages; `summary` is that of the last compaction, if there was one."""
        self._format = format
        self._summary = summary
        self.history = History(meter=scale, stable=stable, format=cast("Format | None", format))
        self._sums: dict[str, int] = {}
        self._names: list[str] = []
        """The category of each message that was counted."""
        self._counted = (0, 0)
        self._sent: tuple[list[Any], dict[str, int]] = ([], {})
        """The messages of the last prompt that was cut, and their tokens by category."""
        self._kept = (0, dict[int, int]())
        """The generation of the turns, and those that the log has as dropped, by first position and end."""
        self._left = (0, dict[int, int]())
        """How many messages were left out last, and those of their turns that are to be logged."""
        self._cut: Any = None
        """The cut by which `_left` was found."""
        self.numbers: dict[int, int] = {}
        """The numbers of the entries of messages, by their indexes, where known."""
        self.ahead = ReadAhead(self.history)
        self.extend(messages)
        turns = self.history.turns
        marked = ((at, mark.piece_of(each, summary)) for at, each in enumerate(turns.messages))
        self._pins = [turns.indexes[at] for at, piece in marked if piece is not None]

    @property
    def messages(self) -> list[Any]:
        """The messages as they came."""
        return self.history.turns.source

    @property
    def units(self) -> int:
        """Tokens of all messages."""
        return self.history.turns.fixed + self.history.turns.total

    def extend(self, messages: Sequence[Any]) -> None:
        """Add messages at the end."""
        self.history.extend(messages)

    def anew(self, scale: BaseMeter, messages: Sequence[Any], summary: mark.Summary | None = None) -> Context:
        """Return a context of other messages, or of the same with another meter; a cut is held if it fits them."""
        stable, format = self.history.stable or False, self.history.turns.format
        return Context(scale, messages, stable=stable, format=format, summary=summary)

    def as_sent(self) -> Context | None:
        """Return a context of the messages as the cut that is held leaves them; `None` if there is none to continue."""
        turns, stable = self.history.turns, self.history.stable
        if stable is None or (held := stable.held) is None:
            return None
        if not held.budget or held.unanswered or held.length > len(turns):
            return None
        if held.check != turns.fingerprint(held.length):
            return None
        sent = sent_messages(turns, held.kept, held.edits, held.note, held.length).messages
        made = Context(turns.meter, sent, stable=replace(stable, held=None), format=turns.format, summary=self._summary)
        made.fit(held.budget, before=_NOTHING, counted=made.history.extra_units())
        if (fitted := made.history.stable) is not None and fitted.held is not None:
            made.history.rewind((replace(fitted, held=replace(fitted.held, extra=held.extra)), None))
        made.extend(turns.raws[held.length :])
        made.take_numbers(self)
        return made

    def take_numbers(self, before: Context) -> None:
        """Take the numbers of the entries of messages that a context before has too."""
        own = {id(raw): at for at, raw in enumerate(before.messages)}
        found = ((at, before.numbers.get(own.get(id(raw), -1))) for at, raw in enumerate(self.messages))
        self.numbers = {at: number for at, number in found if number is not None}

    def shortened(self, length: int) -> Context:
        """Return a context of the first messages, as it was before the others came."""
        stable = self.history.stable
        lines = False if stable is None else stable
        scale, messages = self.history.turns.meter, self.messages[:length]
        made = Context(scale, messages, stable=lines, format=self._format, summary=self._summary)
        generation, kept = self._kept
        if generation == self.history.turns.generation:
            made._kept = made.history.turns.generation, {start: stop for start, stop in kept.items() if stop <= length}
        made.numbers = {at: number for at, number in self.numbers.items() if at < length}
        made.history.rewind(self.history.checkpoint())
        return made

    def fit(
        self,
        budget: int,
        *,
        before: Mapping[str, Any],
        counted: tuple[Mapping[str, int], bool],
        capture: bool = False,
        query: str | None = None,
        pin: Sequence[int] = (),
    ) -> Fitted:
        """Return the prompt that fits a budget; pinned messages stay, and so does a summary of earlier turns.

        Args:
            budget: tokens for everything.
            before: what stands before the messages: tools, system prompt and other fields.
            counted: its tokens by name, and whether they are exact.
            capture: whether the receipt's JSON holds the messages.
            query: selects older turns by relevance.
            pin: the indexes of messages that stay.
        """
        options = Options(pin=[*pin] or None)
        if query:
            options = replace(options, select="recency+relevance", query=query)
        if not self._pins:
            return self.history.fit_counted(budget, before, counted, options, capture=capture)
        pinned = replace(options, pin=[*self._pins, *pin])
        try:
            return self.history.fit_counted(budget, before, counted, pinned, capture=capture)
        except DoesNotFit:  # The budget has become smaller since: better less of the summary than no prompt.
            return self.history.fit_counted(budget, before, counted, options, capture=capture)

    @property
    def essential(self) -> int:
        """Tokens of what has to stay: system messages, the task, the last instruction and the newest turn.

        Results of the newest turn can be cut, so they count only a little.
        """
        turns = self.history.turns
        _, units, stays = self.history.demand(Options())
        if stays and any(turns.messages[at].results for at in turns.members(stays[-1])):
            units -= max(0, turns.weights[stays[-1]] - turns.tokens(_RESULT))
        return turns.fixed + units

    def categories(self) -> dict[str, int]:
        """Return the tokens of all messages by category."""
        self._count()
        return dict(self._sums)

    def _count(self) -> None:
        """Count messages that have come by category."""
        turns = self.history.turns
        had, order = self._counted
        if order != turns.order:
            had, self._sums, self._names = 0, {}, []
        for message, units in zip(turns.messages[had:], turns.units[had:], strict=True):
            self._names.append(self._add(self._sums, message, units))
        self._counted = (len(turns), turns.order)

    def categories_of(self, messages: Sequence[Any], held: HeldCut | None = None) -> dict[str, int]:
        """Return the tokens of sent messages by category; those that the last prompt began with are not read again.

        `held` is the cut by which they were sent, if there is one.
        """
        turns, (before, known) = self.history.turns, self._sent
        had = len(before) if before == messages[: len(before)] else 0
        sums = dict(known) if had else {}
        if held is not None and len(messages) - had > _MANY and self._is_plain(held):
            sums, had = self._cut_categories(held), len(messages)
        for i, raw in enumerate(messages[had:], start=had):
            message = turns.wire.read(raw, i)
            self._add(sums, message, turns.chat.units(message))
        self._sent = (list(messages), dict(sums))
        return sums

    def _is_plain(self, held: HeldCut) -> bool:
        """Return whether every message that a cut sends is of one category, since none can have a summary in it."""
        return self._summary is None and held.length == len(self.history.turns)

    def _cut_categories(self, held: HeldCut) -> dict[str, int]:
        """Return the tokens by category of what a cut sends."""
        turns, edits, sums = self.history.turns, held.edits, dict[str, int]()
        sent = {*turns.system, *(at for start, stop in held.kept for at in range(start, stop))}
        names: Mapping[int, str] | Sequence[str] = self._names
        if self._counted != (len(turns), turns.order):  # A session that was opened counts them when messages come.
            names = {at: _category(turns.messages[at]) for at in sent}
        for at in sent:
            units = edits[at].units if at in edits else turns.units[at]
            sums[names[at]] = sums.get(names[at], 0) + units
        if held.note:
            place = note_place(turns, held.kept)
            name = "framing" if place is None else names[place]
            sums[name] = sums.get(name, 0) + note_units(turns, held.kept, held.note)
        return sums

    def _add(self, sums: dict[str, int], message: Message, units: int) -> str:
        """Add the tokens of a message to its category, and return that."""
        summary = mark.piece_of(message, self._summary)
        if summary is not None:
            size = units if len(message.pieces) == 1 else self.history.turns.chat.piece(summary)
            sums["summary"] = sums.get("summary", 0) + size
            units -= size
        name = _category(message)
        if units:
            sums[name] = sums.get(name, 0) + units
        return name

    def left_out(self, sent: Sequence[Any], cut: Any = None) -> list[DroppedTurn]:
        """Return the turns that are not sent as they came, without those that the log has noted as dropped.

        `cut` is a value that stays the same as long as the same messages are left out.
        """
        turns = self.history.turns
        cut = None if cut is None else (cut, turns.generation)
        if cut is not None and cut == self._cut and not self._left[1]:
            return []
        self._cut = cut
        there = set(map(id, sent))
        gone = [at for at, raw in enumerate(turns.raws) if id(raw) not in there]
        generation, kept = self._kept
        spans = turns_at(gone, turns.starts, len(turns))
        if generation == turns.generation and kept:
            spans = {start: stop for start, stop in spans.items() if kept.get(start) != stop}
        self._left = len(gone), spans
        return [self._dropped_turn(turns.members(turns.turn_of(start))) for start in spans]

    def _dropped_turn(self, members: list[int]) -> DroppedTurn:
        turns = self.history.turns
        raws, places = [turns.raws[at] for at in members], [turns.indexes[at] for at in members]
        # A message that was repaired is not as the log has it.
        same = all(raw is turns.source[at] for raw, at in zip(raws, places, strict=True))
        numbers = [self.numbers.get(at, 0) if same else 0 for at in places]
        return DroppedTurn(handle(written(raws)), raws, numbers if all(numbers) else [])

    @property
    def missing(self) -> int:
        """How many messages `left_out` found last that are not sent as they came."""
        return self._left[0]

    def remains(self) -> list[Any]:
        """Return what this context is made of, for a caller that frees it little by little."""
        turns = self.history.turns
        return [*turns.messages, *turns.raws]

    def kept(self) -> None:
        """Note that the log has the turns which `left_out` returned last."""
        generation, kept = self._kept
        now = self.history.turns.generation
        self._kept = now, (kept | self._left[1] if generation == now else self._left[1])
        self._left = self._left[0], {}

    def checkpoint(self) -> tuple[Any, ...]:
        """Return what the last fit left behind, for `rewind`."""
        return self.history.checkpoint(), self._left, self._cut

    def rewind(self, to: tuple[Any, ...]) -> None:
        """Forget the fits since a checkpoint: their prompts were not sent."""
        # What such a fit left out was not written, so the next write must not count it as kept.
        fits, self._left, self._cut = to
        self.history.rewind(fits)


def _category(message: Message) -> str:
    if message.results:
        return "tool results"
    if message.role == "user":
        return "framing" if is_note(message) else "user"
    return "tool results" if message.role == "tool" else message.role


def held_dict(stable: Stable | None) -> dict[str, Any] | None:
    """Return the cut that is held as JSON values; `None` if there is none."""
    return None if stable is None or stable.held is None else stable.held.to_dict()


def held_from(values: Mapping[str, Any] | None) -> HeldCut | None:
    """Return the cut that `held_dict` wrote."""
    return None if values is None else HeldCut.from_dict(values)
