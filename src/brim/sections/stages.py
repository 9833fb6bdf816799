"""What a prompt that is over its budget gives up, one stage after the other, until it fits.

A simulation of thousands of agents would rather lose old gossip than a little of everything. Stages say in which order.
Each is looked at again only while the prompt is still over, so a prompt that fits is not touched by any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from brim.amounts import Amount, of_budget, units, units_or_share
from brim.errors import DoesNotFit, InvalidType, InvalidValue, check_choice
from brim.meter.base import BaseMeter
from brim.receipts.section import Section
from brim.truncate import truncator

ANY = "*"
"""The name of a stage for all sections that no other stage names and that are neither required nor stable."""

HARD = "hard cut: every section by its priority"
"""What a receipt tells where all stages together were not enough."""

WAYS = ("last", "first", "to", "down_to")
"""What a stage may leave."""

_JOINS = 4
"""Units by which joined texts may count more than apart."""
_LATE = ("newest", "tail")
"""Ways to keep whose end is worth most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One section, and what of it is left at this stage: just one of `last`, `first`, `to` and `down_to`."""

    section: str
    """The name of the section, or a star."""
    last: int | None = None
    """Its last entries; the entries of a text are its lines."""
    first: int | None = None
    """Its first entries."""
    to: Amount | None = None
    """As much as counts at most this: units, or a share of the budget. Entries go whole, a text is cut as its section
    says."""
    down_to: Amount | None = None
    """As `to`, but only as far down as the prompt is over."""
    over_chars: int = 0
    """Only a section with more characters than this is touched."""
    over_entries: int = 0
    """Only a section with more entries than this is touched."""
    leave: int = 1
    """Entries that are left at the least, even if they count more than they should."""

    def __post_init__(self) -> None:
        if not isinstance(self.section, str) or not self.section:
            raise InvalidType("stage section", self.section, "the name of a section")
        where = f"stage of {self.section!r}"
        given = [name for name in WAYS if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidValue(where, " and ".join(given) or "nothing", f"given just one of {', '.join(WAYS)}")
        value = getattr(self, given[0])
        if given[0] in ("last", "first"):
            units(f"{where}: {given[0]}", value, least=1)
        else:
            units_or_share(f"{where}: {given[0]}", value)
        for name, least in (("over_chars", 0), ("over_entries", 0), ("leave", 1)):
            units(f"{where}: {name}", getattr(self, name), least=least)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values, without what is as usual."""
        return {slot.name: value for slot in fields(self) if (value := getattr(self, slot.name)) != slot.default}

    def concerns(self, section: Section, named: Sequence[str]) -> bool:
        """Return whether it is about a section, given the names that stages have."""
        if self.section == ANY:
            return section.name not in named and not section.required and not section.stable
        return section.name == self.section

    def left(
        self, section: Section, budget: int, over: int, meter: BaseMeter
    ) -> tuple[str | Sequence[str], str] | None:
        """Return what is left of a section, and a sentence that says so; nothing where all of it is.

        A stage that only goes as far down as it must is told by how much the prompt is over its budget.
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
            told = f"cut to {limit:,} {meter.unit}"
            if isinstance(chosen, str):
                made = self._cut(section, limit, meter)
                return (made, told) if made is not None and made != text else None
            kept = self._fewer(section, entries, limit, meter)
        else:
            kept = entries[-self.last :] if self.last is not None else entries[: self.first]
            side = "last" if self.last is not None else "first"
            told = f"its {side} {len(kept):,} of {len(entries):,} {'lines' if isinstance(chosen, str) else 'entries'}"
        if len(kept) == len(entries):
            return None
        return ("\n".join(kept) if isinstance(chosen, str) else kept), told

    def _cut(self, section: Section, limit: int, meter: BaseMeter) -> str | None:
        """Return a text cut to a limit; nothing where not even its marker fits."""
        try:
            return truncator(section.keep, section.marker).truncate(section.text, limit, meter).text
        except DoesNotFit:
            return None

    def _fewer(self, section: Section, entries: Sequence[str], limit: int, meter: BaseMeter) -> Sequence[str]:
        """Return the entries of the side that is kept, as many as count at most the limit and no fewer than stay."""
        from brim.truncate.records import Records

        late = section.keep in _LATE
        records = Records(marker="", keep="newest" if late else "best", separator=section.joiner)
        try:
            fitting = len(records.select(entries, limit, meter).kept)
        except DoesNotFit:
            fitting = 0
        n = min(max(fitting, self.leave), len(entries))
        return entries[len(entries) - n :] if late else entries[:n]


def staged(rows: Sequence[Stage | Mapping[str, Any]]) -> tuple[Stage, ...]:
    """Return stages, some of which may be given as the values of their fields.

    Raises:
        InvalidValue: one is no stage.
    """
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise InvalidType("stages", rows, "a list of stages")
    known = [slot.name for slot in fields(Stage)]
    made = []
    for i, row in enumerate(rows):
        if isinstance(row, Stage):
            made.append(row)
            continue
        if not isinstance(row, Mapping) or "section" not in row:
            raise InvalidType(f"stages[{i}]", row, f"a stage: its section, and one of {', '.join(WAYS)}")
        for key in row:
            check_choice(f"stages[{i}]: a key", key, known)
        try:
            made.append(Stage(**row))
        except InvalidValue as error:
            raise type(error)(f"stages[{i}]: {error.place}", error.value, error.expected) from error
    return tuple(made)


def bordered(marker: str, section: Section) -> str:
    """Return a marker as it stands at the side that a section loses: without line breaks of its own between entries."""
    if section.keep == "tail":
        return marker.strip("\n") + "\n"
    return marker.strip("\n") if section.keep in ("newest", "best") or not isinstance(section.content, str) else marker
