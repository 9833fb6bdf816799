"""The hash of a text."""

from __future__ import annotations

from hashlib import blake2b


def text_digest(text: str, size: int = 16) -> str:
    """Return the hash of a text with `size` bytes, as hexadecimal digits; lone surrogates are allowed."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
