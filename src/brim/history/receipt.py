"""The receipt of a fitted history: one part for each turn and each message that always stays.

A fit only needs integers; a receipt needs names, sentences and hashes. So a fit takes a snapshot, and the receipt is
written on first access.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from brim.amounts import counted
from brim.errors import InvalidType
from brim.history.compact.mark import Summary, piece_of, read
from brim.history.history_fit import HistoryFit
from brim.history.note import truncation
from brim.history.stable import Stable
from brim.history.turns import Turns
from brim.meter.catalogue import lookup
from brim.meter.chat import request_counts
from brim.receipts.capture import Capture
from brim.receipts.receipt import Part, Receipt, State, handle, losses
from brim.receipts.section import Priority
from brim.wire import plain

_STAYS, _TURN = int(Priority.REQUIRED), int(Priority.MEDIUM)

_WHOLE = "it fits whole"
_STAYS_WHOLE = "it must stay, and fits whole"
_COMPACTION = "the provider's summary of all earlier messages"
_COMPACT = {"anthropic": ("anthropic",), "responses": ("openai", "x-ai")}
"""The providers whose compactions each format carries."""
_CUT = "shortened to make room"

_VALUES = ("select", "within", "recent", "older", "query", "pin_first_user", "excerpts", "note")
_EITHER = ("pin", "embed", "summarise", "classify")
"""Options that may be the caller's functions."""


@dataclass(slots=True, kw_only=True)
class HistoryRecord:
    """A fit and its input, from which the receipt is written even if the history has grown since."""

    fit: HistoryFit
    messages: Sequence[Any]
    """The messages to send."""
    used: int
    prefix: int
    """Tokens that the prompt shares with the last one."""
    meter: str | None
    """The name of the meter, if it was chosen by name."""
    stable: Stable | None
    """The lines, and the cut before the fit."""
    correction: str
    """Why the budget differs from that of the window; empty if it does not."""
    regret: Mapping[str, Any] | None
    """Repeated calls because of cuts; `None` if there are none."""
    before: Mapping[str, Any]
    """The tools, the system prompt and the other fields of the request."""
    exact: bool
    """Whether the count is exact, apart from the meter."""
    captured: bool
    """Whether the receipt's JSON holds the messages."""
    turns: Turns = field(init=False)
    sources: int = field(init=False)
    """The number of messages that the caller had added."""
    length: int = field(init=False)
    count: int = field(init=False)
    """The number of turns."""
    _reasons: dict[int, list[str]] | None = field(init=False, default=None)
    """The reasons of repairs for this fit alone, by the index of the message."""
    repairs: int = field(init=False)
    """The number of repairs on arrival; repairs for this fit alone are reported with their turns."""

    def __post_init__(self) -> None:
        self.turns = turns = self.fit.fitting.turns.snapshot()
        self.sources, self.length = len(turns.source), len(turns)
        self.count, self.repairs = len(turns.starts), len(turns.repairs)

    def receipt(self) -> Receipt:
        """Return the receipt."""
        fit, meter = self.fit, self.turns.meter
        parts = (*self._fixed_parts(), *self._turn_parts(), *self._repaired_parts())
        return Receipt(
            budget=fit.budget,
            used=self.used,
            unit=meter.unit,
            meter=meter.name,
            exact=self.exact and meter.exact,
            upper=self._upper(),
            joins=self.used - sum(part.used for part in parts),
            parts=parts,
            losses=losses(parts),
            policy="truncate_then_continue",
            fill="order",
            order="given",
            stable_prefix=self.prefix,
            history=self._history(),
            capture=self._capture(),
            captured=self.captured,
        )

    def _upper(self) -> int:
        """Return an upper bound on the tokens."""
        meter = self.turns.meter
        if meter.exact or meter.overhead:  # With an overhead, counts are upper bounds already.
            return self.used
        bound = partial(meter.counter, count=meter.upper_load)
        name = self.turns.wire.name
        return max(self.used, request_counts(bound, self.messages, **self.before, format=name) + meter.slack)

    def _capture(self) -> Capture:
        """Return the input of the fit; it refers to the messages and does not copy them."""
        turns, options = self.turns, self.fit.fitting.options
        either = {name: getattr(options, name) for name in _EITHER}
        return Capture(
            messages=tuple(turns.source[: self.sources]),
            budget=self.fit.budget,
            meter=self.meter,
            model=turns.model if self.meter is None else None,
            tools=self.before["tools"],
            system=self.before["system"],
            fields=self.before.get("fields"),
            options={
                "format": turns.wire.name,
                **{name: getattr(options, name) for name in _VALUES},
                "pin": None if callable(options.pin) or options.pin is None else sorted(options.pin, key=str),
                "embed": options.embed is True,
            },
            stable=None if self.stable is None else _lines(self.stable),
            functions={name: value for name, value in either.items() if callable(value)},
            measure=turns.meter,
            held=None if self.stable is None else self.stable.held,
        )

    def _fixed_parts(self) -> Iterator[Part]:
        """Yield the parts that always stay besides turns: tools, a separate system prompt, system messages."""
        for name, units in self.fit.fitting.extra.items():
            if name != "reply" and units:
                yield _fixed_part(name, units, self.before[name])
        for position in self._system():
            part = _fixed_part(self._name([position]), self.turns.units[position], [self.turns.raws[position]])
            yield part._replace(reason=_COMPACTION) if position == self.turns.compaction else part

    def _system(self) -> list[int]:
        return [position for position in self.turns.system if position < self.length]

    def _turn_parts(self) -> Iterator[Part]:
        turns = self.turns
        kept = set(self.fit.kept_turns())
        stay = turns.at(turns.task, turns.instruction, turns.compaction) | {self.count - 1}
        for turn, part in enumerate(self._dropped_parts()):
            if turn in kept:
                yield self._kept_part(turn, part, required=turn in stay)
            elif turn in stay:
                yield part._replace(priority=_STAYS, required=True)
            else:
                yield part

    def _dropped_parts(self) -> Iterator[Part]:
        """Yield the part of each turn as if it was dropped."""
        known, generation = self.fit.fitting.reading.parts, self.turns.generation
        for turn, (start, stop) in enumerate(pairwise([*self.turns.starts[: self.count], self.length])):
            part = known.get((generation, start, stop))
            if part is None:
                part = known[generation, start, stop] = self._dropped_part(self._members(start, stop))
            yield part._replace(reason=self._why_dropped(turn, part.size))

    def _dropped_part(self, members: list[int]) -> Part:
        turns = self.turns
        size = sum(turns.units[position] for position in members)
        stored = handle(written([turns.raws[position] for position in members]))
        return Part(self._name(members), "dropped", _TURN, False, size, size, 0, 0, "", stored)

    def _why_dropped(self, turn: int, size: int) -> str:
        choice, ways = self.fit.cut.choice, self.fit.fitting.options.select
        how = "its" if ways == "recency" else f"by {ways}, its"
        tokens = f"{how} {counted(size, self.turns.meter.unit.removesuffix('s'))} {'was' if size == 1 else 'were'}"
        if choice is None or turn not in choice.worths or ways != "recency":
            return f"{tokens} dropped " + (
                "to fit the budget" if self.fit.fitting.stable is None else "by the last cut"
            )
        worth = choice.worths[turn]
        if worth > choice.least:
            return f"{tokens} dropped: they did not fit into what was left"
        return f"{tokens} dropped: worth {worth:.2g} a token, and what stayed at least {choice.least:.2g}"

    def _why_cut(self, members: list[int], *, required: bool) -> str:
        choice = self.fit.cut.choice
        if not set(members).isdisjoint(self.fit.banned):
            images = self.fit.fitting.reading.media.limits.images
            limits = f"at most {images:,} images, and a limited number of bytes"
            return f"its media were left out: a request may have {limits}"
        if required:
            return "it must stay, and did not fit whole"
        if choice is None or not choice.least or self.fit.fitting.options.ways != ("recency",):
            return _CUT
        return f"{_CUT}: what stays is worth at least {choice.least:.2g} a token"

    def _kept_part(self, turn: int, part: Part, *, required: bool) -> Part:
        """Return the part of a turn that was kept, perhaps shortened."""
        members, edits, units = self._turn(turn), self.fit.sent, self.turns.units
        forms = {position: edits[position] for position in members if position in edits}
        state: State = "dropped" if self._is_empty(members) else "cut" if forms else "whole"
        saved = sum(units[position] - form.units for position, form in forms.items())
        used = 0 if state == "dropped" else part.size - saved
        whole = _STAYS_WHOLE if required else _WHOLE
        reason = whole if state == "whole" else self._why_cut(members, required=required)
        if state == "dropped" and not required:
            reason = part.reason
        if state == "whole" and (summary := self._summary(members)) is not None:
            state, reason = "summarised", f"a summary replaces {summary.replaced:,} earlier messages"
            part = part._replace(handle=summary.index)
        reason = self._repair_reason(members) or reason
        priority = _STAYS if required else _TURN
        return part._replace(state=state, priority=priority, required=required, granted=used, used=used, reason=reason)

    def _summary(self, members: list[int]) -> Summary | None:
        """Return the summary among some messages, if there is one."""
        pieces = filter(None, (piece_of(self.turns.messages[position]) for position in members))
        return next((read(piece.text) for piece in pieces), None)

    def _members(self, start: int, stop: int) -> list[int]:
        """Return the positions of a turn's messages, without those that are in no turn."""
        system = self.turns.system
        fixed = system[bisect_left(system, start) : bisect_left(system, stop)]
        return [position for position in range(start, stop) if position not in fixed]

    def _turn(self, turn: int) -> list[int]:
        stop = self.turns.starts[turn + 1] if turn + 1 < self.count else self.length
        return self._members(self.turns.starts[turn], stop)

    def _repair_reason(self, members: list[int]) -> str:
        """Return the problems of a turn in this fit alone, such as a call without a result."""
        if self._reasons is None:
            self._reasons = {}
            for repair in self.fit.repairs[self.repairs :]:
                self._reasons.setdefault(repair.index, []).append(repair.reason)
        edited = (self.turns.indexes[position] for position in members if position in self.fit.sent)
        return "; ".join([reason for index in sorted(edited) for reason in self._reasons.get(index, ())])

    def _repaired_parts(self) -> Iterator[Part]:
        """Yield the parts of invalid messages."""
        for repair in self.turns.repairs[: self.repairs]:
            if repair.units:
                name = f"messages[{repair.index}]" + (" (repaired)" if repair.action == "changed" else "")
                units, stored = repair.units, handle(written(repair.raw))
                yield Part(name, "dropped", _TURN, False, units, units, 0, 0, repair.reason, stored)

    def _history(self) -> dict[str, Any]:
        fit = self.fit
        kept, total = fit.steps
        touched = {self.turns.turn_of(position) for position, form in fit.sent.items() if form.raw is None}
        empty = sum(self._is_empty(self._turn(turn)) for turn in touched)
        return {
            "select": fit.fitting.options.select,
            "note": fit.note,
            **({"correction": self.correction} if self.correction else {}),
            **self._compaction(),
            **({"regret": dict(self.regret)} if self.regret else {}),
            "repairs": [
                {"index": r.index, "action": r.action, "reason": r.reason, "units": r.units} for r in fit.repairs
            ],
            "context_truncation": truncation(
                kept - empty,
                total,
                fit.units,
                fit.budget,
                fit.distribution,
                cut=bool(fit.sent) or any(self._summary(self._turn(turn)) is not None for turn in fit.kept_turns()),
                unit="chars" if self.turns.meter.unit == "chars" else "tokens",
            ),
        }

    def _compaction(self) -> dict[str, Any]:
        """Return the index of the provider's compaction, and how many messages before it are neither read nor sent.

        `foreign` is the provider of the model if it is another one and cannot read the compaction.
        """
        at = self.turns.compaction
        if at is None or at >= self.length:
            return {}
        known = lookup(self.turns.model)
        maker = known.provider if known is not None else None
        foreign = {"foreign": maker} if maker and maker not in _COMPACT.get(self.turns.wire.name, (maker,)) else {}
        return {"compaction": {"index": self.turns.indexes[at], "messages": self.turns.compacted, **foreign}}

    def _is_empty(self, members: list[int]) -> bool:
        """Return whether nothing is sent of a turn that was kept."""
        edits = self.fit.sent
        return all(position in edits and edits[position].raw is None for position in members)

    def _name(self, positions: list[int]) -> str:
        at = sorted(self.turns.indexes[position] for position in positions)
        return f"messages[{at[0]}]" if len(at) == 1 else f"messages[{at[0]}:{at[-1] + 1}]"


def written(value: Any) -> str:
    """Return a value as JSON for its handle; other objects are written as text.

    Raises:
        InvalidType: nobody could send it: a number has thousands of digits, in a field that is not read.
    """
    try:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_plainly, skipkeys=True)
    except (ValueError, RecursionError) as error:
        raise InvalidType("messages", value, f"JSON ({error})") from error


def _plainly(value: Any) -> Any:
    known = plain(value)
    if isinstance(known, Mapping):
        return dict(known)
    return sorted(map(str, value)) if isinstance(value, Set) else str(value)


def _lines(stable: Stable) -> dict[str, Any]:
    return {name: getattr(stable, name) for name in ("high", "low")}


def _fixed_part(name: str, units: int, content: Any) -> Part:
    stored = handle(written(content))
    return Part(name, "whole", _STAYS, True, units, units, units, units, "it always stays", stored)
