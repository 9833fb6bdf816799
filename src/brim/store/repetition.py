"""A text that repeats entries of a session, written as what it takes from them.

A dropped turn is its messages once more, and the log has those already. So the compressor begins with the entries, and
what is left is a hundredth of the text. Which entries they are stands before it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from brim.errors import StoreError

MARK = b"\xff\x02"
"""No UTF-8 has the first byte, and `packed.py` begins otherwise."""
_LEVEL = 6
_WINDOW = 32_768
"""Bytes that a compressor looks back."""
_PART = 16_384
"""Bytes of a text that are compressed at once, with the window around the same share of the entries."""
_BEFORE = 8_192


class RepeatedEntries(NamedTuple):
    """The entries that a text repeats."""

    session: int
    """The key of the session."""
    numbers: tuple[int, ...]


def pack_repeated(content: bytes, source: RepeatedEntries, entries: bytes) -> bytes:
    """Return a text as it is written beside the entries, which are given as their JSON."""
    gaps = [source.numbers[0], *(b - a for a, b in pairwise(source.numbers))]
    plain = b"\n" in content  # No JSON of a message has a line end that is not escaped.
    head = [source.session, len(content), zlib.crc32(content), 2 * len(gaps) + plain, *gaps]
    parts = []
    for start, window in _windows(len(content), _unescaped(entries) if plain else entries):
        press = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=window)
        parts.append(press.compress(content[start : start + _PART]) + press.flush())
    return MARK + b"".join(map(number_bytes, head)) + b"".join(parts)


def source_of(written: bytes) -> RepeatedEntries | None:
    """Return the entries that a written text repeats; `None` if it stands alone."""
    return _head(written)[0] if written.startswith(MARK) else None


def unpack_repeated(place: str, written: bytes, entries: bytes) -> bytes:
    """Return the text of what `pack_repeated` wrote.

    Raises:
        StoreError: the entries are others than those it was written with.
    """
    _, size, checksum, plain, rest = _head(written)
    parts = []
    try:
        for _, window in _windows(size, _unescaped(entries) if plain else entries):
            press = zlib.decompressobj(-zlib.MAX_WBITS, zdict=window)
            parts.append(press.decompress(rest, _PART))
            rest = press.unused_data
    except zlib.error:
        parts = []
    content = b"".join(parts)
    if rest or len(content) != size or zlib.crc32(content) != checksum:
        raise StoreError(place, "a text does not match its entries: the store was changed by another program")
    return content


def _unescaped(entries: bytes) -> bytes:
    """Return JSON as the texts in it are, nearly: it is only what a compressor begins with."""
    for escape, sign in ((b"\\n", b"\n"), (b"\\t", b"\t"), (b'\\"', b'"'), (b"\\\\", b"\\")):
        entries = entries.replace(escape, sign)
    return entries


def _windows(size: int, entries: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield where each part of a text begins, and what its compressor begins with."""
    for start in range(0, size, _PART):
        at = max(0, min(len(entries) - _WINDOW, start * len(entries) // size - _BEFORE))
        yield start, entries[at : at + _WINDOW]


def _head(written: bytes) -> tuple[RepeatedEntries, int, int, int, bytes]:
    """Return the source of a written text, its size and checksum, whether the entries are unescaped, and the rest."""
    (session, size, checksum, count), at = read_numbers(written, 4, len(MARK))
    gaps, at = read_numbers(written, count // 2, at)
    return RepeatedEntries(session, tuple(accumulate(gaps))), size, checksum, count % 2, written[at:]


def number_bytes(value: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def read_numbers(written: bytes, count: int, at: int) -> tuple[Sequence[int], int]:
    """Return some numbers, and where the next would begin."""
    found = []
    for _ in range(count):
        value = shift = 0
        while at < len(written) and written[at] > 0x7F:
            value |= (written[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
        found.append(value | ((written[at] if at < len(written) else 0) << shift))
        at += 1
    return found, at
