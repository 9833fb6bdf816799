"""The receipt of a fitted history: one part for each turn and each message that always stays.

A fit decides with integers; the receipt needs names, sentences and hashes of everything that was there. So what it is
written from is set aside when the fit is done, and it is written when somebody reads it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

from brim.history.forms import Form
from brim.history.history_fit import HistoryFit
from brim.history.note import truncation
from brim.history.stable import Stable
from brim.history.turns import Repair
from brim.receipts.history_input import HistoryInput
from brim.receipts.receipt import Part, Receipt, handle, losses
from brim.receipts.section import Priority
from brim.wire import plain

_STAYS, _TURN = int(Priority.REQUIRED), int(Priority.MEDIUM)

_VALUES = ("select", "within", "recent", "older", "query", "pin_first_user", "note")
_EITHER = ("pin", "embed", "summarise", "classify")
"""Options that may be functions of the caller's."""


class Given(NamedTuple):
    """What a fit was given beside its options, and whether the receipt's JSON is to hold it."""

    messages: list[Any]
    """The caller's own objects, in a list that only grows."""
    length: int
    """How many of them there were."""
    meter: str | None
    """The name by which the meter was given, if it was."""
    format: str
    """The shape in which they were read."""
    stable: Stable | None
    """The lines, and the cut that was held before the fit."""
    captured: bool


def recorder(
    fitting: HistoryFit, given: Given, aside: Mapping[str, Any], prefix: int | Callable[[], int], *, exact: bool
) -> Callable[[], Receipt]:
    """Return what writes the receipt of a fit, whatever the history becomes: a turns's lists only grow."""
    turns = fitting.turns
    record = _Record(
        fitting=fitting,
        given=given,
        aside=aside,
        used=fitting.used,
        prefix=prefix,
        exact=exact,
        edits=fitting.sent,
        raws=turns.raws,
        units=turns.units,
        indexes=turns.indexes,
        starts=turns.starts,
        system=turns.system,
        length=len(turns),
        turn_count=len(turns.starts),
        repaired=list(turns.repairs),
        task=None if turns.task is None else turns.turn_of(turns.task),
    )
    return record.receipt


@dataclass(slots=True, kw_only=True)
class _Record:
    fitting: HistoryFit
    given: Given
    aside: Mapping[str, Any]
    """What stands before the messages, by name."""
    used: int
    prefix: int | Callable[[], int]
    exact: bool
    edits: Mapping[int, Form]
    raws: list[Any]
    units: list[int]
    indexes: list[int]
    starts: list[int]
    system: list[int]
    length: int
    turn_count: int
    repaired: list[Repair]
    """What was done to the messages when they came; what was done for this fit alone, the turns tell."""
    task: int | None

    def receipt(self) -> Receipt:
        fitting = self.fitting
        parts = (*self._stays(), *self._turns(), *self._repaired())
        meter = fitting.turns.meter
        return Receipt(
            budget=fitting.budget,
            used=self.used,
            unit=meter.unit,
            meter=meter.name,
            exact=self.exact,
            upper=self.used,
            joins=self.used - sum(part.used for part in parts),
            parts=parts,
            losses=losses(parts),
            policy="truncate_then_continue",
            fill="order",
            order="given",
            stable_prefix=self.prefix() if callable(self.prefix) else self.prefix,
            history=self._history(),
            capture=self._transcript(),
            captured=self.given.captured,
        )

    def _transcript(self) -> HistoryInput:
        """Return what the fit was given; messages are referred to, not copied."""
        given, turns, asked = self.given, self.fitting.turns, self.fitting.options
        either = {name: getattr(asked, name) for name in _EITHER}
        return HistoryInput(
            messages=tuple(given.messages[: given.length]),
            budget=self.fitting.budget,
            meter=given.meter,
            model=turns.model if given.meter is None else None,
            tools=self.aside["tools"],
            system=self.aside["system"],
            options={
                "format": given.format,
                "repair": turns.repair,
                **{name: getattr(asked, name) for name in _VALUES},
                "pin": None if callable(asked.pin) or asked.pin is None else sorted(asked.pin),
                "embed": asked.embed is True,
            },
            stable=None if given.stable is None else _lines(given.stable),
            functions={name: value for name, value in either.items() if callable(value)},
            measure=turns.meter,
            held=None if given.stable is None else given.stable.held,
        )

    def _stays(self) -> Iterator[Part]:
        """Yield what stands beside the turns: tools, a system prompt apart, system messages."""
        for name, units in self.fitting.extra.items():
            if name != "reply" and units:
                told = handle(written(self.aside[name]))
                yield _part(name, "whole", (units, units), "it always stays", told, required=True)
        for position in self._system():
            units = self.units[position]
            name, told = self._name([position]), self._handle([position])
            yield _part(name, "whole", (units, units), "it always stays", told, required=True)

    def _system(self) -> list[int]:
        return [position for position in self.system if position < self.length]

    def _turns(self) -> Iterator[Part]:
        kept = {turn for start, stop in self.fitting.spans for turn in range(start, stop)}
        pinned = set(self._system())
        for turn, start in enumerate(self.starts[: self.turn_count]):
            stop = self.starts[turn + 1] if turn + 1 < self.turn_count else self.length
            members = [position for position in range(start, stop) if position not in pinned]
            size = sum(self.units[position] for position in members)
            forms = {position: self.edits[position] for position in members if position in self.edits}
            used = size + sum(form.units - self.units[position] for position, form in forms.items())
            state = "cut" if forms else "whole"
            if turn not in kept or self._empty(turn):
                state, used = "dropped", 0
            reason = self._repair_of(members) if turn in kept else ""
            reason = reason or self._reason(turn, state, size)
            required = turn in (self.task, self.turn_count - 1)
            yield _part(self._name(members), state, (size, used), reason, self._handle(members), required=required)

    def _reason(self, turn: int, state: str, size: int) -> str:
        if state == "whole":
            return "it fits whole"
        if turn in self.fitting.reasons and (state != "dropped" or turn == self.task):
            return self.fitting.reasons[turn]
        if state == "cut":
            return "a result, call or thought in it was cleared, cut or left out to make room"
        way = self.fitting.options.select
        return f"by {way}, its {size:,} {self.fitting.turns.meter.unit} were not among those that fit"

    def _repair_of(self, members: list[int]) -> str:
        """Return what was wrong with a turn for this fit alone, such as a call that nothing answers yet."""
        at = {self.indexes[position] for position in members if position in self.edits}
        known = {id(repair) for repair in self.repaired}
        return "; ".join(r.reason for r in self.fitting.repairs if r.index in at and id(r) not in known)

    def _repaired(self) -> Iterator[Part]:
        """Yield what was taken out of the input because no provider would take it."""
        for repair in self.repaired:
            if repair.units:
                name = f"messages[{repair.index}]" + (" (repaired)" if repair.action == "changed" else "")
                told = handle(written(repair.raw))
                yield _part(name, "dropped", (repair.units, 0), repair.reason, told, required=False)

    def _history(self) -> dict[str, Any]:
        fitting = self.fitting
        kept, total = fitting.steps
        included = kept - self._gone()
        return {
            "select": fitting.options.select,
            "note": fitting.note,
            "repairs": [
                {"index": r.index, "action": r.action, "reason": r.reason, "units": r.units} for r in fitting.repairs
            ],
            "context_truncation": truncation(
                included, total, fitting.units, fitting.budget, fitting.distribution, cut=bool(self.edits)
            ),
        }

    def _gone(self) -> int:
        """Return how many of the turns that were kept have nothing left of them."""
        gone = [position for position, form in self.edits.items() if form.raw is None]
        return sum(self._empty(turn) for turn in {bisect_right(self.starts, position) - 1 for position in gone})

    def _empty(self, turn: int) -> bool:
        stop = self.starts[turn + 1] if turn + 1 < self.turn_count else self.length
        pinned = set(self.system)
        members = [position for position in range(self.starts[turn], stop) if position not in pinned]
        return all(position in self.edits and self.edits[position].raw is None for position in members)

    def _name(self, positions: list[int]) -> str:
        at = sorted(self.indexes[position] for position in positions)
        return f"messages[{at[0]}]" if len(at) == 1 else f"messages[{at[0]}:{at[-1] + 1}]"

    def _handle(self, positions: list[int]) -> str:
        return handle(written([self.raws[position] for position in positions]))


def written(value: Any) -> str:
    """Return anything as a text that tells it from others; what JSON does not know is told in its own words."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_plainly, skipkeys=True)


def _plainly(value: Any) -> Any:
    known = plain(value)
    return (
        dict(known) if isinstance(known, Mapping) else sorted(map(str, value)) if isinstance(value, Set) else str(value)
    )


def _lines(stable: Stable) -> dict[str, Any]:
    lines = {name: getattr(stable, name) for name in ("high", "low", "anchor", "fill")}
    return {**lines, "prices": {"read": stable.prices.read, "write": stable.prices.write}}


def _part(name: str, state: str, sizes: tuple[int, int], reason: str, told: str, *, required: bool) -> Part:
    size, used = sizes
    return Part(name, state, _STAYS if required else _TURN, required, size, size, used, used, reason, told)
