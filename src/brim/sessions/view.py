"""The context as it stands: the messages that the next prompt is made of, each counted once, and what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.errors import DoesNotFit
from brim.history.compact import mark
from brim.history.fitted import Fitted
from brim.history.forms import Form
from brim.history.history import History, Tools
from brim.history.note import is_note
from brim.history.record import written
from brim.history.stable import HeldCut, Stable
from brim.meter.base import Scale
from brim.receipts.receipt import handle
from brim.wire import plain
from brim.wire.message import Message

_HELD = ("anchor", "resume", "at", "lead", "note", "seen", "length", "until", "check", "units")


class View:
    """The messages of the next prompt, before it is fitted."""

    def __init__(
        self, scale: Scale, messages: Sequence[Any] = (), *, stable: Stable | bool = True, format: str | None = None
    ) -> None:
        self._format = format
        self.history = History(meter=scale, stable=stable, format=format)
        self._sums: dict[str, int] = {}
        self._counted = (0, 0)
        self._kept: tuple[Any, ...] | None = None
        self.extend(messages)
        book = self.history.book
        self._pins = [book.indexes[at] for at, each in enumerate(book.messages) if mark.piece_of(each) is not None]

    @property
    def messages(self) -> list[Any]:
        """The messages as they came."""
        return self.history.book.source

    @property
    def units(self) -> int:
        """Units of all messages."""
        return self.history.book.fixed + self.history.book.total

    def extend(self, messages: Sequence[Any]) -> None:
        """Add messages at the end."""
        self.history.extend(messages)

    def anew(self, scale: Scale, messages: Sequence[Any]) -> View:
        """Return a view of other messages, or of the same with another meter; nothing is held."""
        stable = self.history.stable
        lines = False if stable is None else replace(stable, held=None)
        return View(scale, messages, stable=lines, format=self.history.book.format)

    def shortened(self, length: int) -> View:
        """Return a view of the first messages, as it was before the others came."""
        stable = self.history.stable
        lines = False if stable is None else stable.sealed()
        return View(self.history.book.meter, self.messages[:length], stable=lines, format=self._format)

    def fit(
        self,
        budget: int,
        *,
        tools: Tools | None,
        system: Any,
        capture: bool,
        query: str | None,
        pin: Sequence[int] = (),
    ) -> Fitted:
        """Return what of it fits a budget; what is pinned stays, and so does a summary of what was compacted."""
        asked: dict[str, Any] = {"tools": tools, "system": system, "capture": capture}
        if query:
            asked |= {"select": "recency+relevance", "query": query}
        if pin:
            asked["pin"] = [*pin]
        if not self._pins:
            return self.history.fit(budget, **asked)
        try:
            return self.history.fit(budget, **{**asked, "pin": [*self._pins, *pin]})
        except DoesNotFit:  # The budget has become smaller since: better less of the summary than no prompt.
            return self.history.fit(budget, **asked)

    def categories(self) -> dict[str, int]:
        """Return the units of all messages by what they are."""
        book = self.history.book
        had, generation = self._counted
        if generation != book.generation:
            had, self._sums = 0, {}
        for message, units in zip(book.messages[had:], book.units[had:], strict=True):
            self._add(self._sums, message, units)
        self._counted = (len(book), book.generation)
        return dict(self._sums)

    def categories_of(self, messages: Sequence[Any]) -> dict[str, int]:
        """Return the units of messages that were sent by what they are."""
        book, sums = self.history.book, dict[str, int]()
        for i, raw in enumerate(messages):
            message = book.wire.read(raw, i)
            self._add(sums, message, book.chat.units(message))
        return sums

    def _add(self, sums: dict[str, int], message: Message, units: int) -> None:
        summary = mark.piece_of(message) if message.role == "user" else None
        if summary is not None:
            size = units if len(message.pieces) == 1 else self.history.book.chat.piece(summary)
            sums["summary"] = sums.get("summary", 0) + size
            units -= size
        if units:
            name = _category(message)
            sums[name] = sums.get(name, 0) + units

    def left_out(self, sent: Sequence[Any]) -> dict[str, str]:
        """Return the turns that are not sent as they came, by the handles of a receipt, where that has changed.

        Results that were cleared are there by the handles that stand in their place as well.
        """
        book = self.history.book
        there = {id(raw) for raw in sent}
        gone = [at for at, raw in enumerate(book.raws) if id(raw) not in there]
        key = tuple(id(book.raws[at]) for at in gone)
        if key == self._kept:
            return {}
        self._kept = key
        texts: dict[str, str] = {}
        for turn in sorted({book.turn_of(at) for at in gone}):
            told = written([book.raws[at] for at in book.members(turn)])
            texts[handle(told)] = told
        for at in gone:
            outputs = [piece.text for piece in book.messages[at].pieces if piece.kind == "output"]
            if outputs:
                joined = "\n".join(outputs)
                texts[handle(joined)] = joined
        return texts


def _category(message: Message) -> str:
    if message.results:
        return "tool results"
    if message.role == "user":
        return "framing" if is_note(message) else "user"
    return "tool results" if message.role == "tool" else message.role


def held_dict(stable: Stable | None) -> dict[str, Any] | None:
    """Return the cut that is held as JSON values; nothing where none is."""
    held = stable.sealed().held if stable is not None else None
    if held is None:
        return None
    told = {name: getattr(held, name) for name in _HELD}
    edits = {str(at): [jsonable(form.raw), form.units] for at, form in held.edits.items()}
    return {**told, "aside": dict(held.aside), "edits": edits}


def held_from(values: Mapping[str, Any] | None) -> HeldCut | None:
    """Return the cut that `held_dict` wrote."""
    if values is None:
        return None
    edits = {int(at): Form(raw, units) for at, (raw, units) in values["edits"].items()}
    return HeldCut(**{name: values[name] for name in _HELD}, aside=values["aside"], edits=edits)


def jsonable(value: Any) -> Any:
    """Return a message as JSON values: a client's own objects become the fields that were set."""
    known = plain(value)
    if isinstance(known, Mapping):
        return {key: jsonable(each) for key, each in known.items()}
    if isinstance(known, list | tuple):
        return [jsonable(each) for each in known]
    return known
