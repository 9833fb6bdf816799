"""Shorter forms of messages: a result replaced by a reference, or every long text of a turn cut.

A form is a changed copy in the caller's format; the caller's message is not touched.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from brim.errors import DoesNotFit
from brim.history.bindings import asks_for_thinking
from brim.history.note import note
from brim.history.priority import NAMES
from brim.history.repair import Repair
from brim.history.turns import Turns
from brim.receipts.receipt import Part
from brim.truncate import Truncator, truncator
from brim.truncate.base import shrink
from brim.wire.base import changed
from brim.wire.message import MEDIA, Message, Path, Piece
from brim.wire.values import json_of

TWIN = "[the same as a later result]"
SHOWN_HANDLE = 11
"""Characters of a handle in a prompt."""
_CUTTABLE = ("text", "output", "call")
"""Kinds of pieces that can be cut."""
_SHAPED = 16
"""Tokens from which a text is cut by its structure; a shorter one has none."""
_MARK = "…"
"""The shortest marker."""


class Form(NamedTuple):
    """A message as it is sent."""

    raw: Any
    """The message to send; `None` if it is not sent."""
    units: int


GONE = Form(None, 0)


class Dangling(NamedTuple):
    """Messages with calls that have no result, or with reasoning that nothing follows."""

    forms: Mapping[int, Form]
    """The messages without these, by position."""
    lost: Mapping[int, int]
    """Tokens that this frees, by turn."""
    repairs: Sequence[Repair]


class Forms:
    """The shorter forms of the messages of a history, each made once."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._generation = 0
        self._twins: dict[int, tuple[int, dict[int, Form]]] = {}
        self._repeats = -1
        self._rooms: dict[tuple[int, int, bool], int] = {}
        self._parts = (0, dict[tuple[int, int], Part]())

    def parts(self, generation: int) -> dict[tuple[int, int], Part]:
        """Return what receipts say of turns that were dropped, by their first position and the one after, to add to.

        Receipts of a history that grows have most of them in common. They hold for one generation of the turns.
        """
        if self._parts[0] != generation:
            self._parts = (generation, {})
        return self._parts[1]

    def whole(self, position: int) -> Form:
        """Return a message as it is."""
        return Form(self._turns.raws[position], self._turns.units[position])

    def note_room(self, digits: int, budget: int, *, classes: bool) -> int:
        """Return the most tokens that a note can take, if numbers of turns have so many digits."""
        known = self._rooms.get((digits, budget, classes))
        if known is None:
            most = 10**digits - 1
            shares = dict.fromkeys(NAMES, most) if classes else None
            widest = note(most, most, budget, budget, self._turns.meter.unit, shares)
            chat = self._turns.chat
            known = self._rooms[digits, budget, classes] = chat.frame("user") + chat.text(widest) + 4
        return known

    def _keep_up(self) -> None:
        """Discard the cached forms once positions have changed."""
        if self._generation != self._turns.generation:
            self._generation = self._turns.generation
            self._twins, self._repeats = {}, -1

    def twinned(self) -> Mapping[int, tuple[int, dict[int, Form]]]:
        """Return the tokens that references to repeated results free, and these forms, by turn."""
        units = self._turns.units
        self._keep_up()
        # A history may have thousands of repeated results: they are looked at again only after a new one.
        fresh = self._turns.twins.items() if self._repeats != self._turns.repeats else ()
        self._repeats = self._turns.repeats
        for turn, again in fresh:
            if turn not in self._twins or len(self._twins[turn][1]) != len(again):
                forms = {p: self._referring(p) for p in again}
                self._twins[turn] = sum(units[p] - form.units for p, form in forms.items()), forms
        return self._twins

    def _referring(self, position: int) -> Form:
        """Return a message whose results refer to a later one, if that is shorter."""
        edits: dict[Path, Any] = {}
        message, units = self._turns.messages[position], self._turns.units[position]
        count = self._turns.chat.piece
        for result in message.pieces:
            if result.kind == "result" and result.at:
                size = sum([count(piece) for piece in message.pieces if inside(piece, result)])
                less = size - count(Piece("output", TWIN, ()))
                if less > 0:
                    edits[result.at] = self._turns.wire.result(TWIN)
                    units -= less
        return Form(changed(message.raw, edits) if edits else message.raw, units)

    def without(self, position: int, message: Message, pieces: Collection[Piece]) -> Form:
        """Return a message without some of its pieces."""
        turns = self._turns
        raw = turns.wire.without(message, pieces)
        return GONE if raw is None else Form(raw, turns.chat.units(turns.wire.read(raw, turns.indexes[position])))

    def without_thinking(self, position: int, form: Form) -> Form:
        """Return a form without the thinking in it; that before the last call stays.

        A message of thinking alone becomes a mark where user and model must take turns.
        """
        if form.raw is None or position == self.owed:
            return form
        wire, index = self._turns.wire, self._turns.indexes[position]
        message = wire.read(form.raw, index)
        thoughts = [piece for piece in message.pieces if piece.kind == "thinking"]
        if not thoughts:
            return form
        made = self.without(position, message, thoughts)
        if made is GONE and wire.pairs:
            made = self.without(position, wire.read(wire.append(form.raw, _MARK), index), thoughts)
        return made

    @property
    def owed(self) -> int | None:
        """The position of the model's last message with calls, whose thinking the provider may ask for."""
        turns = self._turns
        if not asks_for_thinking(turns.model):
            return None
        unanswered = {at for callers in turns.pairs.open.values() for at in callers}
        places = (at for at in range(len(turns) - 1, -1, -1) if at not in unanswered)
        last = next((at for at in places if turns.messages[at].role == "assistant"), None)
        return last if last is not None and turns.messages[last].calls else None

    def dangling(self) -> Dangling:
        """Return the messages with calls that have no result yet, without these calls, and idle reasoning."""
        turns, calls = self._turns, dict[int, list[str]]()
        for call, callers in turns.pairs.open.items():
            for at in callers:
                calls.setdefault(at, []).append(call)
        found = {at: self._without_calls(at, calls[at]) for at in calls}
        reasons = {at: f"nothing answers the call {', '.join(map(repr, calls[at]))}" for at in calls}
        for at in turns.idle({at for at, form in found.items() if form is GONE}):
            found[at], reasons[at] = GONE, "nothing follows the reasoning"
        lost: dict[int, int] = {}
        repairs = []
        for at in sorted(found):
            turn, units = turns.turn_of(at), turns.units[at] - found[at].units
            lost[turn] = lost.get(turn, 0) + units
            action = "dropped" if found[at].raw is None else "changed"
            repairs.append(Repair(turns.indexes[at], action, reasons[at], units, turns.raws[at]))
        return Dangling(found, lost, repairs)

    def _without_calls(self, position: int, calls: Sequence[str]) -> Form:
        message = self._turns.messages[position]
        left, gone = Counter(calls), []
        for piece in reversed(message.pieces):
            if piece.kind == "call" and left[piece.id]:
                left[piece.id] -= 1
                gone.append(piece)
        return self.without(position, message, gone)

    def recounted(self, position: int, form: Form) -> Form:
        """Return a form that another meter has counted, counted by this one."""
        if form.raw is None:
            return Form(None, 0)
        turns = self._turns
        return Form(form.raw, turns.chat.units(turns.wire.read(form.raw, turns.indexes[position])))

    @property
    def floor(self) -> int:
        """The least tokens of a text that is cut: a few, and the shortest marker."""
        return 3 + self.mark

    @property
    def mark(self) -> int:
        """Tokens of the shortest marker, which is all of a text if nothing else fits."""
        return self._turns.chat.text(_MARK)

    def shortened(self, forms: Mapping[int, Form], room: int, floor: int) -> dict[int, Form]:
        """Return some messages with their longest texts cut, so that all count at most `room`.

        The longest are cut first, all to the same length, so that short ones stay whole.

        Raises:
            DoesNotFit: even with each text cut to the floor they count more.
        """
        texts = [text for position, form in forms.items() for text in self._texts(position, form)]
        left = room - sum(form.units for form in forms.values()) + sum(size for size, _, _ in texts)
        level = level_of([size for size, _, _ in texts], left)
        empties = level < max(floor, self._nothing)
        if empties:
            spoken = [size for size, _, piece in texts if not self.takes_object(piece)]
            left -= sum(min(size, self._nothing) for size, _, piece in texts if self.takes_object(piece))
            level = level_of(spoken, left)
            if left < 0 or (level < floor and any(size > level for size in spoken)):
                raise DoesNotFit(
                    f"{len(forms)} messages cannot be cut to {room:,} {self._turns.meter.unit}",
                    needed=room - left + sum(min(size, floor) for size in spoken),
                    available=room,
                )
        edits: dict[int, dict[Path, Any]] = {}
        units = {position: form.units for position, form in forms.items()}
        for size, position, piece in texts:
            empty = empties and self.takes_object(piece)
            if size > (self._nothing if empty else level):
                text = "{}" if empty else self._cut(piece, level)
                edits.setdefault(position, {})[piece.at] = self._turns.wire.value(piece, text)
                units[position] += self._turns.chat.text(text) - size
        cut = {at: Form(changed(forms[at].raw, edits[at]), units[at]) for at in edits}
        return {**forms, **cut}

    @property
    def _nothing(self) -> int:
        """Tokens of empty arguments."""
        return self._turns.chat.text("{}")

    def takes_object(self, piece: Piece) -> bool:
        """Return whether a piece is the arguments of a function, which are an object, not those of a custom tool."""
        return piece.kind == "call" and (piece.at[-1] != "input" or self._turns.wire.objects)

    def _texts(self, position: int, form: Form) -> list[tuple[int, int, Piece]]:
        """Return each text of a message that can be cut, with its tokens and its position."""
        turns = self._turns
        if form.raw is None:
            return []
        whole = form.raw is turns.raws[position]
        message = turns.messages[position] if whole else turns.wire.read(form.raw, turns.indexes[position])
        pieces = [piece for piece in message.pieces if piece.kind in _CUTTABLE and piece.text and piece.at]
        return [(turns.chat.piece(Piece("text", piece.text, ())), position, piece) for piece in pieces]

    def _cut(self, piece: Piece, limit: int) -> str:
        """Return a text cut to a limit by its structure; the arguments of a function stay an object."""
        meter = self._turns.meter
        if self.takes_object(piece):
            try:
                text = truncator("json").truncate(piece.text, limit, meter).text
                value = json.loads(text)
            except (DoesNotFit, ValueError, RecursionError):
                return "{}"
            if self._turns.wire.objects:
                text = json_of(value, "input")
            return text if isinstance(value, dict) and meter.load(text) <= limit else "{}"
        for keep in (truncator("shape"), truncator("head", _MARK))[limit < _SHAPED :]:
            with suppress(DoesNotFit):
                return shrink(piece.text, limit, meter, self._cutter(piece.text, keep), meter.load).text
        return _MARK

    def _cutter(self, text: str, keep: Truncator) -> Callable[[int], str]:
        return lambda room: keep.truncate(text, room, self._turns.meter).text


def inside(piece: Piece, result: Piece) -> bool:
    """Return whether a piece is part of the content of a result."""
    return piece.kind in ("output", "opaque", "remainder", *MEDIA) and piece.at[: len(result.at)] == result.at


def level_of(sizes: Sequence[int], room: int) -> int:
    """Return the largest size to which all can be cut so that they fit together."""
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return max(0, left // count)
        left -= size
        count -= 1
    return max(sizes, default=0)
