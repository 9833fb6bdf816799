"""Bytes behind base64 text or a data URL, decoded only where they are read.

The first hundred characters of a photograph of ten million contain its size. Decoding the rest, or only hashing it for
a cache, would cost more than everything else.
"""

from __future__ import annotations

import re
from binascii import a2b_base64

_LONGEST_PREFIX = 512
"""Characters within which the comma of a data URL must be."""
_LOOKED_AT = 1024
"""Characters that show whether base64 is broken into lines, at 64, 76 or 78."""
PIECE = 3 << 18
"""Bytes or characters that are read in one go: other threads wait meanwhile."""
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")


class Blob:
    """Bytes behind a text, decoded piece by piece. Invalid base64 reads as no bytes."""

    __slots__ = ("_raw", "_start", "_text", "media", "size")

    def __init__(self, raw: bytes = b"", *, text: str = "", start: int = 0, media: str | None = None) -> None:
        if text and re.search(r"\s", text[start : start + _LOOKED_AT]):
            pieces = (text[at : at + PIECE].split() for at in range(start, len(text), PIECE))
            text, start = "".join("".join(words) for words in pieces), 0
        self._raw, self._text, self._start = raw, text, start
        self.media = media
        """The media type of a data URL, in lower case."""
        padding = text.endswith("=") + text.endswith("==")
        self.size = (len(text) - start) * 3 // 4 - padding if text else len(raw)
        """The number of bytes."""

    def whole(self) -> bytes:
        """Return all bytes, without those of pieces that are not base64."""
        return b"".join(self.read(at, PIECE) for at in range(0, self.size, PIECE))

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset` on; none if the text is not base64."""
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
    """Return the bytes of a source; `None` if it has none: a URL, the id of a file, an empty text."""
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
