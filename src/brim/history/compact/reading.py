"""What a summary needs of a message, found once: its facts, its sentences with their words, its line in the index.

Secrets are removed first. Whoever keeps a message until it is summarised can read it when it comes.
"""

from __future__ import annotations

from typing import NamedTuple

from brim.history.compact.facts import MessageText, StatedFact, facts_in, sentences
from brim.history.compact.secrets import redact
from brim.meter.words import terms

_EXCERPT = 80
"""Characters of each message in the index."""


class MessageReading(NamedTuple):
    """One message as a summary reads it."""

    facts: tuple[StatedFact, ...]
    lines: tuple[tuple[str, frozenset[str]], ...]
    """The sentences that a summary may quote, each with its words."""
    line: str
    """Its line in the index."""


def read(one: MessageText) -> MessageReading:
    """Return what a summary needs of a message."""
    safe = redact(one.text)
    said = sentences(safe)
    spoken = [*said[:2], *said[2:][-2:]] if one.role == "tool" else said
    lines = tuple((text, frozenset(terms(text))) for text in spoken)
    return MessageReading(facts_in(one, safe, said), lines, index_line(one))


def index_line(one: MessageText) -> str:
    """Return a message's line in the index: its handle, its role, and how it begins."""
    start = " ".join(redact(one.text[: 4 * _EXCERPT]).split())[:_EXCERPT]
    return f"{one.handle} {one.role}: {start}"
