"""The order in which turns are selected: by class, by relevance, by age, or by two of these.

If the class is first, the other way orders each class. Any other first way gets half of the tokens, and the second the
rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.errors import InvalidValue
from brim.history.options import Options
from brim.history.priority import DEFAULT, NAMES, StepClass
from brim.history.turns import Turns
from brim.wire.message import Message


class Ranking:
    """Ranks the turns of a history; each turn is indexed once."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._index: Any = None
        self._embed: Any = None
        self._starts: list[int] = []
        self._classes: dict[int, tuple[Any, StepClass]] = {}

    def order(self, options: Options, kept: Sequence[int], left: int) -> list[int]:
        """Return the turns besides the kept ones, in the order in which to select them."""
        gone = {*kept, *self._turns.notes}
        newest = [turn for turn in range(len(self._turns.starts) - 1, -1, -1) if turn not in gone]
        orders = [self._by(way, newest, options) for way in options.ways]
        if len(orders) == 1:
            return orders[0]
        if options.ways[0] == "priority":
            return self._by_class(orders[1], options)
        return self._half(orders[0], orders[1], left)

    def _by(self, way: str, newest: list[int], options: Options) -> list[int]:
        """Return turns in the order of one way; `newest` has them with the newest first."""
        if way == "relevance":
            wanted = set(newest)
            return [turn for turn in self._by_relevance(options) if turn in wanted]
        if way == "priority":
            return self._by_class(newest[::-1] if options.within == "oldest_first" else newest, options)
        return newest

    def _by_class(self, turns: list[int], options: Options) -> list[int]:
        return sorted(turns, key=lambda turn: -self.class_of(turn, options))

    def class_of(self, turn: int, options: Options) -> StepClass:
        """Return the class of a turn: the highest of its messages."""
        return max(self._class_of(position, options) for position in range(*self._turns.span(turn)))

    def _class_of(self, position: int, options: Options) -> StepClass:
        message = self._turns.messages[position]
        if options.classify is not None:
            return _class(options.classify(message.raw), self._turns.indexes[position])
        known = self._classes.get(position)
        if known is None or known[0] is not message.raw:
            known = (message.raw, DEFAULT.of(None, message.name or None, message.said()))
            self._classes[position] = known
        return known[1]

    def _half(self, first: list[int], second: list[int], left: int) -> list[int]:
        """Return the first turns of one order within half of the tokens, then the others in the other order."""
        room, head = left // 2, []
        for turn in first:
            if self._turns.weights[turn] <= room:
                room -= self._turns.weights[turn]
                head.append(turn)
        taken = set(head)
        return head + [turn for turn in second if turn not in taken]

    def _by_relevance(self, options: Options) -> list[int]:
        turns = self._turns
        starts = turns.starts[:-1]
        if self._index is None or self._embed is not options.embed or starts[: len(self._starts)] != self._starts:
            self._index, self._embed, self._starts = _new_index(options), options.embed, []
        for turn in range(len(self._starts), len(starts)):
            self._index.add("\n".join(_spoken(turns.messages[position]) for position in turns.members(turn)))
        self._starts = starts
        query = turns.question if options.query is None else options.query
        own = turns.at(turns.instruction) if query == turns.question else ()
        ranked: list[int] = self._index.rank(query, turns.weights[:-1], own)
        return ranked


def _spoken(message: Message) -> str:
    """Return the text of a message, after the name of its author if it has one."""
    return f"{message.name}: {message.text()}" if message.name else message.text()


def _class(value: Any, index: int) -> StepClass:
    """Return the class that `classify` named, by its name or its number."""
    if isinstance(value, str) and value.upper() in StepClass.__members__:
        return StepClass[value.upper()]
    if not isinstance(value, bool) and isinstance(value, int) and 0 <= value <= max(StepClass):
        return StepClass(value)
    raise InvalidValue(f"the result of classify for messages[{index}]", value, f"one of {', '.join(NAMES)}")


def _new_index(options: Options) -> Any:
    if options.embed is None:
        from brim.relevance.lexical import Relevance

        return Relevance()
    from brim.relevance.meaning import Meaning

    return Meaning(options.embed) if callable(options.embed) else Meaning()
