"""The mark of a summary in a history, at the start of a user message or of the last text in one.

The next compaction finds the summary by its mark and replaces it; `pin=is_summary` keeps it in a fit. Anyone can write
such a text, so the mark contains a hash of the summary. If the last compaction is known, only its own summary is
accepted; otherwise, a text whose hash is right. Any other text is an ordinary message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from brim.errors import InvalidValue
from brim.receipts.receipt import handle
from brim.wire import format_of, wire
from brim.wire.message import Message, Piece

SHOWN_HANDLE = 11
"""Characters of a handle in a prompt."""
SUMMARY_MARK = "[CONTEXT_SUMMARY]"
"""How the text of a summary begins."""
_CHECK = 6
"""Characters of the hash."""

_HEAD = re.compile(
    re.escape(SUMMARY_MARK)
    + r" of ([0-9]{1,3}(?:,[0-9]{3}){0,5}) earlier messages \((b2:[0-9a-f]{1,64})(?:, ([0-9a-f]{6}))?\)(?:\n|\Z)"
)
_HEADS = re.compile(rf"(?:\s*(?:{_HEAD.pattern}|{re.escape(SUMMARY_MARK)}))+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """A summary in a history."""

    text: str
    """Without the mark."""
    replaced: int = 0
    """Messages that it replaces."""
    index: str = ""
    """The handle of their index, or its start; empty if there is no summary."""

    @property
    def check(self) -> str:
        """The hash that the mark shows."""
        said = f"{self.replaced}\n{self.index[:SHOWN_HANDLE]}\n{self.text.strip()}"
        return handle(said).partition(":")[2][:_CHECK]


def headed(text: str, replaced: int, index: str) -> str:
    """Return a summary with its mark."""
    summary = Summary(text=text, replaced=replaced, index=index)
    return f"{SUMMARY_MARK} of {replaced:,} earlier messages ({index[:SHOWN_HANDLE]}, {summary.check})\n{text}"


def piece_of(message: Message, known: Summary | None = None) -> Piece | None:
    """Return the last piece of a user message if it is a summary; `known` is as for `read`."""
    last = message.last if message.role == "user" else None
    return last if last is not None and last.kind == "text" and read(last.text, known) is not None else None


def read(text: str, known: Summary | None = None) -> Summary | None:
    """Return the summary in a text, or `None` if brim did not write it.

    `known` is the summary of the last compaction; if it is passed, no other text is a summary.
    """
    match = _HEAD.match(text) if text.startswith(SUMMARY_MARK) else None
    if match is None:
        return None
    found = Summary(text=text[match.end() :].strip(), replaced=int(match[1].replace(",", "")), index=match[2])
    if known is not None:
        return found if found.check == known.check and found.text == known.text.strip() else None
    return found if match[3] == found.check and len(found.index) == SHOWN_HANDLE else None


def unmarked(text: str) -> str:
    """Return a text without the marks at its start, whoever wrote them."""
    match = _HEADS.match(text)
    return (text[match.end() :] if match else text).strip()


def is_summary(raw: Any) -> bool:
    """Return whether a message, in any format, contains a summary that brim wrote."""
    try:
        message = wire(format_of([raw]) or "openai").read(raw, 0)
    except InvalidValue:
        return False
    return piece_of(message) is not None
