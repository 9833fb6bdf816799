"""Fingerprints of the first messages of a history, by which a cut recognises the history that it was made of."""

from __future__ import annotations

from collections.abc import Sequence

from brim.files.text_digest import text_digest
from brim.wire.message import Message


def fingerprint_after(before: str, message: Message) -> str:
    """Return the fingerprint of messages that end with this one; `before` is that of those before it.

    It is that of what they say: marks for a provider's cache, or a text that is written as a block, change nothing.
    """
    pieces = "\x1f".join([f"{p.kind}\x1e{p.id}\x1e{p.name}\x1e{p.text}" for p in message.pieces])
    return text_digest(f"{before}\x1d{message.role}\x1d{pieces}")


class Fingerprints:
    """The fingerprints by length, as far as they are known; each message is hashed once."""

    def __init__(self) -> None:
        self._known: list[str | None] = [""]

    def of(self, messages: Sequence[Message], length: int, leading: int) -> str:
        """Return the fingerprint of the first messages; `leading` of them are a system prompt, which may change."""
        prints, at = self._known, length
        prints += [None] * (length + 1 - len(prints))
        while (last := prints[at]) is None:
            at -= 1
        for place, message in enumerate(messages[at:length], at):
            if place < leading:  # A system prompt may tell the time; the history is the same.
                prints[place + 1] = last = ""
                continue
            prints[place + 1] = last = fingerprint_after(last, message)
        return last

    def forget(self, length: int) -> None:
        """Forget those of more messages than so many."""
        del self._known[length + 1 :]
