"""The hash of a text, by which equal texts are known."""

from __future__ import annotations

from hashlib import blake2b


def text_digest(text: str, size: int = 16) -> str:
    """Return so many bytes of a text's hash, as hexadecimal digits; lone surrogates are hashed as they are."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
