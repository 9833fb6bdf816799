"""The budget lab: a fit run again at any budget, with every piece, its state, and the budget that brings it back.

Every number comes from the library's own fit. What is opened is kept, so that each of its texts is counted once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from time import monotonic
from typing import Any

from brim.compact import mark
from brim.errors import DoesNotFit, InvalidType, InvalidValue, UnknownName
from brim.history.history import History
from brim.receipt import Receipt
from brim.replay import replay
from brim.session.session import Session
from brim.studio import sample
from brim.studio.desk import Desk
from brim.studio.receipts import captured
from brim.transcript import Transcript

SAMPLE = "sample:agent"
_SECTION_CHOICES = ("policy", "fill", "order")
_MESSAGE_CHOICES = ("select",)
_MOST_SOURCES = 60
_SECONDS = 0.4
"""Time in which the budgets that bring pieces back are looked for; what is not exact by then is told as such."""
_LARGEST = 100_000_000

Fit = Callable[[int, Mapping[str, Any]], Receipt]


@dataclass(slots=True, kw_only=True)
class Source:
    """Something that can be fitted at any budget."""

    id: str
    title: str
    kind: str
    """`sections` or `messages`."""
    budget: int
    """The budget that it was fitted to, or that holds for it."""
    model: str | None
    refit: Fit = field(repr=False)
    asked: int = 0
    """How often a budget was asked for: a search for an older one ends when another comes."""
    lock: RLock = field(default_factory=RLock, repr=False)

    def fit(self, budget: int, choices: Mapping[str, Any]) -> Receipt:
        """Return the receipt at a budget, one after the other.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        with self.lock:
            return self.refit(budget, choices)

    @property
    def choices(self) -> tuple[str, ...]:
        """What else than the budget can be chosen."""
        return _SECTION_CHOICES if self.kind == "sections" else _MESSAGE_CHOICES


def sources(desk: Desk) -> dict[str, Any]:
    """Return what can be opened: a sample, the conversations of the store, and the receipts that hold their texts."""
    found = [{"id": SAMPLE, "title": "Sample: an agent's prompt of twelve sections", "kind": "sections"}]
    store = desk.store()
    if store is not None:
        for row in store.sessions(limit=_MOST_SOURCES):
            kind = row.meta.get("kind", "session")
            if "status" in row.meta and kind != "gateway":
                found.append({"id": f"session:{row.id}", "title": f"{kind} {row.id}", "kind": "messages"})
    return {"sources": found}


def opened(desk: Desk, source: str) -> Source:
    """Return something that can be fitted, read once as long as it does not change.

    Raises:
        UnknownName: there is no such source.
    """
    kind, _, name = source.partition(":")
    if kind == "session":
        return _session(desk, source, name)
    known: Source | None = desk.known(source)
    if known is None and source == SAMPLE:
        known = _captured(source, "Sample", sample.receipt())
    elif known is None and kind == "receipt":
        known = _captured(source, name, captured(desk, name))
    if known is None:
        raise UnknownName("source for the budget lab", source, [each["id"] for each in sources(desk)["sources"]])
    desk.keep(source, known)
    return known


def _session(desk: Desk, source: str, name: str) -> Source:
    session = Session.open(name, store=desk.needed())
    key = f"{source}@{session.number}"
    known: Source | None = desk.known(key)
    if known is not None:
        return known
    history = History(meter=session.meter, shape=session.shape)
    history.extend(session.messages)
    summaries = _summaries(history)

    def fit(budget: int, choices: Mapping[str, Any]) -> Receipt:
        try:
            return history.fit(budget, pin=summaries, **choices).receipt
        except DoesNotFit:  # As the session does: better less of the summary than no prompt.
            return history.fit(budget, **choices).receipt

    made = Source(
        id=source, title=name, kind="messages", budget=session.budget, model=session.settings.model, refit=fit
    )
    desk.keep(key, made)
    return made


def _summaries(history: History) -> list[int]:
    """Return which messages stand for what was compacted: a session always keeps them."""
    book = history.book
    return [book.indexes[at] for at, each in enumerate(book.messages) if mark.piece_of(each) is not None]


def _captured(source: str, title: str, receipt: Receipt) -> Source:
    """Return what a receipt was made of, to be fitted again.

    Raises:
        InvalidType: it does not hold its texts.
    """
    given = receipt.capture
    if given is None:
        told = "a receipt with its texts: fit with capture=True, or give a session capture=True"
        raise InvalidType("receipt.capture", None, told)

    def fit(budget: int, choices: Mapping[str, Any]) -> Receipt:
        asked = replace(given, options={**given.options, **choices}) if choices else given
        return replay(asked, budget=budget).receipt

    kind = "messages" if isinstance(given, Transcript) else "sections"
    return Source(id=source, title=title, kind=kind, budget=receipt.budget, model=given.model, refit=fit)


def fitted(desk: Desk, source: str, budget: object, choices: object) -> dict[str, Any]:
    """Return what a budget keeps: the sums, and a row for each piece, dropped ones included.

    Raises:
        UnknownName: no such source.
        InvalidValue: a budget or a choice that cannot be.
    """
    known = opened(desk, source)
    units = known.budget if budget is None else _units(budget)
    asked = _choices(known, choices)
    told = {"id": known.id, "title": known.title, "kind": known.kind, "model": known.model, "recorded": known.budget}
    known.asked += 1
    try:
        receipt = known.fit(units, asked)
    except DoesNotFit as error:
        lacks = {"needed": error.needed, "parts": error.parts, "problem": str(error)}
        return {**told, "fits": False, "budget": units, **lacks, "rows": []}
    rows = [
        [part.name, part.state, part.priority, part.required, part.size, part.used, part.reason]
        for part in receipt.parts
    ]
    names = ("budget", "used", "unit", "meter", "exact", "joins")
    sums = {name: getattr(receipt, name) for name in names}
    return {**told, "fits": True, **sums, "wanted": sum(part.size for part in receipt.parts), "rows": rows}


def returns(desk: Desk, source: str, budget: object, choices: object, name: str | None = None) -> dict[str, Any]:
    """Return for each dropped piece, or for one, the smallest budget found at which it is back.

    What is told was fitted: at that budget the piece is there. `exact` says that at one unit less it is not.

    Raises:
        UnknownName: no such source.
        InvalidValue: a budget or a choice that cannot be.
    """
    known = opened(desk, source)
    units, asked = _units(budget), _choices(known, choices)
    found = _Search(known, asked).run(units, name)
    return {"budget": units, "returns": {part: list(told) for part, told in found.items()}}


def _units(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise InvalidValue("budget", value, f"a whole number from 0 to {_LARGEST:,}")
    return value


def _choices(source: Source, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidType("choices", value, "choices by name")
    for name, chosen in value.items():
        if name not in source.choices or not isinstance(chosen, str):
            raise InvalidValue("choices", {name: chosen}, f"texts for some of {', '.join(source.choices)}")
    return dict(value)


class _Search:
    """Halves ranges of budgets, the one with the most pieces in it first, until time is up."""

    def __init__(self, source: Source, choices: Mapping[str, Any]) -> None:
        self._source = source
        self._asked = source.asked
        self._choices = choices
        self._until = monotonic() + _SECONDS

    def run(self, budget: int, name: str | None) -> dict[str, tuple[int, bool]]:
        """Return the budget of each piece that comes back at all, and whether one unit less does not do."""
        low, sizes = self._present(budget)
        high = max(budget + 1, 2 * sizes + 1_000)
        top, _ = self._present(high)
        missing = (top - low) if name is None else ({name} & top) - low
        found: dict[str, tuple[int, bool]] = {}
        ranges = [(-len(missing), budget, high, frozenset(missing))] if missing else []
        while ranges:
            _, least, most, parts = heapq.heappop(ranges)
            if most - least == 1 or (self._is_over and name is None):
                found |= dict.fromkeys(parts, (most, most - least == 1))
                continue
            middle = (least + most) // 2
            there = parts & self._present(middle)[0]
            for group, start, end in ((there, least, middle), (parts - there, middle, most)):
                if group:
                    heapq.heappush(ranges, (-len(group), start, end, frozenset(group)))
        return found

    @property
    def _is_over(self) -> bool:
        return monotonic() > self._until or self._source.asked != self._asked

    def _present(self, budget: int) -> tuple[set[str], int]:
        """Return the pieces that a budget keeps, and the units of all pieces."""
        try:
            receipt = self._source.fit(budget, self._choices)
        except DoesNotFit as error:
            return set(), error.needed
        return {part.name for part in receipt.parts if part.present}, sum(part.size for part in receipt.parts)


def fixture(desk: Desk, source: str, budget: object, choices: object) -> dict[str, Any]:
    """Return the fit as a receipt with its texts: a file that `brim replay` reads, and so a case for a test.

    Raises:
        DoesNotFit: there is no such fit.
    """
    known = opened(desk, source)
    receipt = known.fit(_units(budget), _choices(known, choices))
    return replace(receipt, captured=True).to_dict()
