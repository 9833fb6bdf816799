"""The record of one fit: what every part wanted, got and used, and why.

A receipt contains hashes, not texts, unless the fit captured them; with the texts it can be run again, byte for byte or
at another budget. The JSON is versioned and described by `receipt.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, get_args

from brim.errors import InvalidType, InvalidValue, UnknownName, check_choice
from brim.meter.memo import Memo
from brim.receipts.history_input import HistoryInput, whole_numbers
from brim.receipts.schema import check
from brim.receipts.section import Section

VERSION = 1

Policy = Literal["truncate_then_continue", "truncate_then_stop", "skip", "stop"]
POLICIES: tuple[str, ...] = get_args(Policy)
Fill = Literal["order", "fair"]
FILLS: tuple[str, ...] = get_args(Fill)
Order = Literal["given", "priority"]
ORDERS: tuple[str, ...] = get_args(Order)

STATES = ("whole", "form", "cut", "summarised", "dropped", "empty", "disabled")
"""The states of a part."""

_MOST_DIGITS = 40
"""Digits of a number in JSON: more than any count has, few enough that a sum can always be written."""
_LONGEST_NUMBER = 4_000
"""Digits of a number in a message, with which nothing is calculated: Python writes at most 4,300."""

_HANDLES: Memo[str] = Memo()

_PRESENT = ("whole", "form", "cut", "summarised")
_LESSENED = ("form", "cut", "summarised", "dropped")


class Part(NamedTuple):
    """The outcome of one section, or of one turn of a history."""

    name: str
    state: str
    """One of `STATES`."""
    priority: int
    required: bool
    size: int
    """Tokens of the whole content."""
    wanted: int
    """Its size, or its ceiling if that is less."""
    granted: int
    """Tokens that the allocator gave it."""
    used: int
    """Tokens that it takes in the prompt."""
    reason: str
    """Why it is in that state, in words."""
    handle: str
    """The hash of the whole content, by which a store finds it."""
    ceiling: int | None = None

    @property
    def present(self) -> bool:
        """Whether anything of it is in the prompt."""
        return self.state in _PRESENT


class Loss(NamedTuple):
    """Content of one part that was left out of the prompt."""

    name: str
    units: int
    """Tokens that were left out."""
    reason: str
    handle: str
    """The hash of the whole content of the part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A part that differs between two receipts."""

    name: str
    before: Part | None
    after: Part | None

    def __str__(self) -> str:
        before, after = (f"{part.state} {part.used:,}" if part else "absent" for part in (self.before, self.after))
        return f"{self.name}: {before} -> {after}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """The input of a fit of sections, so that it can be run again."""

    sections: tuple[Section, ...]
    budget: int
    meter: str | None
    """The name of the meter, if the fit had one by name."""
    model: str | None
    """The model whose meter was used, if any."""
    options: Mapping[str, Any]
    """The other arguments of the fit, by name."""
    summaries: Mapping[str, str] = field(default_factory=dict)
    """The summaries that were written, by their source text."""
    measure: Any = field(default=None, repr=False, compare=False)
    """The meter itself, which is not part of the JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return the capture as JSON values.

        Raises:
            InvalidValue: a section's `keep` is an object, which JSON cannot represent.
        """
        rows = []
        for section in self.sections:
            if not isinstance(section.keep, str):
                raise InvalidValue(f"section {section.name!r}: keep", section.keep, "a name, to be captured as JSON")
            row = {slot.name: getattr(section, slot.name) for slot in fields(section)}
            content = section.content if isinstance(section.content, str) else list(section.content)
            rows.append({**row, "content": content, "forms": list(section.forms)})
        return {
            "sections": rows,
            "budget": self.budget,
            "meter": self.meter,
            "model": self.model,
            "options": dict(self.options),
            "summaries": dict(self.summaries),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "capture") -> Capture:
        """Return the capture that `to_dict` wrote; `place` is its path in error messages.

        Raises:
            InvalidValue: it is not a capture.
        """
        check(place, values, "capture")
        known = [slot.name for slot in fields(Section)]
        for i, row in enumerate(values["sections"]):
            for key in row:
                check_choice(f"{place}.sections[{i}]: a key", key, known)
        return cls(**{**values, "sections": tuple(Section(**row) for row in values["sections"])})


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """The record of one fit."""

    budget: int
    used: int
    """Tokens of the whole prompt, counted as one text."""
    unit: str
    meter: str
    exact: bool
    """Whether the meter is exact, not an estimate."""
    upper: int
    """An upper bound of the true count; equal to `used` for an exact meter."""
    joins: int
    """Tokens of the prompt outside of the parts: separators, the template's text, the budget section, and the tokens
    gained or lost where texts meet. `used` is this and the use of all parts."""
    parts: tuple[Part, ...]
    losses: tuple[Loss, ...]
    policy: Policy
    fill: Fill
    order: Order
    stable_prefix: int = 0
    """Tokens at the start of the prompt in sections that are stable and whole; for messages, those that are identical
    to the last prompt."""
    history: Mapping[str, Any] | None = None
    """For messages: how turns were selected, the note, the repairs, and `context_truncation`."""
    stages: tuple[str, ...] = ()
    """What the stages took before anything else was cut, a sentence each."""
    planned: bool = False
    """Whether it was computed from sizes alone, without the texts."""
    version: int = VERSION
    capture: Capture | HistoryInput | None = field(default=None, repr=False, compare=False)
    """The input of the fit: sections, or messages. It is part of the JSON only if `captured` is true."""
    captured: bool = False
    """Whether `to_dict` writes the capture."""

    @property
    def truncated(self) -> bool:
        """Whether anything was cut, shortened or dropped."""
        return bool(self.losses)

    @property
    def unused(self) -> int:
        """Tokens of the budget that were not used."""
        return self.budget - self.used

    def part(self, name: str) -> Part:
        """Return the part of that name.

        Raises:
            UnknownName: there is no such part.
        """
        for part in self.parts:
            if part.name == name:
                return part
        kind = "section" if self.history is None else "turn"
        raise UnknownName(kind, name, [part.name for part in self.parts])

    def why(self, name: str) -> str:
        """Return a sentence with the state of a part, and why.

        Raises:
            UnknownName: there is no such part.
        """
        part = self.part(name)
        sums = f"size {part.size:,}, wanted {part.wanted:,}, granted {part.granted:,}, used {part.used:,}"
        return f"{name} is {part.state}: {part.reason} ({sums} {self.unit})."

    def diff(self, other: Receipt) -> tuple[Change, ...]:
        """Return the parts whose state or use differs between this receipt and a later one."""
        mine = {part.name: part for part in self.parts}
        theirs = {part.name: part for part in other.parts}
        pairs = ((name, mine.get(name), theirs.get(name)) for name in dict.fromkeys([*mine, *theirs]))
        return tuple(
            Change(name=name, before=before, after=after)
            for name, before, after in pairs
            if not (before and after)
            or (before.state, before.used, before.handle) != (after.state, after.used, after.handle)
        )

    def event(self, agent: str | None = None, **extra: Any) -> dict[str, Any]:
        """Return the fields of a `prompt_assembled` event; every section is in exactly one of the lists."""
        return {
            "event": "prompt_assembled",
            "agent": agent,
            "budget_tokens": self.budget,
            "used_tokens": self.used,
            "sections_included": [part.name for part in self.parts if part.state in ("whole", "empty")],
            "sections_truncated": [part.name for part in self.parts if part.state in ("form", "cut", "summarised")],
            "sections_dropped": [part.name for part in self.parts if part.state in ("dropped", "disabled")],
            **extra,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON values, in the versioned form that the schema describes."""
        return {slot.name: getattr(self, slot.name) for slot in fields(self)} | {
            "parts": [part._asdict() for part in self.parts],
            "losses": [loss._asdict() for loss in self.losses],
            "stages": list(self.stages),
            "truncated": self.truncated,
            "capture": self.capture.to_dict() if self.captured and self.capture else None,
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return the receipt as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=True)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Receipt:
        """Return the receipt that `to_dict` wrote.

        Raises:
            InvalidValue: it is not a receipt, or its version is unknown.
        """
        if not isinstance(values, Mapping) or "version" not in values:
            raise InvalidType("receipt", values, "the JSON object that to_json wrote")
        if values["version"] != VERSION:
            raise InvalidValue("receipt version", values["version"], f"{VERSION}, which this release of brim reads")
        # The capture is checked by itself: the schema accepts either kind, and errors should be about the right one.
        capture = values.get("capture")
        row: dict[str, Any] = {key: None if key == "capture" else value for key, value in values.items()}
        check("receipt", row)
        del row["truncated"]
        row["parts"] = tuple(Part(**part) for part in row["parts"])
        row["losses"] = tuple(Loss(**loss) for loss in row["losses"])
        row["stages"] = tuple(row.get("stages", ()))
        row["capture"] = None if capture is None else capture_of(capture, "receipt.capture")
        return cls(**row)

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """Return the receipt that `to_json` wrote.

        Raises:
            InvalidValue: it is not one.
        """
        try:
            return cls.from_dict(_read(text))
        except InvalidValue:
            raise
        except (ValueError, RecursionError) as error:
            raise InvalidValue("receipt", text[:40], f"JSON ({error})") from error


def handle(text: str) -> str:
    """Return the hash of a text, which is the same on every machine."""
    known = _HANDLES.get(text)
    if known is None:
        from hashlib import blake2b

        known = "b2:" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        _HANDLES.put(text, known)
    return known


def losses(parts: Sequence[Part]) -> tuple[Loss, ...]:
    """Return the losses of the parts, in their order."""
    return tuple(
        Loss(part.name, part.size - part.used, part.reason, part.handle) for part in parts if part.state in _LESSENED
    )


def capture_of(values: Mapping[str, Any], place: str = "capture") -> Capture | HistoryInput:
    """Return the input of a fit from its JSON values: sections, or the messages of a history.

    Raises:
        InvalidValue: it is neither.
    """
    kind = HistoryInput if isinstance(values, Mapping) and "messages" in values else Capture
    return kind.from_dict(values, place)


def _read(text: str) -> Any:
    """Return the values of a JSON text, in which only a message may contain a number too long for a count.

    Raises:
        ValueError: it is not JSON, or has such a number elsewhere.
    """
    long: list[int] = []

    def whole(digits: str) -> int:
        if len(digits) > _MOST_DIGITS:
            long.append(len(digits))
        if len(digits) > _LONGEST_NUMBER:
            raise ValueError(f"a number of {len(digits):,} digits")
        return int(digits)

    values = json.loads(text, parse_int=whole)
    if long:
        capture = values.get("capture") if isinstance(values, Mapping) else None
        if len(long) > sum(len(str(number)) > _MOST_DIGITS for number in whole_numbers(capture)):
            raise ValueError(f"a number of {long[0]:,} digits")
    return values
