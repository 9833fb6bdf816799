"""What the budget lab opens: a prompt or a conversation that can be fitted at any budget.

What is opened is kept, so that each of its texts is counted once, however often the slider moves.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, NamedTuple

from brim.errors import DoesNotFit, InvalidType, UnknownName
from brim.history.compact import mark
from brim.history.history import History
from brim.receipts.receipt import Part, Receipt
from brim.receipts.section import Priority
from brim.receipts.transcript import Transcript
from brim.replay import replay
from brim.sessions.session import Session
from brim.studio import sample
from brim.studio.desk import Desk
from brim.studio.receipts import captured
from brim.wire import wire

SAMPLE = "sample:agent"
CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    "sections": {
        "policy": ("truncate_then_continue", "truncate_then_stop", "skip", "stop"),
        "fill": ("order", "fair"),
        "order": ("given", "priority"),
    },
    "messages": {"select": ("recency", "priority")},
}
"""What else than the budget can be chosen, by what is fitted."""
_MOST_SOURCES = 60
_MOST_NAMED = 40
"""Pieces that have a letter and a colour of their own; where there are more, they share those of their group."""
_RANGES = 8
"""Groups of a long conversation, the oldest messages first."""
_MOST_TOLD = 5_000
_EXCERPT = 90
_RANGE = re.compile(r"messages\[(\d+)")
_RANKS = {int(priority): priority.name.lower() for priority in Priority}

Fit = Callable[[int, Mapping[str, Any]], Receipt]


class Pieces(NamedTuple):
    """What is the same of every piece at any budget, as columns."""

    names: list[str]
    priorities: list[str]
    required: list[int]
    """The places of those that are."""
    sizes: list[int]
    groups: list[str]
    group: list[int]
    """For each piece, the place of its group."""
    excerpts: list[str]
    """How each piece begins; nothing where there are very many."""


@dataclass(slots=True, kw_only=True)
class LabSource:
    """Something that can be fitted at any budget."""

    id: str
    title: str
    kind: str
    """`sections` or `messages`."""
    budget: int
    """The budget that it was fitted to, or that holds for it."""
    model: str | None
    refit: Fit = field(repr=False)
    text: Callable[[str], str] = field(repr=False)
    """Returns what a piece says, by its name."""
    asked: int = 0
    """How often a budget was asked for: a search for an older one ends when another comes."""
    lock: RLock = field(default_factory=RLock, repr=False)
    _recorded: Receipt | None = field(default=None, repr=False)
    _seen: tuple[tuple[Any, ...], str, Pieces] | None = field(default=None, repr=False)

    def fit(self, budget: int, choices: Mapping[str, Any]) -> Receipt:
        """Return the receipt at a budget, one after the other.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        with self.lock, _unswept():
            return self.refit(budget, choices)

    @property
    def recorded(self) -> Receipt | None:
        """The fit at the budget that was recorded; nothing where it does not fit."""
        with self.lock:
            if self._recorded is None:
                try:
                    self._recorded = self.refit(self.budget, {})
                except DoesNotFit:
                    return None
            return self._recorded

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """What else than the budget can be chosen, with its values."""
        return CHOICES[self.kind]

    def pieces(self, parts: tuple[Part, ...]) -> tuple[str, Pieces]:
        """Return what is the same of the pieces at any budget, and a key that tells whether it still is."""
        now = tuple((part.name, part.size, part.priority, part.required) for part in parts)
        with self.lock:
            if self._seen is None or self._seen[0] != now:
                key = f"{hash((self.id, now)) & (1 << 64) - 1:x}"
                told = [_start(self.text(part.name)) for part in parts] if len(parts) <= _MOST_TOLD else []
                self._seen = (now, key, _pieces(self.kind, parts, told))
            return self._seen[1], self._seen[2]


@contextmanager
def _unswept() -> Iterator[None]:
    """Keep the search for cycles away from a fit: it makes thousands of values that live for a moment, and no cycle."""
    swept = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if swept:
            gc.enable()


def _start(text: str) -> str:
    return " ".join(text[: 2 * _EXCERPT].split())[:_EXCERPT]


def _pieces(kind: str, parts: tuple[Part, ...], excerpts: list[str]) -> Pieces:
    names = [part.name for part in parts]
    priorities = ["required" if part.required else _RANKS.get(part.priority, str(part.priority)) for part in parts]
    if len(parts) <= _MOST_NAMED:
        groups, group = names, list(range(len(parts)))
    elif kind == "sections":
        by_rank = sorted({(part.priority, told) for part, told in zip(parts, priorities, strict=True)})
        groups = list(dict.fromkeys(told for _, told in by_rank))
        group = [groups.index(told) for told in priorities]
    else:
        group = [i * _RANGES // len(parts) for i in range(len(parts))]
        groups = [_range(group, each) for each in range(_RANGES)]
    required = [i for i, part in enumerate(parts) if part.required]
    return Pieces(names, priorities, required, [part.size for part in parts], groups, group, excerpts)


def _range(group: list[int], at: int) -> str:
    """Return the name of a group of turns that follow each other; it begins with the letter that it gets."""
    first = group.index(at)
    return f"{at + 1}: pieces {first + 1:,} to {first + group.count(at):,}"


def listed(desk: Desk) -> list[dict[str, str]]:
    """Return what can be opened: a sample, and the conversations of the store."""
    found = [{"id": SAMPLE, "title": "Sample: an agent's prompt of twelve sections", "kind": "sections"}]
    store = desk.store()
    if store is not None:
        for row in store.sessions(limit=_MOST_SOURCES):
            kind = row.meta.get("kind", "session")
            if "status" in row.meta and kind != "gateway":
                found.append({"id": f"session:{row.id}", "title": f"{kind} {row.id}", "kind": "messages"})
    return found


def opened(desk: Desk, source: str) -> LabSource:
    """Return something that can be fitted, read once as long as it does not change.

    Raises:
        UnknownName: there is no such source.
    """
    kind, _, name = source.partition(":")
    if kind == "session":
        return _session(desk, source, name)
    known: LabSource | None = desk.known(source)
    if known is None and source == SAMPLE:
        known = of_receipt(source, "Sample", sample.receipt())
    elif known is None and kind == "receipt":
        known = of_receipt(source, name, captured(desk, name))
    if known is None:
        raise UnknownName("source for the budget lab", source, [each["id"] for each in listed(desk)])
    desk.keep(source, known)
    return known


def _session(desk: Desk, source: str, name: str) -> LabSource:
    store = desk.needed()
    row = next((each for each in store.sessions(limit=1_000) if each.id == name), None)
    known: LabSource | None = desk.known(f"{source}@{row.entries}") if row is not None else None
    if known is not None:
        return known
    session = Session.open(name, store=store)
    history = History(meter=session.meter, format=session.format)
    history.extend(session.messages)
    summaries = _summaries(history)

    def fit(budget: int, choices: Mapping[str, Any]) -> Receipt:
        try:
            return history.fit(budget, pin=summaries, **choices).receipt
        except DoesNotFit:  # As the session does: better less of the summary than no prompt.
            return history.fit(budget, **choices).receipt

    made = LabSource(
        id=source,
        title=name,
        kind="messages",
        budget=session.budget,
        model=session.settings.model,
        refit=fit,
        text=_said(session.messages, session.format),
    )
    desk.keep(f"{source}@{session.number}", made)
    return made


def _summaries(history: History) -> list[int]:
    """Return which messages stand for what was compacted: a session always keeps them."""
    book = history.book
    return [book.indexes[at] for at, each in enumerate(book.messages) if mark.piece_of(each) is not None]


def of_receipt(source: str, title: str, receipt: Receipt) -> LabSource:
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
    model = given.model or (given.meter if _is_model(given.meter) else None)
    if isinstance(given, Transcript):
        text = _said(given.messages, str(given.options["format"]))
    else:
        texts = {section.name: section.text for section in given.sections}

        def text(name: str) -> str:
            return texts.get(name, "")

    return LabSource(id=source, title=title, kind=kind, budget=given.budget, model=model, refit=fit, text=text)


def _said(messages: Sequence[Any], format: str) -> Callable[[str], str]:
    """Return what tells how a turn begins, by the name that a receipt gives it."""

    def text(name: str) -> str:
        found = _RANGE.match(name)
        if found is None or int(found[1]) >= len(messages):
            return ""
        message = wire(format).read(messages[int(found[1])], 0)
        return f"{message.role}: {message.text()}"

    return text


def _is_model(name: str | None) -> bool:
    from brim.meter import catalogue

    try:
        return name is not None and bool(catalogue.find(name))
    except UnknownName:
        return False
