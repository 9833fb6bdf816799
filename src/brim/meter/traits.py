"""What of a text its tokens come from, in numbers that cost little: words, capitals, digits, marks, scripts.

Byte-pair vocabularies first split a text into words, numbers and runs of marks, and most of these become one token or
few. So counting such pieces tells the tokens of a text far better than its length does, and a model's own price for
each kind can be learned from a few calls.
"""

from __future__ import annotations

from brim.meter.estimate import classes

NAMES = (
    "words",
    "letters, five at a time",
    "letters, nine at a time",
    "capitals",
    "capitals inside words",
    "digits",
    "numbers",
    "runs of marks",
    "runs of two marks and more",
    "runs of four marks and more",
    "marks, sixteen at a time",
    "line breaks",
    "runs of spaces",
    "letters with accents",
    "Greek and Cyrillic",
    "Armenian, Hebrew and Arabic",
    "scripts from India to Georgia",
    "symbols",
    "Han and kana",
    "Hangul",
    "other characters",
)
"""What each number of `traits` counts."""

USUAL = (950, 150, 150, 100, 200, 200, 400, 700, 300, 250, 800, 350, 350, 1000, 450, 600, 700, 900, 700, 700, 1500)
"""Thousandths of a token that each costs in the vocabularies of today, about; what a calibration starts from."""

_ASCII_CLASSES = 4
_LOWER, _UPPER, _DIGIT, _SPACE, _BREAK, _MARK, _OTHER = b"aA0 \n.x"


def _kind(byte: int) -> int:
    char = chr(byte)
    if byte >= 0x80:
        return _OTHER
    if char.isalpha():
        return _LOWER if char.islower() else _UPPER
    if char.isdigit():
        return _DIGIT
    return {" ": _SPACE, "\n": _BREAK, "\r": _BREAK, "\t": _SPACE}.get(char, _MARK)


_KINDS = bytes(map(_kind, range(256)))
_WORDS = bytes(_LOWER if _kind(byte) in (_LOWER, _UPPER) else _SPACE for byte in range(256))
_DIGITS = bytes(_DIGIT if _kind(byte) == _DIGIT else _SPACE for byte in range(256))
_MARKS = bytes(_MARK if _kind(byte) == _MARK else _SPACE for byte in range(256))


def traits(text: str) -> tuple[int, ...]:
    """Return how much of each of `NAMES` a text has."""
    raw = text.encode("utf-8", "surrogatepass")
    # A byte before the first lets a run that begins the text be found like any other; finding is fast in bytes.
    words, marks = b" " + raw.translate(_WORDS), b" " + raw.translate(_MARKS)
    digits, kinds = b" " + raw.translate(_DIGITS), b"x" + raw.translate(_KINDS)
    spaces = sum(kinds.count(bytes((before, _SPACE, _SPACE))) for before in (b"aA0\n.x"))
    return (
        words.count(b" a"),
        words.count(b"aaaaa"),
        words.count(b"aaaaaaaaa"),
        kinds.count(b"A"),
        kinds.count(b"aA"),
        kinds.count(b"0"),
        digits.count(b" 0"),
        marks.count(b" ."),
        marks.count(b" .."),
        marks.count(b" ...."),
        marks.count(b"................"),
        kinds.count(b"\n"),
        spaces,
        *classes(text)[_ASCII_CLASSES:],
    )
