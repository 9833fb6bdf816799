"""The size of an image, from its header, and its tokens.

Only the header is read, wherever it is in the file; no file makes this raise, hang or decode the whole. An image of
unknown size has the maximum of its rule.
"""

from __future__ import annotations

from collections.abc import Callable

from brim.errors import check_choice
from brim.meter.attachment import count_audio, count_file
from brim.meter.blob import Blob, opened
from brim.meter.image_rules import Pictured, Size, checked, family_of

_MOST_SEGMENTS = 4_096
"""Segments of a JPEG that are read; cameras write about twenty."""
_MOST_BOXES, _LONGEST_BOX = 16, 64 * 1024
"""Boxes of an AVIF or HEIC file that are read, and the maximum bytes of the box that has the size."""


def count_image(
    model: str | None, source: str | bytes | None, detail: str | None = None, *, provider: str | None = None
) -> Pictured:
    """Return the tokens of an image.

    `model` may also be a provider; `provider` applies if `model` is `None`. `source` is base64, a data URL, or bytes.
    For anything else, such as the URL of an image, the maximum is returned.

    Raises:
        InvalidType: the model or the detail is not a string.
    """
    level, rule = checked(detail), family_of(provider if model is None else model)
    blob = opened(source)
    size = size_of(blob) if blob else None
    return Pictured(rule.units(size, level), exact=rule.published and size is not None)


def count_media(
    kind: str,
    source: str | bytes | None,
    detail: str | None = None,
    *,
    model: str | None = None,
    provider: str | None = None,
) -> Pictured:
    """Return the tokens of an image, a recording (`audio`) or a document (`file`).

    A document that contains an image is counted as an image; `detail` is the level of detail of an image.

    Raises:
        InvalidValue: the kind is unknown.
    """
    check_choice("kind", kind, ("image", "audio", "file"))
    named = provider if model is None else model
    if kind == "audio":
        return count_audio(named, source)
    blob = opened(source)
    pictured = kind == "image" or (blob is not None and size_of(blob) is not None)
    return count_image(named, source, detail) if pictured else count_file(named, source)


def size_of(blob: Blob) -> Size | None:
    """Return width and height of the image in a blob; `None` if its size is unknown."""
    start = blob.read(0, 32)
    for magic, at, measure in _FORMATS:
        if start[at : at + len(magic)] == magic:
            size = measure(start, blob)
            return size if size and min(size) > 0 else None
    return None


def _png(start: bytes, blob: Blob) -> Size | None:  # noqa: ARG001
    if start[12:16] != b"IHDR" or len(start) < 24:
        return None
    return int.from_bytes(start[16:20], "big"), int.from_bytes(start[20:24], "big")


def _gif(start: bytes, blob: Blob) -> Size | None:  # noqa: ARG001
    if start[3:6] not in (b"87a", b"89a") or len(start) < 10:
        return None
    return int.from_bytes(start[6:8], "little"), int.from_bytes(start[8:10], "little")


def _bmp(start: bytes, blob: Blob) -> Size | None:  # noqa: ARG001
    if len(start) < 26:
        return None
    if int.from_bytes(start[14:18], "little") == 12:  # the header of OS/2
        return int.from_bytes(start[18:20], "little"), int.from_bytes(start[20:22], "little")
    width, height = (int.from_bytes(start[at : at + 4], "little", signed=True) for at in (18, 22))
    return width, abs(height)  # A negative height means that the rows run downward.


def _webp(start: bytes, blob: Blob) -> Size | None:  # noqa: ARG001
    kind = start[8:16]
    if len(start) < 30:
        return None
    if kind == b"WEBPVP8X":
        return 1 + int.from_bytes(start[24:27], "little"), 1 + int.from_bytes(start[27:30], "little")
    if kind == b"WEBPVP8L" and start[20] == 0x2F:
        bits = int.from_bytes(start[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"WEBPVP8 " and start[23:26] == b"\x9d\x01\x2a":
        return int.from_bytes(start[26:28], "little") & 0x3FFF, int.from_bytes(start[28:30], "little") & 0x3FFF
    return None


def _jpeg(start: bytes, blob: Blob) -> Size | None:  # noqa: ARG001
    at = 2
    for _ in range(_MOST_SEGMENTS):
        head = blob.read(at, 9)
        if len(head) < 4 or head[0] != 0xFF:
            return None
        marker = head[1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # a marker without a segment
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # the header of the frame
            return (int.from_bytes(head[7:9], "big"), int.from_bytes(head[5:7], "big")) if len(head) == 9 else None
        elif marker in (0xD9, 0xDA):  # The image ends, or its data begin, without a header.
            return None
        else:
            at += 2 + int.from_bytes(head[2:4], "big")
    return None


def _boxes(start: bytes, blob: Blob) -> Size | None:
    """Return the largest size in an AVIF or HEIC file, whose parts and thumbnails also have sizes."""
    if start[8:12] not in (b"avif", b"avis", b"heic", b"heix", b"hevc", b"mif1", b"msf1"):
        return None
    at = 0
    for _ in range(_MOST_BOXES):
        box = blob.read(at, 8)
        length = int.from_bytes(box[:4], "big")
        if box[4:] == b"meta":
            return _largest(blob.read(at, length)) if length <= _LONGEST_BOX and at + length <= blob.size else None
        if length < 8:
            return None
        at += length
    return None


def _largest(box: bytes) -> Size:
    """Return the largest of the sizes in a box."""
    best, at = (0, 0), -1
    while (at := box.find(b"ispe", at + 1)) >= 0:
        width, height = (int.from_bytes(box[side : side + 4], "big") for side in (at + 8, at + 12))
        best = max(best, (width, height), key=lambda size: size[0] * size[1])
    return best


_FORMATS: tuple[tuple[bytes, int, Callable[[bytes, Blob], Size | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, _png),
    (b"\xff\xd8\xff", 0, _jpeg),
    (b"GIF8", 0, _gif),
    (b"RIFF", 0, _webp),
    (b"ftyp", 4, _boxes),
    (b"BM", 0, _bmp),
)
"""The magic bytes of a format, their offset, and the function that reads the size."""
