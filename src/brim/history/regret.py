"""Regret: calls that an agent repeated because a cut had removed their results.

A result is removed if it is not sent unchanged. A call is repeated if name and arguments are the same, such as the same
file read again. A cut is compared with the one before, so its price is that of what it changed.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from brim.history.turns import MessageIndex, Span, Turns, differing
from brim.wire.message import Message, Piece, results_of


class AnsweredCall(NamedTuple):
    """A call with its result."""

    key: str
    """Its name and arguments."""
    name: str
    units: int
    """The tokens of the call and its result."""


class ResultIndex(MessageIndex):
    """The calls of a history that have results, and where these are."""

    def _forget(self) -> None:
        self._calls: dict[str, str] = {}
        """The key of the newest call with each id."""
        self.keys: dict[int, list[str]] = {}
        """The calls that each message has results of, by position."""
        self.places: dict[str, list[int]] = {}
        """The positions of the results of each call."""
        self.named: dict[str, set[str]] = {}
        """The calls of each id."""

    def _add(self, position: int, message: Message) -> None:
        if message.calls:
            self._calls |= {piece.id: _key(piece) for piece in message.pieces if piece.kind == "call"}
        for id_ in message.results:
            if (key := self._calls.get(id_)) is not None:
                self.keys.setdefault(position, []).append(key)
                self.places.setdefault(key, []).append(position)
                self.named.setdefault(id_, set()).add(key)

    def removed(
        self, before: RemovedResults, whole: Sequence[Span], changed: Iterable[Any], cut: int
    ) -> RemovedResults:
        """Return which results are removed after a cut.

        Args:
            before: which were removed before it.
            whole: the ranges of positions whose messages the prompt sends as they are.
            changed: its other messages, which may have whole results too.
            cut: the number of the cut.
        """
        self.keep_up()
        turns = self._turns
        if before.results is not self or before.order != turns.order:
            before = RemovedResults(before.cuts)
        texts = {(piece.id, text) for raw in changed for piece, text in _outputs(turns.wire.read(raw, 0))}
        partly = {key for id_, _ in texts for key in self.named.get(id_, ())}
        spans = [*differing(before.whole, whole), (before.length, len(turns))]
        places = [at for start, stop in spans for at in range(start, stop)]
        touched = {key for at in places for key in self.keys.get(at, ())} | before.partly | partly
        edges = [edge for span in whole for edge in span]

        def shown(at: int) -> bool:
            if bisect_right(edges, at) % 2:
                return True
            return any((piece.id, text) in texts for piece, text in _outputs(turns.messages[at]))

        cuts = {key: known for key, known in before.cuts.items() if key not in touched}
        gone = (key for key in touched if not any(map(shown, reversed(self.places[key]))))
        cuts |= {key: before.cuts.get(key, cut) for key in gone}
        return RemovedResults(cuts, self, turns.order, len(turns), whole, partly)


class RemovedResults(NamedTuple):
    """The calls whose results cuts have removed."""

    cuts: Mapping[str, int] = {}
    """The number of the cut that removed them, by call."""
    results: ResultIndex | None = None
    """The index of the history that the following are about."""
    order: int = 0
    """The order of its messages."""
    length: int = 0
    """How many messages it had at the last cut."""
    whole: Sequence[Span] = ()
    """The ranges of them that the last cut left as they were."""
    partly: frozenset[str] | set[str] = frozenset()
    """The calls with whole results in messages that it changed."""

    def without(self, key: str) -> RemovedResults:
        """Return the same without a call that was repeated."""
        return self._replace(cuts={each: cut for each, cut in self.cuts.items() if each != key})


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
