"""Test doubles that brim ships: meters with predictable counts, a scripted model, a store in memory.

Code that is correct with both meters is correct with a real vocabulary: one counts characters, the other is as
irregular as byte-pair encoding, and neither needs a file. The model needs no network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from brim.errors import ModelError
from brim.llm import Messages, Reply
from brim.meter.base import BaseMeter
from brim.store.sqlite import MemoryStore

__all__ = ["Answer", "CharMeter", "MemoryStore", "PieceMeter", "Scripted"]

_PIECES = re.compile(r"\w+|[^\w\s]+\s*|\s+")
_PER_UNIT = 5
_KNOWN = 7
"""Pieces of a multiple of this length count less, so that one more character can reduce the count."""


class CharMeter(BaseMeter):
    """Counts characters."""

    unit = "chars"
    exact = True

    def __init__(self) -> None:
        super().__init__("chars")

    def measure(self, text: str) -> int:
        """Return the number of characters."""
        return len(text)


class PieceMeter(BaseMeter):
    """Counts pieces of words, punctuation and space; counts are neither additive nor monotone.

    Two texts can count more or less joined than apart, and a longer text less than its own start: 13 letters count 3,
    14 count 2, and 15 count 3 again.
    """

    unit = "pieces"
    exact = True

    def __init__(self) -> None:
        super().__init__("pieces")

    def measure(self, text: str) -> int:
        """Return the sum of the counts of all pieces."""
        return sum(_units(match.end() - match.start()) for match in _PIECES.finditer(text))


def _units(length: int) -> int:
    return length // _KNOWN if length % _KNOWN == 0 else -(-length // _PER_UNIT)


Answer = str | Reply | Exception
"""The answer of a scripted model: a text, a whole reply, or an error that it raises."""


class Scripted:
    """A model that answers from a list, or by a function of the prompt."""

    def __init__(self, answers: Sequence[Answer] | Callable[[str], Answer]) -> None:
        self._answers = answers if callable(answers) else list(answers)
        self.asked: list[str] = []
        """The prompt of each call, its messages joined."""

    def complete(self, messages: Messages, system: str | None = None) -> Reply:
        """Return the next answer.

        Raises:
            ModelError: there are no more answers.
        """
        texts = [messages] if isinstance(messages, str) else [str(message["content"]) for message in messages]
        text = "\n\n".join([*([system] if system else []), *texts])
        self.asked.append(text)
        answer = self._next(text)
        if isinstance(answer, Exception):
            raise answer
        return Reply(text=answer) if isinstance(answer, str) else answer

    def _next(self, text: str) -> Answer:
        if callable(self._answers):
            return self._answers(text)
        if len(self.asked) > len(self._answers):
            raise ModelError(f"the script has {len(self._answers):,} answers, and one more was needed: add it")
        return self._answers[len(self.asked) - 1]
