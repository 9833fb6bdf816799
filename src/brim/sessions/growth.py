"""Bounds what one result of a tool may add, so that no single answer fills the window.

The whole result stays in the log and comes back by its handle; what the model sees is cut by its shape.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from brim.errors import DoesNotFit
from brim.meter.base import Scale
from brim.receipts.receipt import handle
from brim.truncate import truncator
from brim.wire import Wire
from brim.wire.base import changed
from brim.wire.message import Message

NOTE = "\n[cut from {size:,} {unit}; the whole is {handle}]"
"""Stands at the end of a result that was cut; the handle brings back the rest."""


class BoundedResult(NamedTuple):
    """A message whose results are no longer than they may be."""

    raw: Any
    """The message; the caller's own object where nothing was cut."""
    texts: dict[str, str]
    """The whole results that were cut, by handle."""


def bounded(raw: Any, index: int, wire: Wire, limit: int, meter: Scale) -> BoundedResult:
    """Return a message in which each text of a result counts at most `limit`.

    Raises:
        InvalidValue: it is no message.
    """
    message: Message = wire.read(raw, index)
    edits: dict[tuple[str | int, ...], str] = {}
    texts: dict[str, str] = {}
    for piece in message.pieces if message.results else ():
        if piece.kind == "output" and meter.count(piece.text) > limit:
            name = handle(piece.text)
            edits[piece.at] = _cut(piece.text, name, limit, meter)
            texts[name] = piece.text
    return BoundedResult(changed(raw, edits), texts) if edits else BoundedResult(raw, {})


def _cut(text: str, name: str, limit: int, meter: Scale) -> str:
    note = NOTE.format(size=meter.count(text), unit=meter.unit, handle=name)
    room = limit - meter.count(note)
    while room > 0:
        try:
            cut = truncator("shape").truncate(text, room, meter).text + note
        except DoesNotFit:
            break
        if (over := meter.count(cut) - limit) <= 0:
            return cut
        room -= over  # Where two texts meet, they can count more than apart.
    return meter.head(text, limit)
