"""The mark of a summary in a history: a message of the user, or a text at the end of one, begins with it.

The next compaction finds the summary by its mark and replaces it; `pin=is_summary` makes a fit keep it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from brim.errors import InvalidValue
from brim.history.forms import SHOWN_HANDLE
from brim.wire import format_of, wire
from brim.wire.message import Message, Piece

MARK = "[CONTEXT_SUMMARY]"
"""How the text of a summary begins."""

_HEAD = re.compile(re.escape(MARK) + r" of ([\d,]+) earlier messages \((b2:[0-9a-f]+)\)\n?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """A summary as it stands in a history."""

    text: str
    """Without the mark."""
    replaced: int
    """Messages that it replaces; zero if the mark does not say."""
    index: str
    """The start of the handle of their index, or empty."""


def headed(text: str, replaced: int, index: str) -> str:
    """Return a summary behind its mark."""
    return f"{MARK} of {replaced:,} earlier messages ({index[:SHOWN_HANDLE]})\n{text}"


def piece_of(message: Message) -> Piece | None:
    """Return the piece of a message that is a summary, if its last piece is one."""
    last = message.pieces[-1] if message.role == "user" and message.pieces else None
    return last if last is not None and last.kind == "text" and last.text.startswith(MARK) else None


def read(text: str) -> Summary:
    """Return the summary in a text that begins with the mark."""
    match = _HEAD.match(text)
    if match is None:
        return Summary(text=text.removeprefix(MARK).strip(), replaced=0, index="")
    return Summary(text=text[match.end() :].strip(), replaced=int(match[1].replace(",", "")), index=match[2])


def is_summary(raw: Any) -> bool:
    """Return whether a message, in any format, contains a summary."""
    try:
        message = wire(format_of([raw]) or "openai").read(raw, 0)
    except InvalidValue:
        return False
    return piece_of(message) is not None
