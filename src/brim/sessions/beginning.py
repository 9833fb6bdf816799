"""How the messages of a request begin, as a fingerprint, without what may change from request to request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from brim.wire import plain
from brim.wire.base import jsonable

_MARKS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
_SYSTEM = ("system", "developer")
_TEXT = ("text", "input_text")


class Beginning:
    """The fingerprint of the messages of a request, which goes on with those of the next."""

    def __init__(self, key: Sequence[Any]) -> None:
        """Begin without messages; `key` separates conversations that begin alike: the owner, the model, the format."""
        self._running = blake2b(_json(list(key)), digest_size=16)
        self.length = 0
        """Messages that were read, with a system prompt before them."""

    @property
    def mark(self) -> str:
        """The fingerprint of all of them."""
        return self._running.hexdigest()

    def copy(self) -> Beginning:
        """Return another that goes on by itself."""
        made = Beginning.__new__(Beginning)
        made._running, made.length = self._running.copy(), self.length
        return made

    def read(self, messages: Sequence[Any]) -> list[str]:
        """Read the messages of a request that begins with those that were read; return the mark after each new one.

        A system prompt before them and marks for the provider's cache are left out.
        """
        first = self.length or leading(messages)
        found = []
        for message in messages[first:] or ([] if self.length else messages):
            self._running.update(_json(said(message)))
            self._running.update(b"\0")
            found.append(self.mark)
        self.length = len(messages)
        return found


def fingerprints(messages: Sequence[Any], key: Sequence[Any]) -> list[str]:
    """Return a fingerprint for each beginning of a conversation: its first message, its first two, and so on."""
    return Beginning(key).read(messages)


def leading(messages: Sequence[Any]) -> int:
    """Return how many system messages stand before all others."""
    read = (plain(raw) for raw in messages)
    roles = (raw.get("role") if isinstance(raw, Mapping) else None for raw in read)
    return next((at for at, role in enumerate(roles) if role not in _SYSTEM), len(messages))


def bare(raw: Any) -> Any:
    """Return a message without the marks by which a client tells the provider what to cache.

    They move from request to request, so the same message comes with and without one; and a provider takes only a few,
    so a message that brim has changed does without.
    """
    if not isinstance(raw, dict):
        return raw
    content = raw.get("content")
    if isinstance(content, list) and any(map(_is_marked, content)):
        return {**_unmarked(raw), "content": [each for each in map(_unmarked, content) if each]}
    return _unmarked(raw)


def said(raw: Any) -> Any:
    """Return what a message says, to be compared with another: without marks, and a text alone as that text.

    A mark needs a block to stand on, so a client that marks its newest messages writes their text as a block, and as a
    plain text again once the mark has moved on.
    """
    found = bare(raw)
    if not isinstance(found, dict) or not isinstance(found.get("content"), list):
        return found
    content = [said(each) for each in found["content"]]
    text = content[0] if len(content) == 1 else None
    if isinstance(text, dict) and text.keys() == {"type", "text"} and text["type"] in _TEXT:
        return {**found, "content": text["text"]}
    return {**found, "content": content}


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=jsonable)
    return text.encode("utf-8", "surrogatepass")


def _is_marked(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(_MARKS)


def _unmarked(value: Any) -> Any:
    return {key: each for key, each in value.items() if key not in _MARKS} if _is_marked(value) else value
