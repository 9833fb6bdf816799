"""Bytes that came as text: base64, a data URL, or bytes as they are, read where they are needed.

A photograph of ten million characters tells its size in the first hundred. Decoding the rest, or as much as hashing
it for a memo, would cost more than everything else that is done with it.
"""

from __future__ import annotations

import re
from binascii import a2b_base64

_LONGEST_PREFIX = 512
"""Characters in which the comma of a data URL must stand."""
_LOOKED_AT = 1024
"""Characters that tell whether base64 is broken into lines: at 64, 76 or 78 where it is."""
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")


class Blob:
    """Bytes behind a text, decoded piece by piece. What cannot be decoded reads as nothing."""

    __slots__ = ("_raw", "_start", "_text", "media", "size")

    def __init__(self, raw: bytes = b"", *, text: str = "", start: int = 0, media: str | None = None) -> None:
        if text and re.search(r"\s", text[start : start + _LOOKED_AT]):
            text, start = "".join(text[start:].split()), 0
        self._raw, self._text, self._start = raw, text, start
        self.media = media
        """The media type that a data URL states, in lower case."""
        padding = text.endswith("=") + text.endswith("==")
        self.size = (len(text) - start) * 3 // 4 - padding if text else len(raw)
        """How many bytes there are."""

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset` on; none where the text is not base64."""
        if not self._text:
            return self._raw[offset : offset + length]
        first = self._start + offset // 3 * 4
        last = self._start + -(-(offset + length) // 3) * 4
        chunk = self._text[first:last]
        if len(chunk) % 4 == 1:
            chunk = chunk[:-1]
        try:
            decoded = a2b_base64(chunk + "=" * (-len(chunk) % 4))
        except ValueError:
            return b""
        return decoded[offset % 3 : offset % 3 + length]


def opened(source: str | bytes | None) -> Blob | None:
    """Return the bytes that a source holds; `None` where they are elsewhere: a URL, the id of a file, nothing."""
    if isinstance(source, bytes | bytearray | memoryview):
        return Blob(bytes(source))
    if not source:
        return None
    if source[:5].lower() == "data:":
        comma = source.find(",", 5, _LONGEST_PREFIX)
        prefix = source[5:comma].lower() if comma > 0 else ""
        if "base64" not in prefix.split(";"):
            return None
        return Blob(text=source, start=comma + 1, media=prefix.partition(";")[0].strip() or None)
    # The ids of files have dashes or underscores, and addresses have colons: base64 has neither.
    return Blob(text=source) if _BASE64.fullmatch(source[:64]) else None
