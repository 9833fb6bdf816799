"""The input of a fit, so that the fit can be run again: sections, messages, or a request with both.

A replay of messages needs the messages themselves: their sizes do not determine which turns another budget would keep.
Values that JSON cannot represent, such as functions, stay in memory; the JSON contains only their names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from brim.errors import InvalidType, InvalidValue, check_choice
from brim.files.depth import MOST_DEPTH, is_deep
from brim.receipts.schema import check
from brim.receipts.section import Section
from brim.wire.base import jsonable

_FREE = ("messages", "tools", "system", "fields")
"""Fields that contain arbitrary JSON of the caller."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """The input of a fit."""

    budget: int
    meter: str | None
    """The name of the meter, if it was passed by name."""
    model: str | None
    """The model whose meter was used, or that the body of the request names."""
    options: Mapping[str, Any]
    """The other arguments of the fit that are plain values, by name."""
    sections: tuple[Section, ...] = ()
    """The sections of a prompt; for a request, those of the system prompt and then those of the user's message."""
    leading: int | None = None
    """For a request, the number of sections of the system prompt."""
    messages: tuple[Any, ...] | None = None
    """The caller's own objects; `None` for a fit of sections."""
    tools: Sequence[Any] | None = None
    system: Any = None
    """The separate system prompt of messages, if any."""
    fields: Mapping[str, Any] | None = None
    """The other fields of the request, if any."""
    stable: Mapping[str, Any] | None = None
    """The settings of stable mode, by name; `None` in any other mode."""
    summaries: Mapping[str, str] = field(default_factory=dict)
    """The summaries of sections, by their source text."""
    functions: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The caller's functions, by the name of the argument; `None` if the capture was read from JSON."""
    measure: Any = field(default=None, repr=False, compare=False)
    """The meter itself, which is not part of the JSON."""
    held: Any = field(default=None, repr=False, compare=False)
    """The cut that stable mode held before the fit; it is not part of the JSON."""

    @property
    def kind(self) -> Literal["sections", "messages", "request"]:
        """What was fitted: by `fit`, `fit_messages` or `fit_request`."""
        return "sections" if self.messages is None else "messages" if self.leading is None else "request"

    def to_dict(self) -> dict[str, Any]:
        """Return copies of the values as JSON values.

        Raises:
            InvalidValue: a section, a message, a tool or an argument cannot be written as JSON.
        """
        tools = None if self.tools is None else list(self.tools)
        rest = {
            "leading": self.leading,
            "tools": _copied(tools, "tools"),
            **{name: _copied(getattr(self, name), name) for name in ("system", "fields", "stable")},
            "summaries": dict(self.summaries),
            "functions": sorted(self.functions),
        }
        values: dict[str, Any] = {"budget": self.budget, "meter": self.meter, "model": self.model}
        values |= {"options": dict(self.options), "sections": [_row(section) for section in self.sections]}
        if self.messages is not None:
            values["messages"] = [_copied(raw, f"messages[{i}]") for i, raw in enumerate(self.messages)]
        values |= {name: value for name, value in rest.items() if value or value == 0}
        _check("capture", values)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "capture") -> Capture:
        """Return the capture that `to_dict` wrote; `place` is its path in error messages.

        Raises:
            InvalidValue: it is not a capture.
        """
        _check(place, values)
        known = [slot.name for slot in fields(Section)]
        for i, row in enumerate(values["sections"]):
            for key in row:
                check_choice(f"{place}.sections[{i}]: a key", key, known)
        row = {**values, "sections": tuple(Section(**row) for row in values["sections"])}
        messages = values.get("messages")
        row["messages"] = None if messages is None else tuple(messages)
        return cls(**row | {"functions": dict.fromkeys(values.get("functions", ()))})


def _check(place: str, values: Any) -> None:
    """Check everything except the content of messages and the values of options, which the fit checks."""
    check(place, values, "capture")
    for key in _FREE:
        if is_deep(values.get(key)):
            raise InvalidValue(f"{place}.{key}", values.get(key), f"nested at most {MOST_DEPTH} levels deep")


def _row(section: Section) -> dict[str, Any]:
    """Return a section as JSON values."""
    if not isinstance(section.keep, str):
        raise InvalidValue(f"section {section.name!r}: keep", section.keep, "a name, to be captured as JSON")
    row = {slot.name: getattr(section, slot.name) for slot in fields(section)}
    row = {key: list(value) if isinstance(value, tuple) else value for key, value in row.items()}
    return {key: value for key, value in row.items() if value is not None or key not in ("scores", "ids")}


def _copied(value: Any, place: str) -> Any:
    """Return a value after a round trip through JSON; an object of a client library becomes a mapping of its fields."""
    try:
        return json.loads(json.dumps(jsonable(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidType(place, value, f"JSON, to be captured ({error})") from error
