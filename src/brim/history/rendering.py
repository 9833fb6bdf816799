"""Messages with some of their items left out, in the caller's own format.

An edit changes one place in a copy of the caller's object; everything else is shared with it. What is left out is
replaced by a mark in ordinary words, so a reader sees that something stood there, and how much.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any, NamedTuple

from brim.history.repeats import Repeats
from brim.history.rules import asks_for_thinking
from brim.history.turns import Repair, Turns
from brim.truncate.base import mark
from brim.truncate.json_parts import LARGEST, Parts, json_parts, members
from brim.truncate.parts import LONG_LINE, TextParts, grain
from brim.wire.base import GONE as REMOVED
from brim.wire.base import changed
from brim.wire.message import MEDIA, Message, Path, Piece

SHORTEST = "…"
"""The shortest mark, where no words fit."""
_THOUGHT = "[reasoning omitted]"
_BEGINNING = 80
"""Characters of a long value that its mark shows: enough to tell one call from another."""

_SENTENCE = 240
"""Characters of a line of prose above which it is divided into sentences, and of the longest part of one."""
_SHORT_SENTENCE = 24
"""Characters up to which a sentence forms one part with the next: `Yes.`, or the number of an item."""
_LARGE = 3 * LONG_LINE
"""Characters of a room in which a text is divided as usual."""

Shown = Set[int] | None
"""What is shown of a piece: `None` for all of it, or the numbers of its parts."""
MARKED: Set[int] = frozenset()
"""Nothing but a mark in words."""
BARE: Set[int] = frozenset((-1,))
"""Nothing but the shortest mark."""


class Form(NamedTuple):
    """A message as it is sent."""

    raw: Any
    """The message to send; `None` if it is not sent."""
    units: int


GONE = Form(None, 0)


class Rendering:
    """Writes the messages of a history with some of their items."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.repeats = Repeats(turns)
        self._divided: dict[tuple[int, int], Parts] = {}
        self._written: dict[int, tuple[Any, Form]] = {}
        """The last form of each message, with what it shows: most messages look the same in the next prompt."""
        self._order, self._room = turns.order, _LARGE

    def divide(self, room: int) -> bool:
        """Divide texts so finely that several parts of each fit some room; return whether that is a change."""
        now = self._turns.order, min(room, _LARGE)
        changed_ = now != (self._order, self._room)
        if changed_:
            (self._order, self._room), self._divided, self._written = now, {}, {}
        return changed_

    def parts(self, position: int, at: int) -> Parts:
        """Return the parts of a text of a message, or of the arguments of a call."""
        parts = self._divided.get((position, at))
        if parts is None:
            piece = self._turns.messages[position].pieces[at]
            written = piece.kind == "text" and not self._turns.printed(position)
            parts = self._divided[position, at] = parts_of(piece.text, written=written, room=self._room)
        return parts

    def whole(self, position: int) -> Form:
        """Return a message unchanged."""
        return Form(self._turns.raws[position], self._turns.units[position])

    def form(self, position: int, shown: Mapping[int, Shown], again: Collection[int] = ()) -> Form:
        """Return a message of which only some is shown.

        Args:
            position: the position of the message.
            shown: what is shown of its pieces, by their index; other pieces are whole.
            again: the pieces that stand whole in a later message of the prompt.
        """
        known, what = self._written.get(position), (dict(shown), [*again])
        if known is None or known[0] != what:
            known = self._written[position] = what, self._formed(position, shown, again)
        return known[1]

    def _formed(self, position: int, shown: Mapping[int, Shown], again: Collection[int]) -> Form:
        turns, edits, removed, units = self._turns, dict[Path, Any](), False, self._turns.units[position]
        message, chat, exact = turns.messages[position], turns.chat, True
        for at, chosen in shown.items():
            piece = message.pieces[at]
            if chosen is None:
                continue
            if piece.kind in ("text", "output") or (piece.kind == "thinking" and turns.wire.told):
                text = self._text(position, at, chosen, again=at in again)
                edits[piece.at] = turns.wire.value(piece, text)
                units += chat.text(text) - chat.text(piece.text)
                exact &= piece.at[-1] != "response"
            elif piece.kind == "call":
                edits[piece.at] = turns.wire.value(piece, self._arguments(position, at, chosen))
                exact = False
            else:
                edits[piece.whole] = _without(turns.wire, piece, bare=chosen is BARE)
                exact = False
            removed |= message.role == "system" and not chosen
        if not edits:
            return self.whole(position)
        if removed and all(not shown.get(at, (0,)) for at, piece in enumerate(message.pieces) if piece.text):
            return GONE  # A reminder in the middle that stands again later.
        raw = changed(turns.raws[position], edits)
        return Form(raw, units) if exact else self.counted(position, raw)

    def _text(self, position: int, at: int, chosen: Set[int], *, again: bool) -> str:
        """Return a text of which some parts are shown."""
        if chosen is BARE:
            return SHORTEST
        if self._turns.messages[position].pieces[at].kind == "thinking":
            return _THOUGHT
        if again and not chosen:
            return self.repeats.mark(position, at)
        return self.parts(position, at).show(chosen)

    def _arguments(self, position: int, at: int, chosen: Set[int]) -> str:
        """Return the arguments of a call: with marks for long values, or with some of their parts."""
        piece = self._turns.messages[position].pieces[at]
        if not self.takes_object(piece):
            return SHORTEST if chosen is BARE else self.parts(position, at).show(chosen)
        if chosen is BARE:
            return "{}"
        parts = self.parts(position, at)
        text = parts.show(chosen) if chosen else brief_arguments(piece.text)
        return text if text.startswith("{") else brief_arguments(piece.text)

    def takes_object(self, piece: Piece) -> bool:
        """Return whether the arguments of a call must be an object; those of a custom tool are a text."""
        return piece.at[-1] != "input" or self._turns.wire.objects

    def counted(self, position: int, raw: Any) -> Form:
        """Return a changed message with its tokens."""
        turns = self._turns
        return GONE if raw is None else Form(raw, turns.chat.units(turns.wire.read(raw, turns.indexes[position])))

    def without(self, position: int, message: Message, pieces: Collection[Piece]) -> Form:
        """Return a message without some of its pieces."""
        return self.counted(position, self._turns.wire.without(message, pieces))

    def without_thinking(self, position: int, form: Form) -> Form:
        """Return a form without its thinking, unless it is the thinking before the last call.

        A message of only thinking becomes a mark where user and model must take turns.
        """
        if form.raw is None or not self._turns.messages[position].any("thinking") or position == self.owed:
            return form
        wire, index = self._turns.wire, self._turns.indexes[position]
        message = wire.read(form.raw, index)
        thoughts = [piece for piece in message.pieces if piece.kind == "thinking"]
        if not thoughts:
            return form
        made = self.without(position, message, thoughts)
        if made is GONE and wire.pairs:
            made = self.without(position, wire.read(wire.append(form.raw, SHORTEST), index), thoughts)
        return made

    @property
    def owed(self) -> int | None:
        """The position of the model's last message with calls, if it has thinking that the provider may ask for."""
        turns = self._turns
        if not asks_for_thinking(turns.model):
            return None
        unanswered = {at for callers in turns.seams.open.values() for at in callers}
        places = (at for at in range(len(turns) - 1, -1, -1) if at not in unanswered)
        last = next((at for at in places if turns.messages[at].role == "assistant"), None)
        asked = last is not None and turns.messages[last].calls and turns.messages[last].any("thinking")
        return last if asked else None

    def dangling(self) -> tuple[dict[int, Form], list[Repair]]:
        """Return messages without calls that have no result yet and without idle reasoning, and what was repaired."""
        turns, calls = self._turns, dict[int, list[str]]()
        for call, callers in turns.seams.open.items():
            for at in callers:
                calls.setdefault(at, []).append(call)
        found = {at: self._without_calls(at, calls[at]) for at in calls}
        reasons = {at: f"there is no result for the call {', '.join(map(repr, calls[at]))}" for at in calls}
        for at in turns.idle({at for at, form in found.items() if form is GONE}):
            found[at], reasons[at] = GONE, "no output follows the reasoning"
        repairs = []
        for at in sorted(found):
            action = "dropped" if found[at].raw is None else "changed"
            units = turns.units[at] - found[at].units
            repairs.append(Repair(turns.indexes[at], action, reasons[at], units, turns.raws[at]))
        return found, repairs

    def _without_calls(self, position: int, calls: Sequence[str]) -> Form:
        message = self._turns.messages[position]
        left, gone = Counter(calls), []
        for piece in reversed(message.pieces):
            if piece.kind == "call" and left[piece.id]:
                left[piece.id] -= 1
                gone.append(piece)
        return self.without(position, message, gone)


def parts_of(text: str, *, written: bool = False, room: int | None = None) -> Parts:
    """Return the parts of a text: its lines or members, or, of what somebody wrote, its sentences and lines of code.

    With little `room`, in characters, the parts are smaller.
    """
    if written:
        return TextParts(text, longest=grain(_SENTENCE, room), shortest=_SHORT_SENTENCE)
    json_ = json_parts(text, room) if len(text) <= LARGEST else None
    return json_ or TextParts(text, longest=grain(LONG_LINE, room), shortest=_SHORT_SENTENCE)


def brief_arguments(text: str, longest: int = 0) -> str:
    """Return the arguments of a call with marks for values of more than `longest` characters, where that is shorter."""
    shown, end = list[str](), 0
    for start, stop in members(text):
        note = _value_mark(text[start:stop]) if stop - start > longest else None
        if note is not None and len(note) < stop - start:
            shown += [text[end:start], note]
            end = stop
    return "".join([*shown, text[end:]]) if shown else text


def _value_mark(written: str) -> str | None:
    """Return the mark of a value in JSON, which describes it and has its type; `None` if it is no text or container."""
    if written[0] == '"':
        text = json.loads(written)
        lines = text.split("\n")
        start = next((line.strip() for line in lines if line.strip()), "")[:_BEGINNING].rstrip()
        size = f"{len(lines):,} lines" if len(lines) > 1 else f"{len(text):,} characters"
        return json.dumps(f"[{size} omitted, beginning: {start}]", ensure_ascii=False)
    if written[0] not in "[{":
        return None
    inner = json.loads(written, parse_int=str)
    note = json.dumps(mark(len(inner), "item" if written[0] == "[" else "field"))
    return f"[{note}]" if written[0] == "[" else f"{{{note}: null}}"


def _without(wire: Any, piece: Piece, *, bare: bool) -> Any:
    """Return what replaces an attachment, an unknown block or an unknown field."""
    if piece.kind == "thinking" or not isinstance(piece.whole[-1], int):
        return REMOVED
    noun = piece.kind if piece.kind in MEDIA else "part"
    return wire.omitted(piece, SHORTEST if bare else mark(1, noun))
