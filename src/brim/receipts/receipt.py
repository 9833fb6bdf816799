"""The record of one fit: every part with what it wanted, got and used, and why.

A receipt holds hashes, not texts, unless it was asked to capture them; with the texts a fit can be run again,
byte for byte or at another budget. The JSON is versioned and described by `receipt.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, get_args

from brim.errors import InvalidType, InvalidValue, UnknownName, check_choice
from brim.meter.memo import Memo
from brim.receipts.history_input import HistoryInput, whole_numbers
from brim.receipts.schema import check, schema
from brim.receipts.section import Section

VERSION = 1

Policy = Literal["truncate_then_continue", "truncate_then_stop", "skip", "stop"]
POLICIES: tuple[str, ...] = get_args(Policy)
Fill = Literal["order", "fair"]
FILLS: tuple[str, ...] = get_args(Fill)
Order = Literal["given", "priority"]
ORDERS: tuple[str, ...] = get_args(Order)

STATES = ("whole", "form", "cut", "summarised", "dropped", "empty", "disabled")
"""What can become of a part."""

_MOST_DIGITS = 40
"""Digits of a number that is read from JSON: more than any count, few enough that a sum can always be written."""
_LONGEST_NUMBER = 4_000
"""Digits of a number in a message, which is not reckoned with: Python writes out no more than 4,300."""

_HANDLES: Memo[str] = Memo()

_PRESENT = ("whole", "form", "cut", "summarised")
_LESSENED = ("form", "cut", "summarised", "dropped")


class Part(NamedTuple):
    """What became of one section."""

    name: str
    state: str
    """One of `STATES`."""
    priority: int
    required: bool
    size: int
    """Units of the whole content."""
    wanted: int
    """Units that it asked for: its size, or its ceiling if that is less."""
    granted: int
    """Units that the allocator gave it."""
    used: int
    """Units of what stands in the prompt."""
    reason: str
    """A sentence: why it has what it has."""
    handle: str
    """The name of the whole content, by which a store can keep it and bring it back."""
    ceiling: int | None = None

    @property
    def present(self) -> bool:
        """Whether anything of it is in the prompt."""
        return self.state in _PRESENT


class Loss(NamedTuple):
    """One thing that left the prompt."""

    name: str
    units: int
    """How many units went."""
    reason: str
    handle: str
    """The name of the whole content that it was taken from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A part that differs between two receipts."""

    name: str
    before: Part | None
    after: Part | None

    def __str__(self) -> str:
        return f"{self.name}: {_told(self.before)} -> {_told(self.after)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """Everything that a fit was given, so that it can be run again."""

    sections: tuple[Section, ...]
    budget: int
    meter: str | None
    """The name by which the meter was given, if it was."""
    model: str | None
    """The model whose meter was taken, if one was named."""
    options: Mapping[str, Any]
    """The other arguments of the fit, by name."""
    summaries: Mapping[str, str] = field(default_factory=dict)
    """What a summariser answered, by the text that it was given."""
    measure: Any = field(default=None, repr=False, compare=False)
    """The meter itself, which stays in memory."""

    def to_dict(self) -> dict[str, Any]:
        """Return the capture as JSON values.

        Raises:
            InvalidValue: a section's `keep` is an object of the caller's, which has no name to write down.
        """
        rows = []
        for section in self.sections:
            if not isinstance(section.keep, str):
                raise InvalidValue(f"section {section.name!r}: keep", section.keep, "a name, to be captured as JSON")
            row = {slot.name: getattr(section, slot.name) for slot in fields(section)}
            rows.append({**row, "content": _plain(section.content), "forms": list(section.forms)})
        return {
            "sections": rows,
            "budget": self.budget,
            "meter": self.meter,
            "model": self.model,
            "options": dict(self.options),
            "summaries": dict(self.summaries),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Capture:
        """Return the capture that `to_dict` wrote.

        Raises:
            InvalidValue: it is not a capture.
        """
        shared = schema("receipt")["$defs"]
        check("capture", values, shared["capture"], shared)
        return _capture(values)


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """The record of one fit."""

    budget: int
    used: int
    """Units of the whole prompt, counted as one text."""
    unit: str
    meter: str
    exact: bool
    """Whether the meter counts the true number."""
    upper: int
    """What the true count does not exceed; the same as `used` for an exact meter."""
    joins: int
    """Units of the prompt beside the parts' own: separators, the template's text, the budget section, and what
    tokens gain or lose where texts meet. `used` is the parts' use and this."""
    parts: tuple[Part, ...]
    losses: tuple[Loss, ...]
    policy: Policy
    fill: Fill
    order: Order
    stable_prefix: int = 0
    """Units at the start of the prompt that belong to sections marked stable and whole; of messages, that are
    byte for byte those of the last prompt."""
    history: Mapping[str, Any] | None = None
    """Of messages: how turns were selected, the note, the repairs, and `context_truncation`."""
    stages: tuple[str, ...] = ()
    """What the stages took before anything else was cut, a sentence each; nothing where there are none."""
    planned: bool = False
    """Whether this was worked out from sizes alone, without the texts."""
    version: int = VERSION
    capture: Capture | HistoryInput | None = field(default=None, repr=False, compare=False)
    """What the fit was given: sections, or messages. Kept in memory; written to JSON only if the fit was asked to."""
    captured: bool = False
    """Whether `to_dict` writes the capture."""

    @property
    def truncated(self) -> bool:
        """Whether anything was cut, shortened or dropped."""
        return bool(self.losses)

    @property
    def unused(self) -> int:
        """Units of the budget that stayed free."""
        return self.budget - self.used

    def part(self, name: str) -> Part:
        """Return the part of that name.

        Raises:
            UnknownName: the fit had no such section.
        """
        for part in self.parts:
            if part.name == name:
                return part
        kind = "section" if self.history is None else "turn"
        raise UnknownName(kind, name, [part.name for part in self.parts])

    def why(self, name: str) -> str:
        """Return a sentence that says what became of a section, and why.

        Raises:
            UnknownName: the fit had no such section.
        """
        part = self.part(name)
        sums = f"size {part.size:,}, wanted {part.wanted:,}, granted {part.granted:,}, used {part.used:,}"
        return f"{name} is {part.state}: {part.reason} ({sums} {self.unit})."

    def diff(self, other: Receipt) -> tuple[Change, ...]:
        """Return the parts whose state or use differs between this receipt and a later one."""
        mine = {part.name: part for part in self.parts}
        theirs = {part.name: part for part in other.parts}
        changes = []
        for name in dict.fromkeys([*mine, *theirs]):
            before, after = mine.get(name), theirs.get(name)
            same = (
                before
                and after
                and (before.state, before.used, before.handle) == (after.state, after.used, after.handle)
            )
            if not same:
                changes.append(Change(name=name, before=before, after=after))
        return tuple(changes)

    def event(self, agent: str | None = None, **extra: Any) -> dict[str, Any]:
        """Return the fit as the fields of a `prompt_assembled` event; every section is in just one of the lists."""
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
        values = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        values |= {
            "parts": [part._asdict() for part in self.parts],
            "losses": [loss._asdict() for loss in self.losses],
            "stages": list(self.stages),
        }
        values |= {"truncated": self.truncated}
        values["capture"] = self.capture.to_dict() if self.captured and self.capture else None
        return values

    def to_json(self, indent: int | None = 2) -> str:
        """Return the receipt as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=True)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Receipt:
        """Return the receipt that `to_dict` wrote.

        Raises:
            InvalidValue: it is not a receipt, or of a version that this release does not know.
        """
        if not isinstance(values, Mapping) or "version" not in values:
            raise InvalidType("receipt", values, "the JSON object that to_json wrote")
        if values["version"] != VERSION:
            raise InvalidValue("receipt version", values["version"], f"{VERSION}, which this release of brim reads")
        given = values.get("capture")
        # A capture is checked by the rule for what it holds: the schema lets either stand there.
        rest: dict[str, Any] = {key: None if key == "capture" else value for key, value in values.items()}
        check("receipt", rest, schema("receipt"), schema("receipt")["$defs"])
        row = {key: value for key, value in rest.items() if key != "truncated"}
        row["parts"] = tuple(Part(**part) for part in row["parts"])
        row["losses"] = tuple(Loss(**loss) for loss in row["losses"])
        row["stages"] = tuple(row.get("stages", ()))
        row["capture"] = None if given is None else _given(given)
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
    """Return the name of a text: a hash of its content, the same on every machine."""
    known = _HANDLES.get(text)
    if known is None:
        from hashlib import blake2b

        known = "b2:" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        _HANDLES.put(text, known)
    return known


def losses(parts: Sequence[Part]) -> tuple[Loss, ...]:
    """Return what the parts lost, in their order."""
    return tuple(
        Loss(part.name, part.size - part.used, part.reason, part.handle) for part in parts if part.state in _LESSENED
    )


def _given(values: Any) -> Capture | HistoryInput:
    """Return what a receipt says that its fit was given.

    Raises:
        InvalidValue: it is neither a capture nor a transcript.
    """
    if isinstance(values, Mapping) and "messages" in values:
        return HistoryInput.from_dict(values, "receipt.capture")
    shared = schema("receipt")["$defs"]
    check("receipt.capture", values, shared["capture"], shared)
    return _capture(values)


def _capture(values: Mapping[str, Any]) -> Capture:
    """Return the capture of values that keep to the schema; what is in a section, the section checks itself."""
    known = [slot.name for slot in fields(Section)]
    for i, row in enumerate(values["sections"]):
        for key in row:
            check_choice(f"capture.sections[{i}]: a key", key, known)
    return Capture(**{**values, "sections": tuple(Section(**row) for row in values["sections"])})


def _read(text: str) -> Any:
    """Return what a JSON text says, in which only a message may hold a number that is too long for a count.

    Raises:
        ValueError: it is no JSON, or has such a number elsewhere.
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
        said = values.get("capture") if isinstance(values, Mapping) else None
        if len(long) > sum(len(str(number)) > _MOST_DIGITS for number in whole_numbers(said)):
            raise ValueError(f"a number of {long[0]:,} digits")
    return values


def _plain(content: str | Sequence[str]) -> str | list[str]:
    return content if isinstance(content, str) else list(content)


def _told(part: Part | None) -> str:
    return f"{part.state} {part.used:,}" if part else "absent"
