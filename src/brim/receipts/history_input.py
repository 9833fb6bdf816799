"""The input of a fit of a history, so that the fit can be run again.

A replay needs the messages themselves: which turns another budget would keep does not follow from their sizes. Values
that JSON cannot represent, such as the caller's functions, stay in memory; the JSON has their names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from brim.errors import InvalidType, InvalidValue, picklable
from brim.files.depth import MOST_DEPTH, is_deep, levels
from brim.receipts.schema import check
from brim.wire.base import jsonable

_FREE = ("messages", "tools", "system", "fields")
"""Fields with any JSON of the caller's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryInput:
    """The input of a fit of a history."""

    messages: tuple[Any, ...]
    """The caller's own objects."""
    budget: int
    meter: str | None
    """The name of the meter, if the fit had one by name."""
    model: str | None
    """The model whose meter was used, if any."""
    tools: Sequence[Any] | None
    system: Any
    """The separate system prompt, if any."""
    options: Mapping[str, Any]
    """The other arguments of the fit that are plain values, by name; `format` is that of the messages."""
    stable: Mapping[str, Any] | None
    """The settings of stable mode, by name; `None` in any other mode."""
    fields: Mapping[str, Any] | None = None
    """The other fields of the request, if any."""
    functions: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The functions of the caller, by the name of the argument; `None` for one that was read from JSON."""
    measure: Any = field(default=None, repr=False, compare=False)
    """The meter itself, which is not part of the JSON."""
    held: Any = field(default=None, repr=False, compare=False)
    """The cut that stable mode held before the fit, which is not part of the JSON."""

    def __reduce__(self) -> tuple[Any, ...]:
        # A function that cannot be pickled is left out by its name, as in the JSON.
        functions = {name: each if picklable(each) else None for name, each in self.functions.items()}
        measure = self.measure if picklable(self.measure) else None
        values = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        return _restored, (values | {"functions": functions, "measure": measure},)

    def to_dict(self) -> dict[str, Any]:
        """Return copies of the values as JSON values.

        Raises:
            InvalidValue: a message, a tool or an argument cannot be written as JSON.
        """
        values = {
            "messages": [_copied(raw, f"messages[{i}]") for i, raw in enumerate(self.messages)],
            "budget": self.budget,
            "meter": self.meter,
            "model": self.model,
            "tools": _copied(self.tools if self.tools is None else list(self.tools), "tools"),
            "system": _copied(self.system, "system"),
            "options": dict(self.options),
            "stable": _copied(self.stable, "stable"),
            "functions": sorted(self.functions),
        }
        if self.fields is not None:
            values["fields"] = _copied(self.fields, "fields")
        _check("capture", values)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "capture") -> HistoryInput:
        """Return the input that `to_dict` wrote; `place` is its path in error messages.

        Raises:
            InvalidValue: it is not the input of a fit of a history.
        """
        options = values.get("options")
        if isinstance(options, Mapping) and "shape" in options:  # The name of the format in version 0.1.
            values = {**values, "options": {"format" if key == "shape" else key: options[key] for key in options}}
        _check(place, values)
        return cls(**{**values, "messages": tuple(values["messages"]), "functions": dict.fromkeys(values["functions"])})


def _restored(values: Mapping[str, Any]) -> HistoryInput:
    return HistoryInput(**values)


def whole_numbers(values: Any) -> Iterator[int]:
    """Yield the whole numbers in the caller's own JSON, of values that may be the input of a fit of a history."""
    if isinstance(values, Mapping) and "request" in values:
        values = values.get("history")
    free = [values.get(key) for key in _FREE] if isinstance(values, Mapping) else []
    for level in levels(free):
        yield from (value for value in level if type(value) is int)


def _check(place: str, values: Any) -> None:
    """Check all but the content of messages, which the fit checks itself."""
    check(place, values, "history_input")
    for key in _FREE:
        if is_deep(values.get(key)):
            raise InvalidValue(f"{place}.{key}", values.get(key), f"nested at most {MOST_DEPTH} levels deep")


def _copied(value: Any, place: str) -> Any:
    """Return a value as it comes back from JSON: an object of a client library is the mapping of its fields."""
    try:
        return json.loads(json.dumps(jsonable(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidType(place, value, f"JSON, to be captured ({error})") from error
