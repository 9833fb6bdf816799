"""Calls that an agent makes again because a cut had taken their results: what the cut has cost.

A result is taken if it is not sent as it came. A call is made again if one of the same name has the same arguments. No
model is asked, and nothing is guessed: the same file read again, or the same command run again, is counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from brim.history.turns import Turns
from brim.wire.message import Message, Piece, results_of


class AnsweredCall(NamedTuple):
    """A call that has its result."""

    key: str
    """Its name and arguments: the same for the same call."""
    name: str
    units: int
    """The tokens of the call and its result."""


class ShownResults(NamedTuple):
    """The calls of a history, by whether a prompt shows their results as they came."""

    shown: frozenset[str]
    taken: frozenset[str]


def shown_results(turns: Turns, sent: Sequence[Any]) -> ShownResults:
    """Return which calls have their result in a prompt, and of which it was taken: shortened, or left out."""
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
    """Yield the calls that messages from a position on answer."""
    for at in range(first, len(turns)):
        message = turns.messages[at]
        inner = results_of(message)
        for i, piece in enumerate(message.pieces):
            if piece.kind == "result" and (call := _call(turns, piece.id, at)) is not None:
                parts = [call, piece, *(message.pieces[part] for part, result in inner.items() if result == i)]
                yield AnsweredCall(_key(call), call.name, sum(map(turns.chat.piece, parts)))


def _call(turns: Turns, id_: str, before: int) -> Piece | None:
    """Return the newest call of an id before a position."""
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
    """Return the name and the arguments of a call, however the arguments are spaced or ordered."""
    try:
        return json.dumps([call.name, json.loads(call.text or "{}")], sort_keys=True)
    except (ValueError, RecursionError):
        return f"{call.name} {call.text}"
