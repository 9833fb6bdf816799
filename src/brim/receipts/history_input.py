"""The messages that a fit was given, and all else that it was told, so that it can be run again.

A fit is repeated from the messages themselves: which turns another budget would keep cannot be told from their sizes.
What is no plain value, such as a function of the caller's, stays in memory; the JSON has its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.files.depth import MOST_DEPTH, is_deep, levels
from brim.receipts.schema import check, schema
from brim.wire.base import plain

_FREE = ("messages", "tools", "system")
"""What is the caller's own, whatever it holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryInput:
    """Everything that the fit of a history was given."""

    messages: tuple[Any, ...]
    """The caller's own objects."""
    budget: int
    meter: str | None
    """The name by which the meter was given, if it was."""
    model: str | None
    """The model whose meter was taken, if one was named."""
    tools: Sequence[Any] | None
    system: Any
    """The system prompt that was sent apart from the messages, if one was."""
    options: Mapping[str, Any]
    """The other arguments of the fit that are plain values, by name; the shape is the one that the messages had."""
    stable: Mapping[str, Any] | None
    """The lines of stable mode, by name; `None` in any other."""
    functions: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The functions of the caller's, by the argument that they were; `None` for one that JSON could not hold."""
    measure: Any = field(default=None, repr=False, compare=False)
    """The meter itself, which stays in memory."""
    held: Any = field(default=None, repr=False, compare=False)
    """The cut that stable mode held before the fit, which stays in memory."""

    def to_dict(self) -> dict[str, Any]:
        """Return the transcript as JSON values, which are copies.

        Raises:
            InvalidValue: a message, a tool or an argument cannot be written as JSON.
        """
        values = {
            "messages": [_written(raw, f"messages[{i}]") for i, raw in enumerate(self.messages)],
            "budget": self.budget,
            "meter": self.meter,
            "model": self.model,
            "tools": _written(self.tools if self.tools is None else list(self.tools), "tools"),
            "system": _written(self.system, "system"),
            "options": dict(self.options),
            "stable": _written(self.stable, "stable"),
            "functions": sorted(self.functions),
        }
        _check("transcript", values)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "transcript") -> HistoryInput:
        """Return the transcript that `to_dict` wrote; `place` says where it stands, for what is wrong with it.

        Raises:
            InvalidValue: it is not a transcript.
        """
        values = _renamed(values)
        _check(place, values)
        return cls(**{**values, "messages": tuple(values["messages"]), "functions": dict.fromkeys(values["functions"])})


def _renamed(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values with the name that the format of the messages has now; version 0.1 called it `shape`."""
    options = values.get("options")
    if not isinstance(options, Mapping) or "shape" not in options:
        return values
    kept = {key: value for key, value in options.items() if key != "shape"}
    return {**values, "options": {"format": options["shape"], **kept}}


def whole_numbers(values: Any) -> Iterator[int]:
    """Yield the whole numbers in what is the caller's own, of some JSON that may be a transcript."""
    free = [values.get(key) for key in _FREE] if isinstance(values, Mapping) else []
    for level in levels(free):
        yield from (value for value in level if type(value) is int)


def _check(place: str, values: Any) -> None:
    """Pass if some JSON is a transcript; what is in a message, the fit checks itself."""
    shared = schema("receipt")["$defs"]
    check(place, values, shared["transcript"], shared)
    for key in _FREE:
        if is_deep(values[key]):
            raise InvalidValue(f"{place}.{key}", values[key], f"nested at most {MOST_DEPTH} levels deep")


def _written(value: Any, place: str) -> Any:
    """Return a value as JSON would bring it back: an object of a client library is the mapping of its fields."""
    try:
        return json.loads(json.dumps(value, default=_fields))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidType(place, value, f"JSON, to be captured ({error})") from error


def _fields(value: Any) -> dict[str, Any]:
    known = plain(value)
    if not isinstance(known, Mapping):
        raise TypeError(f"a {type(value).__name__} is not JSON")
    return dict(known)
