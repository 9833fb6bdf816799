"""What tool definitions count, each read once in its life.

An agent sends the same tools with every call, and reading a schema takes far longer than writing it as bytes, by which
a tool is known. Comparing takes less still. So a list of definitions is kept beside a copy of their containers: as long
as the same objects come and equal the copy, they were not changed and their counts hold. The comparison runs inside the
interpreter, and a text that is the same object is not read. Only another order of the keys of an object is not noticed:
by OpenAI's rule it does not matter, and the count of other tools is an estimate.
"""

from __future__ import annotations

import marshal
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Generic, TypeVar

_MOST_TOOLS = 4_096
"""Definitions that are kept; servers of tools bring some hundreds."""
_MOST_LISTS = 4
"""Lists of them that are kept: an agent that hands over to another takes turns between two."""
_MOST_DEPTH = 40
"""Levels of a definition that is copied; a deeper one is written each time."""

Counted = tuple[tuple[int, ...], bool]
"""The tokens of each function of a tool, and whether a published rule covers them."""
T = TypeVar("T")
W = TypeVar("W")


class ToolMemo(Generic[T]):
    """What was read of tool definitions: for a meter and a provider's format, what they count."""

    def __init__(self) -> None:
        self._values: OrderedDict[bytes, T] = OrderedDict()
        self._lists: list[_KnownList[T]] = []

    def each(self, tools: Sequence[Any], read: Callable[[int, Any], T]) -> list[T]:
        """Return what was read of each tool; the same list as before if nothing has changed.

        Args:
            tools: the definitions.
            read: reads the one at an index, if it is new or was changed.
        """
        return self._list(tools, read).values

    def whole(
        self, tools: Sequence[Any], read: Callable[[int, Any], T], make: Callable[[list[T]], W], key: object = None
    ) -> W:
        """Return what is made of all that was read; the same object as before if nothing has changed.

        Args:
            tools: the definitions.
            read: reads the one at an index, if it is new or was changed.
            make: makes it, if a tool is new or was changed.
            key: tells one thing that is made of the same tools from another.
        """
        known = self._list(tools, read)
        if key not in known.made:
            known.made[key] = make(known.values)
        found: W = known.made[key]
        return found

    def _list(self, tools: Sequence[Any], read: Callable[[int, Any], T]) -> _KnownList[T]:
        given = tools if type(tools) is list else list(tools)
        for known in self._lists:
            # Comparing the lists themselves is the least that a check of every value can take.
            same = known.given is given or _same_objects(known.tools, given)
            if same and known.copies is not None and given == known.copies:
                return known
        written = [_written(tool) for tool in given]
        for known in self._lists:
            if known.written == written:
                # A client that makes its tools anew for each request brings these objects once.
                known.copies = _copies(given) if _same_objects(known.tools, given) else None
                known.given, known.tools = given, tuple(given)
                return known
        # All copies before anything is read: beside one another in memory, they are compared in less time.
        copies = _copies(given) if any(name not in self._values for name in written) else None
        values = [self._value(name, at, tool, read) for at, (name, tool) in enumerate(zip(written, given, strict=True))]
        made = _KnownList(given, tuple(given), copies, written, values)
        if None not in written:
            # Of a list whose tools were changed, the old counts are of no use.
            others = [each for each in self._lists if not _same_objects(each.tools, given)]
            self._lists = [made, *others[: _MOST_LISTS - 1]]
        return made

    def _value(self, written: bytes | None, at: int, tool: Any, read: Callable[[int, Any], T]) -> T:
        """Return what is read of one tool, which is read if it is new or was changed."""
        if written is None:
            return read(at, tool)
        value = self._values.get(written)
        if value is None:
            value = self._values[written] = read(at, tool)
            while len(self._values) > _MOST_TOOLS:
                self._values.popitem(last=False)
        return value


@dataclass(slots=True)
class _KnownList(Generic[T]):
    """The definitions of a request."""

    given: list[Any]
    """The list in which they came."""
    tools: tuple[Any, ...]
    """The objects: keeping them keeps their identities from being used again."""
    copies: list[Any] | None
    """Copies of their containers; `None` for objects that came once, or that cannot be compared."""
    written: list[bytes | None]
    values: list[T]
    made: dict[object, Any] = field(default_factory=dict)
    """What was made of all values."""


def _written(tool: Any) -> bytes | None:
    """Return a definition as bytes: its values, their types and their order; `None` if it has others than JSON has."""
    try:
        return marshal.dumps(tool, 0)  # Later versions write which texts are the same object.
    except ValueError:
        return None


class _Exact:
    """A number of a copy. It equals only a number of its own type: True is not 1, which counts differently."""

    __slots__ = ("_value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self._value) and other == self._value


def _same_objects(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def _copies(tools: list[Any]) -> list[Any] | None:
    made = [_copied(tool, _MOST_DEPTH) for tool in tools]
    return None if None in made else made


def _copied(value: Any, depth: int) -> Any:
    """Return a copy of the containers of a value; `None` for one that cannot be compared, or is too deep."""
    kind = type(value)
    if kind is str:
        return value
    if kind is bool or kind is int or kind is float:
        return _Exact(value)
    if depth == 0 or kind not in (dict, list, tuple):
        return None
    if kind is tuple:
        inner = _copied(list(value), depth)
        return None if inner is None else tuple(inner)
    if kind is dict and any(type(key) is not str for key in value):
        return None  # A key that is not a text may equal another one: 1 is True.
    made = value.copy()
    for key, each in value.items() if kind is dict else enumerate(value):
        if type(each) is not str and each is not None:
            made[key] = copy = _copied(each, depth - 1)
            if copy is None:
                return None
    return made
