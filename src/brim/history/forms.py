"""Shorter forms of messages: a result cleared, replaced by a reference, or every long text of a turn cut.

A form is a copy in the caller's own shape with one place changed; nothing of the caller's is touched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from brim.errors import DoesNotFit
from brim.history.note import note
from brim.history.priority import NAMES
from brim.history.turns import Repair, Turns
from brim.receipts.receipt import handle
from brim.truncate import truncator
from brim.wire.base import MEDIA, changed, json_of, without
from brim.wire.message import Message, Path, Piece

CLEARED = "[cleared: {units:,} {unit}, {handle}]"
"""Stands for a result that was taken out; a store finds the text by the handle."""
TWIN = "[the same as a later result]"
_HANDLE = 11
"""Characters of a handle that a prompt spends on it."""
_CUTTABLE = ("text", "output", "call")
"""Kinds of pieces that can be cut and still be what they are."""
_SHAPED = 16
"""Units from which a text keeps its shape when it is cut; in fewer there is none to see."""
_MARK = "…"
"""Where there is no room for a marker that says how much went."""


class Form(NamedTuple):
    """What a message is sent as."""

    raw: Any
    """The message to send; `None` where it is not sent at all."""
    units: int


GONE = Form(None, 0)


class Dangling(NamedTuple):
    """What waits for something that has not come, and what the messages are without it."""

    waiting: Mapping[str, list[int]]
    """The calls, when this was worked out."""
    length: int
    """The messages that there were then, where reasoning may wait as well."""
    forms: Mapping[int, Form]
    """What is sent instead, by position."""
    lost: Mapping[int, int]
    """Units that went, by turn."""
    repairs: Sequence[Repair]


class Forms:
    """The shorter forms of a turns's messages, each made once."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._generation = 0
        self._cleared: dict[int, tuple[int, dict[int, Form]]] = {}
        self._twins: dict[int, tuple[int, dict[int, Form]]] = {}
        self._repeats = -1
        self._dangling = Dangling({}, -1, {}, {}, [])
        self._rooms: dict[tuple[int, int, bool], int] = {}
        self._floor: int | None = None

    def whole(self, position: int) -> Form:
        """Return a message as it is."""
        return Form(self._turns.raws[position], self._turns.units[position])

    def said(self, text: str) -> int:
        """Return the units of a message of the user with this text."""
        return self._turns.chat.frame("user") + self.added(text)

    def added(self, text: str) -> int:
        """Return the units of a text that is added to a message."""
        return self._turns.chat.text(text)

    def note_room(self, digits: int, budget: int, *, classes: bool) -> int:
        """Return the units that a note can take at the most, where numbers of turns have so many digits."""
        known = self._rooms.get((digits, budget, classes))
        if known is None:
            most = 10**digits - 1
            shares = dict.fromkeys(NAMES, most) if classes else None
            widest = note(most, most, budget, budget, self._turns.meter.unit, shares)
            known = self._rooms[digits, budget, classes] = self.said(widest) + 4
        return known

    def cleared(self, turn: int) -> tuple[int, dict[int, Form]]:
        """Return the units of a turn whose results are cleared, and the messages that are shorter then.

        It must not be the newest turn, which may still grow.
        """
        return self.clears().get(turn) or self._clear_turn(turn)

    def clears(self) -> Mapping[int, tuple[int, dict[int, Form]]]:
        """Return what `cleared` would, by turn, as far as it has been asked for."""
        self._keep_up()
        return self._cleared

    def _clear_turn(self, turn: int) -> tuple[int, dict[int, Form]]:
        turns = self._turns
        units, forms = turns.weights[turn], {}
        if turns.light(turn) < units:
            forms = {p: form for p in turns.members(turn) if (form := self._clear(p)).raw is not turns.raws[p]}
            units -= sum([turns.units[p] - form.units for p, form in forms.items()])
        known = self._cleared[turn] = (units, forms)
        return known

    def _keep_up(self) -> None:
        """Forget forms by position once positions have changed."""
        if self._generation != self._turns.generation:
            self._generation = self._turns.generation
            self._cleared, self._twins, self._repeats = {}, {}, -1
            self._dangling = Dangling({}, -1, {}, {}, [])

    def twinned(self) -> Mapping[int, tuple[int, dict[int, Form]]]:
        """Return what results that came again free as mere references to the later one, and the forms, by turn."""
        turns = self._turns
        self._keep_up()
        if self._repeats != turns.repeats:
            self._repeats = turns.repeats
            for turn, again in turns.twins.items():
                known = self._twins.get(turn)
                if known is None or len(known[1]) != len(again):
                    self._twins[turn] = self._twin(again)
        return self._twins

    def _twin(self, again: Sequence[int]) -> tuple[int, dict[int, Form]]:
        turns = self._turns
        forms = {p: self._results_as(turns.messages[p], turns.units[p], lambda *_: TWIN) for p in again}
        return sum(turns.units[p] - form.units for p, form in forms.items()), forms

    def _clear(self, position: int) -> Form:
        turns = self._turns
        message, units = turns.messages[position], turns.units[position]
        if not message.results:
            return Form(message.raw, units)
        return self._results_as(message, units, self._stub)

    def _stub(self, texts: Sequence[Piece], size: int) -> str:
        name = handle("\n".join([piece.text for piece in texts]))[:_HANDLE]
        return CLEARED.format(units=size, unit=self._turns.meter.unit, handle=name)

    def _results_as(self, message: Message, units: int, told: Callable[[Sequence[Piece], int], str]) -> Form:
        """Return a message whose results say what they are told, where that is less than they said."""
        edits: dict[Path, Any] = {}
        count = self._turns.chat.piece
        for result in message.pieces:
            if result.kind == "result" and result.at:
                texts = [piece for piece in message.pieces if _inside(piece, result)]
                size = sum([count(piece) for piece in texts])
                said = told(texts, size)
                less = size - count(Piece("output", said, ()))
                if less > 0:
                    edits[result.at] = said
                    units -= less
        return Form(_edited(message.raw, edits), units) if edits else Form(message.raw, units)

    def without_thinking(self, position: int, form: Form) -> Form:
        """Return a form without the thinking in it."""
        turns = self._turns
        if form.raw is None:
            return form
        message = turns.wire.read(form.raw, turns.indexes[position])
        thoughts = [piece for piece in message.pieces if piece.kind == "thinking"]
        if not thoughts:
            return form
        raw = without(message, thoughts)
        if raw is None:
            return GONE
        return Form(raw, turns.chat.units(turns.wire.read(raw, turns.indexes[position])))

    def dangling(self) -> Dangling:
        """Return the messages with calls that nothing answers yet, without these, and reasoning that led to nothing."""
        turns = self._turns
        self._keep_up()
        waiting = turns.pairs.open
        length = len(turns) if turns.wire.batches else 0
        if self._dangling.waiting != waiting or self._dangling.length != length:
            calls: dict[int, list[str]] = {}
            for call, callers in waiting.items():
                for at in callers:
                    calls.setdefault(at, []).append(call)
            found = {at: self._without_calls(at, calls[at]) for at in calls}
            found.update({at: self._idle(at) for at in turns.idle({at for at in found if found[at][0] is GONE})})
            lost: dict[int, int] = {}
            for at, (_, repair) in found.items():
                turn = turns.turn_of(at)
                lost[turn] = lost.get(turn, 0) + repair.units
            forms = {at: found[at][0] for at in sorted(found)}
            repairs = [found[at][1] for at in forms]
            known = {call: list(callers) for call, callers in waiting.items()}
            self._dangling = Dangling(known, length, forms, lost, repairs)
        return self._dangling

    def _idle(self, position: int) -> tuple[Form, Repair]:
        turns = self._turns
        reason = "nothing follows the reasoning"
        return GONE, Repair(turns.indexes[position], "dropped", reason, turns.units[position], turns.raws[position])

    def _without_calls(self, position: int, calls: Sequence[str]) -> tuple[Form, Repair]:
        turns = self._turns
        message = turns.messages[position]
        left, gone = list(calls), []
        for piece in reversed(message.pieces):
            if piece.kind == "call" and piece.id in left:
                left.remove(piece.id)
                gone.append(piece)
        raw = without(message, gone)
        form = GONE if raw is None else Form(raw, turns.chat.units(turns.wire.read(raw, turns.indexes[position])))
        reason = f"nothing answers the call {', '.join(map(repr, calls))}"
        lost, action = turns.units[position] - form.units, "dropped" if raw is None else "changed"
        return form, Repair(turns.indexes[position], action, reason, lost, message.raw)

    @property
    def floor(self) -> int:
        """Units that a text is left with at the least when it is cut: a few, and the shortest mark."""
        if self._floor is None:
            self._floor = 3 + self.mark
        return self._floor

    @property
    def mark(self) -> int:
        """Units of the shortest mark, which is all that is left of a text where nothing else fits."""
        return self._turns.chat.text(_MARK)

    def shortened(self, forms: Mapping[int, Form], room: int, floor: int) -> dict[int, Form]:
        """Return some messages with their longest texts cut by shape, so that all count at most `room`.

        The longest are cut first, all to the same length, so that short ones stay whole.

        Raises:
            DoesNotFit: even with each text cut to the floor they count more.
        """
        texts = [text for position, form in forms.items() for text in self._texts(position, form)]
        left = room - sum(form.units for form in forms.values()) + sum(size for size, _, _ in texts)
        level = _level([size for size, _, _ in texts], left)
        objects: list[Piece] = []
        if level < max(floor, self._nothing):
            objects = [piece for _, _, piece in texts if self._takes_object(piece)]
            spoken = [size for size, _, piece in texts if piece not in objects]
            left -= sum(min(size, self._nothing) for size, _, piece in texts if piece in objects)
            level = _level(spoken, left)
            if left < 0 or (level < floor and any(size > level for size in spoken)):
                raise DoesNotFit(
                    f"{len(forms)} messages cannot be cut to {room:,} {self._turns.meter.unit}",
                    needed=room - left + sum(min(size, floor) for size in spoken),
                    available=room,
                )
        cut = dict(forms)
        for size, position, piece in texts:
            if size > (self._nothing if piece in objects else level):
                text = "{}" if piece in objects else self._cut(piece, level)
                raw = changed(cut[position].raw, {piece.at: self._value(piece, text)})
                cut[position] = Form(raw, cut[position].units - size + self._turns.chat.text(text))
        return cut

    @property
    def _nothing(self) -> int:
        """Units of arguments that are an object without anything in it."""
        return self._turns.chat.text("{}")

    def _takes_object(self, piece: Piece) -> bool:
        """Return whether a piece is the arguments of a function, which are an object; a custom tool takes any text."""
        return piece.kind == "call" and (piece.at[-1] != "input" or self._turns.wire.name == "anthropic")

    def _texts(self, position: int, form: Form) -> list[tuple[int, int, Piece]]:
        """Return each text of a message that can be cut, with its units and its position."""
        turns = self._turns
        if form.raw is None:
            return []
        whole = form.raw is turns.raws[position]
        message = turns.messages[position] if whole else turns.wire.read(form.raw, turns.indexes[position])
        pieces = [piece for piece in message.pieces if piece.kind in _CUTTABLE and piece.text and piece.at]
        return [(turns.chat.piece(Piece("text", piece.text, ())), position, piece) for piece in pieces]

    def _cut(self, piece: Piece, limit: int) -> str:
        """Return a text cut to a limit by its shape; the arguments of a function stay an object."""
        meter = self._turns.meter
        if self._takes_object(piece):
            try:
                text = truncator("json").truncate(piece.text, limit, meter).text
                value = json.loads(text)
            except (DoesNotFit, ValueError, RecursionError):
                return "{}"
            if self._turns.wire.name == "anthropic":
                text = json_of(value, "input")
            return text if isinstance(value, dict) and meter.load(text) <= limit else "{}"
        for keep in (truncator("shape"), truncator("head", _MARK))[limit < _SHAPED :]:
            room = limit
            while room > 0:
                try:
                    text = keep.truncate(piece.text, room, meter).text
                except DoesNotFit:
                    break
                over = meter.load(text) - limit
                if over <= 0:
                    return text
                room -= over
        return _MARK

    def _value(self, piece: Piece, text: str) -> Any:
        """Return what stands for a text in the message: the arguments of a call may be no text but an object."""
        if piece.kind == "call" and self._turns.wire.name == "anthropic":
            return json.loads(text)
        return text


def _inside(piece: Piece, result: Piece) -> bool:
    """Return whether a piece is part of what a result returned."""
    return piece.kind in ("output", "opaque", *MEDIA) and piece.at[: len(result.at)] == result.at


def _edited(raw: Any, edits: Mapping[Path, Any]) -> Any:
    if type(raw) is dict and all(len(path) == 1 for path in edits):
        return {**raw, **{path[0]: value for path, value in edits.items()}}
    return changed(raw, edits)


def _level(sizes: Sequence[int], room: int) -> int:
    """Return the most that each size may have for all of them to fit together."""
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return max(0, left // count)
        left -= size
        count -= 1
    return max(sizes, default=0)
