"""What a summary needs of a message, found once: its facts, and its sentences with their words.

Secrets are removed first. Whoever keeps a message until it is summarised can read it when it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from brim.history.compact.facts import MessageText, StatedFact, facts_in, sentences
from brim.history.compact.secrets import redact
from brim.meter.words import terms


class MessageReading(NamedTuple):
    """One message as a summary reads it."""

    facts: tuple[StatedFact, ...]
    lines: tuple[tuple[str, frozenset[str]], ...]
    """The sentences that a summary may quote, each with its words."""


Readings = Mapping[tuple[str, str], MessageReading]
"""What was read of messages, by their role and their text."""


def read(one: MessageText) -> MessageReading:
    """Return what a summary needs of a message."""
    safe = redact(one.text)
    said = sentences(safe)
    spoken = [*said[:2], *said[2:][-2:]] if one.role == "tool" else said
    return MessageReading(facts_in(one, safe, said), tuple((text, frozenset(terms(text))) for text in spoken))


def reading_of(one: MessageText, known: Readings) -> MessageReading:
    """Return what a summary needs of a message, which may have been read before."""
    return known.get((one.role, one.text)) or read(one)
