"""Masks the gateway's upstream keys in answers.

Servers repeat a rejected key in a body, a header or an event of a stream. Each byte of the key becomes a star, so
lengths stay the same. Only secrets are masked: local servers accept any key, and masking `test` or `EMPTY` would damage
ordinary text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, MutableMapping
from typing import Any

from brim.gateway.http.connection import Send

_SHORTEST, _SHORTEST_WORDS = 8, 12
"""Characters of the shortest secret, and of the shortest one that consists of words."""
_WORDS = re.compile(r"[A-Za-z]+(?:[-_. ][A-Za-z]+)*[-_. ]?")


def is_secret(key: str) -> bool:
    """Return whether a key is a secret, not a short text or a placeholder such as `not-needed`."""
    return len(key) >= (_SHORTEST_WORDS if _WORDS.fullmatch(key) else _SHORTEST)


def spellings(keys: Iterable[str]) -> list[bytes]:
    """Return the spellings, plain and in JSON, of those keys that are secrets, the longest first."""
    secret = [key for key in keys if is_secret(key)]
    found = {spelt for key in secret for spelt in (key, json.dumps(key)[1:-1], key.replace("/", "\\/"))}
    return sorted((each.encode() for each in found), key=lambda each: (len(each), each), reverse=True)


class KeyMask:
    """Sends an answer with the keys masked, even if a key is spread over two pieces of the body."""

    def __init__(self, key: bytes, send: Send) -> None:
        self._key = key
        self._send = send
        self._rest = b""

    async def __call__(self, event: MutableMapping[str, Any]) -> None:
        """Send an event."""
        if event["type"] == "http.response.start":
            event["headers"] = [(name, self._masked(value)) for name, value in event["headers"]]
        elif event["type"] == "http.response.body":
            event["body"] = self._passed(event.get("body", b""), more=event.get("more_body", False))
        await self._send(event)

    def _masked(self, text: bytes) -> bytes:
        return text.replace(self._key, b"*" * len(self._key))

    def _passed(self, piece: bytes, *, more: bool) -> bytes:
        """Return the bytes that can be sent; what may be the start of a key waits for the next piece."""
        text = self._masked(self._rest + piece)
        longest = min(len(text), len(self._key) - 1) if more else 0
        kept = next((size for size in range(longest, 0, -1) if self._key.startswith(text[-size:])), 0)
        self._rest = text[len(text) - kept :]
        return text[: len(text) - kept]
