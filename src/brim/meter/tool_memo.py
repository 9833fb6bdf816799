"""What tool definitions count, each read once in its life.

An agent sends the same tools with every call, and reading a schema takes far longer than comparing it. So a definition
is kept beside a copy of its containers: as long as the two are equal, it was not changed and its count holds. The
comparison runs inside the interpreter, and a text that is the same object is not read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import eq, is_
from typing import Any, Generic, NamedTuple, TypeVar

_MOST_TOOLS = 4_096
"""Definitions that are kept; servers of tools bring some hundreds."""
_MOST_LISTS = 4
"""Lists of them that are kept: an agent that hands over to another takes turns between two."""
_MOST_DEPTH = 40
"""Levels of a definition that is kept; a deeper one is read each time."""

Counted = tuple[tuple[int, ...], bool]
"""The tokens of each function of a tool, and whether a published rule covers them."""
T = TypeVar("T")


class ToolMemo(Generic[T]):
    """What was read of tool definitions: for a meter and a provider's format, what they count."""

    def __init__(self) -> None:
        self._tools: OrderedDict[int, _KnownTool[T]] = OrderedDict()
        self._lists: list[_KnownList[T]] = []

    def each(self, tools: Sequence[Any], read: Callable[[int, Any], T]) -> list[T]:
        """Return what was read of each tool; the same list as before if nothing has changed.

        Args:
            tools: the definitions.
            read: reads the one at an index, if it is new or was changed.
        """
        for known in self._lists:
            same = len(known.tools) == len(tools) and all(map(is_, known.tools, tools))
            if same and all(map(eq, tools, known.copies)):
                return known.values
        found = [self._one(at, tool, read) for at, tool in enumerate(tools)]
        values = [each.value for each in found]
        if all(each.copy is not None for each in found):
            # Of a list whose tools were changed, the old counts are of no use.
            others = [each for each in self._lists if not _same_objects(each.tools, tools)]
            made = _KnownList(tuple(tools), [each.copy for each in found], values)
            self._lists = [made, *others[: _MOST_LISTS - 1]]
        return values

    def _one(self, at: int, tool: Any, read: Callable[[int, Any], T]) -> _KnownTool[T]:
        known = self._tools.get(id(tool))
        if known is not None and known.tool is tool and tool == known.copy:
            return known
        made = _KnownTool(tool, _copied(tool, _MOST_DEPTH), read(at, tool))
        if made.copy is not None:
            self._tools[id(tool)] = made
            while len(self._tools) > _MOST_TOOLS:
                self._tools.popitem(last=False)
        return made


class _KnownTool(NamedTuple, Generic[T]):
    """One definition; keeping the object itself keeps its identity from being used again."""

    tool: Any
    copy: Any
    """A copy of its containers; `None` if it holds what cannot be compared."""
    value: T


class _KnownList(NamedTuple, Generic[T]):
    """The definitions of a request."""

    tools: tuple[Any, ...]
    copies: list[Any]
    values: list[T]


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


def _copied(value: Any, depth: int) -> Any:
    """Return a copy of the containers of a value; `None` for one that cannot be compared, or is too deep."""
    kind = type(value)
    if kind is str:
        return value
    if kind is bool or kind is int or kind is float:
        return _Exact(value)
    if depth == 0 or kind not in (dict, list, tuple):
        return None
    inner = value.values() if kind is dict else value
    copies = [_NONE if each is None else _copied(each, depth - 1) for each in inner]
    if any(each is None for each in copies):
        return None
    copies = [None if each is _NONE else each for each in copies]
    return dict(zip(value, copies, strict=True)) if kind is dict else kind(copies)


_NONE = object()
