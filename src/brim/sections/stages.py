"""Stages shorten a prompt that is over its budget, in a fixed order, until it fits.

A simulation, for example, would rather lose old gossip than a little of every section. A stage is applied only
while the prompt is over its budget, so a prompt that fits is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from brim.amounts import Amount, of_budget, units, units_or_share
from brim.errors import DoesNotFit, InvalidType, InvalidValue, check_choice
from brim.meter.base import BaseMeter
from brim.receipts.section import Section
from brim.sections.draft import records
from brim.truncate import truncator

ANY = "*"
"""Matches all sections that no other stage names and that are neither required nor stable."""

HARD = "hard cut: every section by its priority"
"""The line in a receipt if all stages together were not enough."""

WAYS = ("last", "first", "to", "down_to")
"""The fields that say how a stage shortens; a stage has exactly one."""

_JOINS = 4
"""Tokens that joining texts may add."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """Shortens one section, by exactly one of `last`, `first`, `to` and `down_to`."""

    section: str
    """The name of the section, or `*` for all that no other stage names and that are neither required nor stable."""
    last: int | None = None
    """Keep this many entries at the end; the entries of a text are its lines."""
    first: int | None = None
    """Keep this many entries at the start."""
    to: Amount | None = None
    """Keep at most this: tokens, or a share of the budget. Entries are dropped whole, a text is cut by the `keep` of
    its section."""
    down_to: Amount | None = None
    """Like `to`, but keep more if the prompt fits before that."""
    over_chars: int = 0
    """Only a section with more characters than this is shortened."""
    over_entries: int = 0
    """Only a section with more entries than this is shortened."""
    leave: int = 1
    """Keep at least this many entries, even if they exceed the limit."""

    def __post_init__(self) -> None:
        if not isinstance(self.section, str) or not self.section:
            raise InvalidType("stage section", self.section, "the name of a section")
        where = f"stage of {self.section!r}"
        ways = [name for name in WAYS if getattr(self, name) is not None]
        if len(ways) != 1:
            raise InvalidValue(where, " and ".join(ways) or "nothing", f"set to exactly one of {', '.join(WAYS)}")
        value = getattr(self, ways[0])
        if ways[0] in ("last", "first"):
            units(f"{where}: {ways[0]}", value, least=1)
        else:
            units_or_share(f"{where}: {ways[0]}", value)
        for name, least in (("over_chars", 0), ("over_entries", 0), ("leave", 1)):
            units(f"{where}: {name}", getattr(self, name), least=least)

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as JSON values, without the defaults."""
        return {slot.name: value for slot in fields(self) if (value := getattr(self, slot.name)) != slot.default}

    def concerns(self, section: Section, named: Sequence[str]) -> bool:
        """Return whether it applies to a section; `named` are the sections that any stage names."""
        if self.section == ANY:
            return section.name not in named and not section.required and not section.stable
        return section.name == self.section

    def left(
        self, section: Section, budget: int, over: int, meter: BaseMeter
    ) -> tuple[str | Sequence[str], str, Sequence[int]] | None:
        """Return a section's remaining content, a reason for the receipt, and the indexes of the remaining entries.

        The index of a marker is -1. The result is `None` if nothing was removed. `over` is the number of tokens by
        which the prompt exceeds its budget; `down_to` uses it.
        """
        chosen, text = section.chosen, section.text
        entries = chosen.strip("\n").split("\n") if isinstance(chosen, str) else list(chosen)
        if len(text) <= self.over_chars or len(entries) <= self.over_entries:
            return None
        amount = self.to if self.to is not None else self.down_to
        if amount is not None:
            limit = int(of_budget(units_or_share("to", amount), budget))
            if self.to is None:
                limit = max(limit, meter.count(text) - over - _JOINS)
            reason = f"cut to {limit:,} {meter.unit}"
            if isinstance(chosen, str):
                try:
                    cut = truncator(section.keep, section.marker).truncate(text, limit, meter).text
                except DoesNotFit:
                    return None
                return (cut, reason, ()) if cut != text else None
            kept, left = self._fewer(section, entries, limit, meter)
            return (kept, reason, left) if list(kept) != entries else None
        left = range(len(entries))[-self.last :] if self.last is not None else range(len(entries))[: self.first]
        kept = [entries[index] for index in left]
        side = "last" if self.last is not None else "first"
        reason = f"its {side} {len(kept):,} of {len(entries):,} {'lines' if isinstance(chosen, str) else 'entries'}"
        if len(kept) == len(entries):
            return None
        return ("\n".join(kept) if isinstance(chosen, str) else kept), reason, left

    def _fewer(
        self, section: Section, entries: Sequence[str], limit: int, meter: BaseMeter
    ) -> tuple[Sequence[str], Sequence[int]]:
        """Return as many entries as fit the limit, but at least `leave`, and their indexes."""
        try:
            selected = records(section, section.marker).select(entries, limit, meter)
            kept, left = [text for _, text in selected.rows], [index for index, _ in selected.rows]
        except DoesNotFit:
            kept, left = [], []
        n = min(self.leave, len(entries))
        if kept and (n == 1 or len(set(entries).intersection(kept)) >= n):
            return kept, left
        least = range(len(entries))[len(entries) - n :] if section.keeps_end else range(n)
        return [entries[index] for index in least], least


def staged(rows: Sequence[Stage | Mapping[str, Any]]) -> tuple[Stage, ...]:
    """Return stages, each passed as a `Stage` or as a mapping of its fields.

    Raises:
        InvalidValue: one is not a stage.
    """
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise InvalidType("stages", rows, "a list of stages")
    stages, known = [], [slot.name for slot in fields(Stage)] if rows else []
    for i, row in enumerate(rows):
        if isinstance(row, Stage):
            stages.append(row)
            continue
        if not isinstance(row, Mapping) or "section" not in row:
            raise InvalidType(f"stages[{i}]", row, f"a stage: its section, and one of {', '.join(WAYS)}")
        for key in row:
            check_choice(f"stages[{i}]: a key", key, known)
        try:
            stages.append(Stage(**row))
        except InvalidValue as error:
            raise type(error)(f"stages[{i}]: {error.place}", error.value, error.expected) from error
    return tuple(stages)


def bordered(marker: str, section: Section) -> str:
    """Return a marker with a line break on the side where the section was cut."""
    if section.keep == "tail":
        return marker.strip("\n") + "\n"
    return marker.strip("\n") if section.keep in ("newest", "best") or not isinstance(section.content, str) else marker
