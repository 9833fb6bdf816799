"""Prompt caches of the providers, simulated.

A prompt is a list of parts in the order in which the provider reads it: tools, system prompt, messages.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A piece of a prompt: what is compared, its tokens, and whether the client put a breakpoint there."""

    text: str
    tokens: int
    marked: bool = False


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How the tokens of one prompt were charged."""

    read: int
    written: int
    plain: int


class BreakpointCache:
    """Anthropic's cache: a prefix is stored where the client marks it, and found at a mark or a little before it."""

    least = 1_024
    """Shorter prefixes are not stored."""
    lookback = 20
    """So many parts before a mark are searched."""

    def __init__(self) -> None:
        self._stored: set[str] = set()

    def use(self, parts: list[PromptPart]) -> CacheUse:
        """Return what a prompt reads and writes, and store its marked prefixes."""
        names, sizes = _names(parts), list(accumulate(part.tokens for part in parts))
        marks = [i for i, part in enumerate(parts) if part.marked and sizes[i] >= self.least]
        found = [self._found(names, mark) for mark in marks]
        read = max((sizes[i] for i in found if i is not None), default=0)
        self._stored.update(names[mark] for mark in marks)
        written = max(0, sizes[marks[-1]] - read) if marks else 0
        return CacheUse(read, written, (sizes[-1] if sizes else 0) - read - written)

    def _found(self, names: list[str], mark: int) -> int | None:
        return next((i for i in range(mark, max(-1, mark - self.lookback), -1) if names[i] in self._stored), None)


class PrefixCache:
    """OpenAI's cache: every prompt is stored, and found by its first 1,024 tokens and further steps of 128.

    Parts are compared whole, so a part of which only the beginning is the same counts as new.
    """

    least = 1_024
    step = 128

    def __init__(self) -> None:
        self._stored: set[str] = set()

    def use(self, parts: list[PromptPart]) -> CacheUse:
        """Return what a prompt reads, and store all of its prefixes; nothing is charged for writing."""
        names, sizes = _names(parts), list(accumulate(part.tokens for part in parts))
        same = max((size for name, size in zip(names, sizes, strict=True) if name in self._stored), default=0)
        self._stored.update(names)
        read = same - (same - self.least) % self.step if same >= self.least else 0
        return CacheUse(read, 0, (sizes[-1] if sizes else 0) - read)


def _names(parts: list[PromptPart]) -> list[str]:
    """Return a fingerprint of each prefix."""
    running, names = hashlib.sha256(), []
    for part in parts:
        running.update(part.text.encode() + b"\0")
        names.append(running.hexdigest())
    return names
