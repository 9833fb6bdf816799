"""Regret: calls that an agent repeated because a cut had removed their results.

A result is removed if it is not sent unchanged. A call is repeated if name and arguments are the same, such as the same
file read again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from brim.history.turns import Turns
from brim.wire.message import Message, Piece, results_of


class AnsweredCall(NamedTuple):
    """A call with its result."""

    key: str
    """Its name and arguments."""
    name: str
    units: int
    """The tokens of the call and its result."""


class ShownResults(NamedTuple):
    """The calls of a history, by whether a prompt shows their results unchanged."""

    shown: frozenset[str]
    taken: frozenset[str]


def shown_results(turns: Turns, sent: Sequence[Any]) -> ShownResults:
    """Return which calls have their whole result in a prompt, and of which it was shortened or dropped."""
    own, kept = set(map(id, turns.raws)), set(map(id, sent))
    parts: dict[str, list[str]] = {}
    for message in (turns.wire.read(raw, 0) for raw in sent if id(raw) not in own):
        for result, text in _outputs(message):
            parts.setdefault(result.id, []).append(text)
    shown, taken, calls = set[str](), set[str](), dict[str, str]()
    for at, message in enumerate(turns.messages):
        calls |= {piece.id: _key(piece) for piece in message.pieces if piece.kind == "call"}
        whole = id(turns.raws[at]) in kept
        for result, text in _outputs(message) if message.results else ():
            if (key := calls.get(result.id)) is not None:
                (shown if whole or text in parts.get(result.id, ()) else taken).add(key)
    return ShownResults(frozenset(shown), frozenset(taken - shown))


def answered_calls(turns: Turns, first: int) -> Iterator[AnsweredCall]:
    """Yield the calls whose results are at a position or later."""
    for at in range(first, len(turns)):
        message = turns.messages[at]
        inner = results_of(message)
        for i, piece in enumerate(message.pieces):
            if piece.kind == "result" and (call := _call(turns, piece.id, at)) is not None:
                parts = [call, piece, *(message.pieces[part] for part, result in inner.items() if result == i)]
                yield AnsweredCall(_key(call), call.name, sum(map(turns.chat.piece, parts)))


def _call(turns: Turns, id_: str, before: int) -> Piece | None:
    """Return the newest call with an id before a position."""
    for at in range(before - 1, -1, -1):
        if id_ in turns.messages[at].calls:
            return next(piece for piece in turns.messages[at].pieces if piece.kind == "call" and piece.id == id_)
    return None


def _outputs(message: Message) -> list[tuple[Piece, str]]:
    """Return the results of a message with their texts."""
    texts: dict[int, list[str]] = {i: [] for i, piece in enumerate(message.pieces) if piece.kind == "result"}
    for part, result in results_of(message).items():
        texts[result].append(message.pieces[part].text)
    return [(message.pieces[i], "\n".join(each)) for i, each in texts.items()]


def _key(call: Piece) -> str:
    """Return the name and the arguments of a call, regardless of white space and the order of keys."""
    try:  # A whole number of any length is compared by its digits.
        return json.dumps([call.name, json.loads(call.text or "{}", parse_int=str)], sort_keys=True)
    except (ValueError, RecursionError):
        return f"{call.name} {call.text}"
