"""The limit on one tool result, so that no single result fills the window.

The whole result stays in the log and is recalled by its handle. The model sees a version that is shortened by its
kind: valid JSON, whole functions, the lines of a log with errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from brim.meter.base import BaseMeter
from brim.receipts.receipt import handle
from brim.truncate import shortened
from brim.wire import Wire
from brim.wire.base import changed
from brim.wire.message import Message, Path

NOTE = "\n[cut from {size:,} {unit}; the whole is {handle}]"
"""Stands at the end of a shortened result; the handle recalls the whole."""


class BoundedResult(NamedTuple):
    """A message whose results are within the limit."""

    raw: Any
    """The message; the caller's own object if nothing was shortened."""
    texts: dict[str, str]
    """The whole results that were shortened, by handle."""


def bounded(raw: Any, index: int, wire: Wire, limit: int, meter: BaseMeter) -> BoundedResult:
    """Return a message in which each text of a result counts at most `limit`.

    Raises:
        InvalidValue: the message is invalid.
    """
    message: Message = wire.read(raw, index)
    edits: dict[Path, Any] = {}
    texts: dict[str, str] = {}
    for piece in message.pieces if message.results else ():
        if piece.kind == "output" and meter.count(piece.text) > limit and message.answers(piece):
            name = handle(piece.text)
            note = NOTE.format(size=meter.count(piece.text), unit=meter.unit, handle=name)
            edits[piece.at] = wire.value(piece, shortened(piece.text, limit, meter, "shape", note))
            texts[name] = piece.text
    return BoundedResult(changed(raw, edits), texts) if edits else BoundedResult(raw, {})
