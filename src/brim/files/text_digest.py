"""The hash of a text, by which equal texts are known."""

from __future__ import annotations

from hashlib import blake2b

_STEP = 1_000_000
"""Characters that are encoded in one go: other threads wait meanwhile."""


def text_digest(text: str, size: int = 16) -> str:
    """Return so many bytes of a text's hash, as hexadecimal digits; lone surrogates are hashed as they are."""
    made = blake2b(digest_size=size)
    for at in range(0, len(text), _STEP):
        made.update(text[at : at + _STEP].encode("utf-8", "surrogatepass"))
    return made.hexdigest()
