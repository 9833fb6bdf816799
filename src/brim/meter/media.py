"""The tokens of images, recordings and documents in a message.

The size of an image and the rate of a recording are read from the header, the number of pages of a PDF from the whole
file; invalid files neither raise nor hang. Base64 is never counted as text. If a size is unknown, the maximum of
the rule is used. No provider publishes an exact rule for recordings and documents, so these counts are high estimates.
docs/design/requests.md has the reasons.
"""

from __future__ import annotations

import re
import zlib
from binascii import a2b_base64
from collections.abc import Callable

from brim.meter.image_rules import MediaCount, Size, detail_level, image_rule

_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")

_LEAST_BYTES = 1_000
"""Bytes per second of compressed speech: 8 kbit/s, the lowest rate of MP3."""
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

_MOST_PARTS = 4_096
"""Segments of a JPEG, chunks of a WAV file or streams of a PDF that are read; cameras write about twenty segments."""
_MOST_UNPACKED = 32 * 1024 * 1024
_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")


def count_media(
    kind: str,
    source: str | bytes | None,
    detail: str | None = None,
    *,
    model: str | None = None,
    provider: str | None = None,
) -> MediaCount:
    """Return the tokens of an `image`, a recording (`audio`) or a document (`file`), by the model's or provider's rule.

    `source` is base64, a data URL, or bytes; for anything else, such as an address, the maximum is returned. `detail`
    is the level of detail of an image. A document that is an image file is counted as an image.

    Raises:
        InvalidType: the model or the detail is not a string.
    """
    level, rule = detail_level(detail), image_rule(provider if model is None else model)
    data, media_type = _data_of(source)
    if kind == "audio":
        seconds = -(-len(data) // _rate(data)) if data else _UNHEARD_SECONDS
        return MediaCount(seconds * rule.per_second, exact=False)
    size = _image_size(data)
    if kind == "image" or size is not None:
        return MediaCount(rule.units(size, level), exact=rule.published and size is not None)
    if data and not data.startswith(b"%PDF-") and "pdf" not in media_type:
        return MediaCount(-(-len(data) // _BYTES_PER_TOKEN), exact=False)
    page = _PAGE_TEXT + rule.units(_PAGE_SIZE, "high")
    return MediaCount((pages(data) if data else _UNSEEN_PAGES) * page, exact=False)


def _data_of(source: str | bytes | None) -> tuple[bytes, str]:
    """Return the bytes of a source and the media type of a data URL; no bytes for an address, a file id or no text."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), ""
    text, media_type = source or "", ""
    if text[:5].lower() == "data:":
        prefix, _, text = text[5:].partition(",")
        media_type, *options = (each.strip() for each in prefix.lower().split(";"))
        if "base64" not in options:
            return b"", ""
    elif not _BASE64.fullmatch(text[:64]):  # File ids have dashes or underscores, and addresses have colons.
        return b"", ""
    try:
        return a2b_base64(text + "=="), media_type
    except ValueError:
        return b"", media_type


def _image_size(raw: bytes) -> Size | None:
    """Return width and height of an image in a format that providers accept; `None` if they are unknown."""
    for magic, read in _FORMATS:
        if raw.startswith(magic):
            size = read(raw)
            return size if size and min(size) > 0 else None
    return None


def _png(head: bytes) -> Size | None:
    if head[12:16] != b"IHDR" or len(head) < 24:
        return None
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def _gif(head: bytes) -> Size | None:
    if head[3:6] not in (b"87a", b"89a") or len(head) < 10:
        return None
    return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")


def _webp(head: bytes) -> Size | None:
    kind = head[8:16]
    if len(head) < 30:
        return None
    if kind == b"WEBPVP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"WEBPVP8L" and head[20] == 0x2F:
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"WEBPVP8 " and head[23:26] == b"\x9d\x01\x2a":
        return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    return None


def _jpeg(head: bytes) -> Size | None:
    at = 2
    for _ in range(_MOST_PARTS):
        part = head[at : at + 9]
        if len(part) < 4 or part[0] != 0xFF:
            return None
        marker = part[1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # a marker without a segment
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # the header of the frame
            return (int.from_bytes(part[7:9], "big"), int.from_bytes(part[5:7], "big")) if len(part) == 9 else None
        elif marker in (0xD9, 0xDA):  # The image ends, or its data begins, without a header.
            return None
        else:
            at += 2 + int.from_bytes(part[2:4], "big")
    return None


_FORMATS: tuple[tuple[bytes, Callable[[bytes], Size | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"\xff\xd8\xff", _jpeg),
    (b"GIF8", _gif),
    (b"RIFF", _webp),
)
"""The first bytes of each format, and the function that reads the size."""


def _rate(head: bytes) -> int:
    """Return the bytes per second of a recording: from the header of a WAV file, or the lowest rate for any other."""
    at = 12
    for _ in range(_MOST_PARTS if head[:4] == b"RIFF" and head[8:12] == b"WAVE" else 0):
        chunk = head[at : at + 20]
        if len(chunk) == 20 and chunk[:4] == b"fmt ":
            return int.from_bytes(chunk[16:20], "little") or _LEAST_BYTES
        at += 8 + int.from_bytes(chunk[4:8], "little")
    return _LEAST_BYTES


def pages(raw: bytes) -> int:
    """Return the number of pages of a PDF, including those in object streams; an estimate if no page is found."""
    seen, room, at = _pages_in(raw), _MOST_UNPACKED, 0
    for _ in range(_MOST_PARTS):
        name = raw.find(b"/ObjStm", at)
        start = raw.find(b"stream", name)
        at = raw.find(b"endstream", start)
        if min(name, start, at) < 0 or room <= 0:
            break
        try:
            unpacked = zlib.decompressobj().decompress(raw[start + len(b"stream") : at].lstrip(b"\r\n"), room)
        except zlib.error:
            continue
        room -= len(unpacked)
        seen += _pages_in(unpacked)
    return seen or 1 + len(raw) // _DENSEST_PAGE


def _pages_in(raw: bytes) -> int:
    """Return the number of pages in some bytes; counting one by one lets other threads run."""
    return sum(1 for _ in _PAGE.finditer(raw))
