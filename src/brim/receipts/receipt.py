"""The record of one fit: what every part wanted, was granted and used, and why.

A receipt contains hashes, not texts, unless the fit captured them; with the texts the fit can be replayed, byte for
byte or at another budget. The JSON is versioned and described by `receipt.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, get_args

from brim.errors import InvalidType, InvalidValue, SourceError, UnknownName
from brim.files.json_body import whole
from brim.files.source import text_of
from brim.meter.base import measured
from brim.meter.memo import Memo
from brim.receipts.capture import Capture
from brim.receipts.schema import check
from brim.receipts.section import Priority

VERSION = 1

Policy = Literal["truncate_then_continue", "truncate_then_stop", "skip", "stop"]
POLICIES: tuple[str, ...] = get_args(Policy)
Fill = Literal["order", "fair"]
FILLS: tuple[str, ...] = get_args(Fill)
Order = Literal["given", "priority"]
ORDERS: tuple[str, ...] = get_args(Order)

State = Literal["whole", "form", "cut", "summarised", "dropped", "empty", "disabled"]
STATES: tuple[str, ...] = get_args(State)
"""The states of a part."""

_MOST_BYTES = 500_000_000
"""Bytes of a receipt in a file."""

_HANDLES: Memo[str] = Memo()

_BREAKS = str.maketrans("\r\n\t", "   ")
_NUMBERS = ("size", "granted", "used")
_MOST_ROWS, _FIRST_ROWS = 60, 10
"""Maximum rows of a table, and how many of them show the first parts; a history may have thousands of turns."""
_PRIORITIES = {int(priority): priority.name.lower() for priority in Priority}

_PRESENT = ("whole", "form", "cut", "summarised")
_LESSENED = ("form", "cut", "summarised", "dropped")


@dataclass(frozen=True, slots=True)
class Entry:
    """The outcome of one entry of a section; it unpacks into its index and its id."""

    index: int
    """Its index in the content of the section."""
    id: str | int | None
    """Its id, if the section has ids."""
    state: str
    """`whole`, `shortened` or `dropped`."""

    def __iter__(self) -> Iterator[Any]:
        yield self.index
        yield self.id


class Part(NamedTuple):
    """The outcome of one section, one turn of a history, or the tools of a request."""

    name: str
    state: State
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
    """The hash of the whole content; a store can look it up."""
    ceiling: int | None = None
    entry_states: tuple[str, ...] = ()
    """The state of each entry, in their original order."""
    ids: tuple[str | int, ...] = ()
    """The ids of the entries, if they have any."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of the section in their original order, each with its state."""
        ids = self.ids or [None] * len(self.entry_states)
        return tuple([Entry(i, *each) for i, each in enumerate(zip(ids, self.entry_states, strict=True))])

    @property
    def kept(self) -> tuple[Entry, ...]:
        """The entries that are in the prompt, whole or shortened, in their original order."""
        return tuple([entry for entry in self.entries if entry.state != "dropped"])

    def to_dict(self) -> dict[str, Any]:
        """Return the part as JSON values, without entries and ids if it has none."""
        lists = {"entries": list(self.entry_states), "ids": list(self.ids)}
        return dict(zip(self._fields[:-2], self, strict=False)) | {key: value for key, value in lists.items() if value}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Part:
        """Return the part from the result of `to_dict`."""
        own = {key: value for key, value in values.items() if key not in ("entries", "ids")}
        return cls(**own, entry_states=tuple(values.get("entries", ())), ids=tuple(values.get("ids", ())))

    @property
    def present(self) -> bool:
        """Whether the prompt contains any of it."""
        return self.state in _PRESENT

    @property
    def importance(self) -> str:
        """The name of its priority, or its number."""
        return "required" if self.required else _PRIORITIES.get(self.priority, str(self.priority))


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


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
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
    history: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """For messages: how turns were selected, the note, the provider's `compaction`, the `regret` of the cuts, the
    repairs, and `context_truncation`. Empty for sections."""
    stages: tuple[str, ...] = ()
    """What the stages removed before anything else was cut, one line each."""
    planned: bool = False
    """Whether it was computed from sizes alone, without the texts."""
    version: int = VERSION
    capture: Capture | None = field(default=None, repr=False, compare=False)
    """The input of the fit: sections, messages, or both. It is part of the JSON only if `captured` is true."""
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

    def __repr__(self) -> str:
        return f"<Receipt: {self.headline}>"

    @property
    def headline(self) -> str:
        """The fit in one line: tokens used of the budget, how they were counted, how many parts are in the prompt."""
        present, total, more = sum(part.present for part in self.parts), len(self.parts), ""
        if self.history:
            steps, repairs = self.history["context_truncation"], len(self.history["repairs"])
            present, total = steps["steps_included"], steps["steps_total"]
            more = f", {repairs:,} repaired" if repairs else ""
            more += f"; {self.history['correction']}" if "correction" in self.history else ""
            if regret := self.history.get("regret"):
                calls = "1 call" if regret["calls"] == 1 else f"{regret['calls']:,} calls"
                more += f"; {calls} repeated after a cut, {regret['tokens']:,} {self.unit}"
        how = "computed from recorded sizes" if self.planned else measured(self.meter, exact=self.exact)
        return (
            f"{self.used:,} of {self.budget:,} {self.unit} ({how}),"
            f" {present:,} of {total:,} {'turn' if self.history else 'section'}{'' if total == 1 else 's'},"
            f" {len(self.losses):,} shortened or dropped{more}"
        )

    def table(self, most: int | None = _MOST_ROWS) -> str:
        """Return the table that `print` shows, with at most `most` parts: if there are more, the middle is left out."""
        heads, *rows = self._rows(most)
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if head in _NUMBERS else cell.ljust(width)
                for head, cell, width in zip(heads, row, widths, strict=True)
            ).rstrip()
            for row in (heads, ["-" * width for width in widths], *rows)
        ]
        return "\n".join([self.headline, *lines])

    def to_markdown(self, most: int | None = _MOST_ROWS) -> str:
        """Return the receipt as a Markdown table with at most `most` parts."""
        heads, *rows = self._rows(most)
        rule = ["---:" if head in _NUMBERS else "---" for head in heads]
        cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        return "\n".join([self.headline, "", *("| " + " | ".join(row) + " |" for row in (heads, rule, *cells))])

    def __str__(self) -> str:
        return self.table()

    def _rows(self, most: int | None) -> list[list[str]]:
        """Return the heads of the table and its rows, each cell on one line."""
        heads = ["turn" if self.history else "section", "state", "priority", *_NUMBERS, "why"]
        rows = [
            [part.name, part.state, part.importance, *(f"{getattr(part, name):,}" for name in _NUMBERS), part.reason]
            for part in self.parts
        ]
        if most is not None and len(rows) > most:
            first = min(most, _FIRST_ROWS)
            more = [f"… {len(rows) - most:,} more", *[""] * (len(heads) - 1)]
            rows = [*rows[:first], more, *rows[len(rows) - most + first :]]
        return [heads, *([cell.translate(_BREAKS) for cell in row] for row in rows)]

    def part(self, name: str) -> Part:
        """Return the part of that name.

        Raises:
            UnknownName: there is no such part.
        """
        for part in self.parts:
            if part.name == name:
                return part
        kind = "turn" if self.history else "section"
        raise UnknownName(kind, name, [part.name for part in self.parts])

    def why(self, name: str) -> str:
        """Return a sentence with the state of a part and the reason.

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
        """Return the fields of a `prompt_assembled` event; each section is in exactly one of the lists."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        return Receipt.from_dict, (self.to_dict(),)  # So a pickle has the texts of the fit only if they were captured.

    def __copy__(self) -> Receipt:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Receipt:
        return replace(self, history=deepcopy(self.history, memo))

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON values, in the versioned form that the schema describes."""
        return {slot.name: getattr(self, slot.name) for slot in fields(self)} | {
            "parts": [part.to_dict() for part in self.parts],
            "losses": [loss._asdict() for loss in self.losses],
            "stages": list(self.stages),
            "history": self.history or None,
            "truncated": self.truncated,
            "capture": self.capture.to_dict() if self.captured and self.capture else None,
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return the receipt as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=True)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Receipt:
        """Return the receipt from the result of `to_dict`.

        Raises:
            InvalidValue: it is not a receipt, or its version is unknown.
        """
        if not isinstance(values, Mapping) or "version" not in values:
            raise InvalidType("receipt", values, "the JSON object that to_json wrote")
        if values["version"] != VERSION:
            raise InvalidValue("receipt version", values["version"], f"{VERSION}, which this release of brim reads")
        capture = values.get("capture")  # `Capture.from_dict` checks it.
        row: dict[str, Any] = {key: None if key == "capture" else value for key, value in values.items()}
        check("receipt", row)
        del row["truncated"]
        row["parts"] = tuple(Part.from_dict(part) for part in row["parts"])
        row["losses"] = tuple(Loss(**loss) for loss in row["losses"])
        row["stages"] = tuple(row.get("stages", ()))
        row["history"] = row.get("history") or {}
        row["capture"] = None if capture is None else Capture.from_dict(capture, "receipt.capture")
        return cls(**row)

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """Return the receipt that `to_json` wrote.

        Raises:
            InvalidValue: it is not one.
        """
        try:
            return cls.from_dict(json.loads(text, parse_int=whole))
        except InvalidValue:
            raise
        except (ValueError, RecursionError) as error:
            raise InvalidValue("receipt", text[:40], f"JSON ({error})") from error


def read_receipt(path: str) -> Receipt:
    """Return the receipt in a file.

    Raises:
        SourceError: the file cannot be read, or is not a receipt.
    """
    text = text_of(path, _MOST_BYTES)
    try:
        return Receipt.from_json(text)
    except InvalidValue as error:
        raise SourceError(path, f"not a receipt: {error}") from error


def handle(text: str) -> str:
    """Return the hash of a text, which is the same on every machine."""
    known = _HANDLES.get(text)
    if known is None:
        from brim.files.text_digest import text_digest

        known = "b2:" + text_digest(text)
        _HANDLES.put(text, known)
    return known


def losses(parts: Sequence[Part]) -> tuple[Loss, ...]:
    """Return the losses of the parts, in their order."""
    return tuple(
        Loss(part.name, part.size - part.used, part.reason, part.handle) for part in parts if part.state in _LESSENED
    )
