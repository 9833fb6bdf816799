"""A text that repeats messages of its own log, as it is written beside the last of them.

A dropped turn is its messages as JSON, and a dropped result is what one message says. The log has every character of
both, so all that is written is which entries they are, and the first bytes of the hash by which the text is asked for.
A text that cannot be made from its entries is written as what it takes from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from brim.files.text_digest import text_digest
from brim.store.base import RepeatedText
from brim.store.repetition import number_bytes, read_numbers

MARK = "b2:"
SHOWN = 11
"""Characters of a handle that name a text within its session; prompts show as many."""
_BYTES = (SHOWN - len(MARK)) // 2
_TURN, _PACKED = 1, 2

_encoder = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def handle_of(text: str) -> str:
    """Return the handle of a text that is its hash."""
    return MARK + text_digest(text)


def repeated_text(first: int, last: int, handle: str, *, turn: bool = False, packed: bytes = b"") -> RepeatedText:
    """Return a text with its handle as it is written."""
    return RepeatedText(first, last, handle[:SHOWN], turn, packed)


def text_of(each: RepeatedText, messages: Sequence[Mapping[str, Any]], handle: str | None = None) -> str | None:
    """Return a text by the bodies of the messages from its first to its last; `None` if it is not there.

    With a handle it is that text, if there are several with the same first characters.
    """
    candidates = [_turn_text(messages)] if each.turn else _strings(messages)
    return next((text for text in candidates if handle_of(text).startswith(handle or each.handle)), None)


def is_turn(text: str, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a text is messages as a turn is written."""
    return text.startswith("[") and text == _turn_text(messages)


def is_within(text: str, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a text is one of those in messages."""
    return any(text == each for each in _strings(messages))


def _turn_text(bodies: Iterable[Mapping[str, Any]]) -> str:
    """Return messages as a turn is written: as they were sent, which may be shorter than they came."""
    return _encoder.encode([body.get("sent", body.get("message")) for body in bodies])


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in JSON values."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


def encode_repeated(texts: Iterable[RepeatedText]) -> bytes:
    """Return texts with one last entry as they are written."""
    parts = []
    for each in texts:
        form = _TURN * each.turn + _PACKED * bool(each.packed)
        parts += [number_bytes(4 * (each.last - each.first) + form), handle_bytes(each.handle)]
        if each.packed:
            parts += [number_bytes(len(each.packed)), each.packed]
    return b"".join(parts)


def decode_repeated(last: int, written: bytes) -> list[RepeatedText]:
    """Return the texts that `encode_repeated` wrote."""
    found, at = [], 0
    while at < len(written):
        (head,), at = read_numbers(written, 1, at)
        name, at = f"{MARK}{written[at : at + _BYTES].hex()}", at + _BYTES
        packed = b""
        if head & _PACKED:
            (size,), at = read_numbers(written, 1, at)
            packed, at = written[at : at + size], at + size
        found.append(RepeatedText(last - (head >> 2), last, name, bool(head & _TURN), packed))
    return found


def handle_bytes(handle: str) -> bytes:
    """Return the bytes of a handle that are written."""
    return bytes.fromhex(handle[len(MARK) : SHOWN])
