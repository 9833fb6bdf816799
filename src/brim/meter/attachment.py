"""The tokens of recordings and documents in a message.

No provider publishes an exact rule, so every count is an estimate on the high side; docs/design/requests.md explains
it. Base64 is never counted as text.
"""

from __future__ import annotations

import re
import zlib

from brim.meter.blob import Blob, opened
from brim.meter.image_rules import Crops, Levels, Pictured, family_of
from brim.meter.memo import Memo

_PER_SECOND, _GEMINI_PER_SECOND = 10, {Crops: 32, Levels: 25}
"""Tokens of a second of sound: by OpenAI, and by Gemini's older and newer rule."""
_LEAST_BYTES = 1_000
"""Bytes of a second of compressed speech: 8 kbit/s, the lowest rate of MP3."""
_UNHEARD_SECONDS = 600
"""Assumed length of a recording without data."""

_PAGE_TEXT = 3_000
"""Tokens of a page's text: the upper end of Anthropic's "1,500 to 3,000"."""
_PAGE_SIZE = (1_700, 2_200)
"""Pixels of a page as an image: US Letter at 200 dots per inch."""
_UNSEEN_PAGES = 20
"""Assumed pages of a document without data."""
_DENSEST_PAGE = 4_000
"""Bytes of a compressed page of text."""
_BYTES_PER_TOKEN = 2
"""For files other than PDF: plain text has three or four, tables of digits two."""

_MOST_CHUNKS = 64
_MOST_STREAMS = 4_096
_LONGEST_HEAD = 512
"""Bytes between the name of a compressed stream and its start."""
_MOST_UNPACKED = 32 * 1024 * 1024
_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")
_PAGES: Memo[int] = Memo()


def count_audio(model: str | None, source: str | bytes | None) -> Pictured:
    """Return the tokens of a recording: by the length in a WAV header, else by its bytes."""
    blob = opened(source)
    seconds = _seconds(blob) if blob else _UNHEARD_SECONDS
    return Pictured(seconds * _GEMINI_PER_SECOND.get(type(family_of(model)), _PER_SECOND), exact=False)


def count_file(model: str | None, source: str | bytes | None) -> Pictured:
    """Return the tokens of a document: text and image of every page of a PDF, a share of the bytes of anything else."""
    blob = opened(source)
    if blob and blob.read(0, 5) != b"%PDF-" and "pdf" not in (blob.media or ""):
        return Pictured(-(-blob.size // _BYTES_PER_TOKEN), exact=False)
    page = _PAGE_TEXT + family_of(model).units(_PAGE_SIZE, "high")
    return Pictured((_pages_of(source, blob) if blob else _UNSEEN_PAGES) * page, exact=False)


def pages(raw: bytes) -> int:
    """Return the number of pages of a PDF, never too few; an estimate if no page is found."""
    seen, room, at = _found(raw), _MOST_UNPACKED, 0
    for _ in range(_MOST_STREAMS):
        name = raw.find(b"/ObjStm", at)
        if name < 0 or room <= 0:
            break
        start = raw.find(b"stream", name, name + _LONGEST_HEAD)
        if start < 0:
            at = name + 1
            continue
        at = raw.find(b"endstream", start)
        if at < 0:
            break
        unpacked = _unpacked(raw[start + len(b"stream") : at].lstrip(b"\r\n"), room)
        room -= len(unpacked)
        seen += _found(unpacked)
    return seen or 1 + len(raw) // _DENSEST_PAGE


def _found(raw: bytes) -> int:
    """Return how many pages begin in some bytes, one by one, so that other threads get their turn."""
    return sum(1 for _ in _PAGE.finditer(raw))


def _unpacked(packed: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, most)
    except zlib.error:
        return b""


def _pages_of(source: str | bytes | None, blob: Blob) -> int:
    """Return the pages of a PDF, cached by its text: hashing is cheaper than counting."""
    if not isinstance(source, str):
        return pages(blob.whole())
    known = _PAGES.get(source)
    if known is None:
        known = pages(blob.whole())
        _PAGES.put(source, known)
    return known


def _seconds(blob: Blob) -> int:
    """Return the maximum length of a recording."""
    rate = _LEAST_BYTES
    if blob.read(0, 4) == b"RIFF" and blob.read(8, 4) == b"WAVE":
        at = 12
        for _ in range(_MOST_CHUNKS):
            chunk = blob.read(at, 20)
            if len(chunk) < 20:
                break
            if chunk[:4] == b"fmt ":
                rate = int.from_bytes(chunk[16:20], "little") or rate
                break
            at += 8 + int.from_bytes(chunk[4:8], "little")
    return -(-blob.size // rate)
