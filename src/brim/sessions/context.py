"""The messages of the next prompt, each counted once, and their tokens by category.

A context stores no state between fits: the last fit, and the turns logged as dropped, are passed in and returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from brim.errors import DoesNotFit
from brim.history.compact import mark
from brim.history.history import History
from brim.history.note import is_note
from brim.history.options import Options
from brim.history.receipt import written
from brim.history.result import Fitted
from brim.history.stable import LastFit
from brim.meter.base import BaseMeter
from brim.receipts.receipt import handle
from brim.wire import Format
from brim.wire.message import Message
from brim.wire.remainder import shown_fields

_RESULT = 200
"""Tokens that memory leaves for the newest turn if it has results."""


class DroppedTurn(NamedTuple):
    """A turn that is not sent unchanged."""

    handle: str
    """The hash of its messages, as in receipts."""
    messages: list[Any]
    numbers: list[int]
    """The log entries of its messages; empty if the log does not contain all of them as they were sent."""


class NotedTurns(NamedTuple):
    """The turns that are logged as dropped."""

    generation: int = 0
    """The generation of the turns."""
    spans: Mapping[int, int] = {}
    """The end of each turn, by its start."""
    missing: int = 0
    """Messages that the last prompt did not send unchanged."""


class Context:
    """The messages of the next prompt, before it is fitted."""

    def __init__(
        self,
        scale: BaseMeter,
        messages: Sequence[Any] = (),
        *,
        format: str | None = None,
        summary: mark.Summary | None = None,
    ) -> None:
        """Count messages; `summary` is the summary of the last compaction, if there was one."""
        self._format = format
        self._summary = summary
        self.history = History(meter=scale, format=cast("Format | None", format))
        self.numbers: dict[int, int] = {}
        """The log entries of messages, by index, where known."""
        self.extend(messages)
        turns = self.history.turns
        marked = ((at, mark.piece_of(each, summary)) for at, each in enumerate(turns.messages))
        self._pins = [turns.indexes[at] for at, piece in marked if piece is not None]

    @property
    def messages(self) -> list[Any]:
        """The messages as they were added."""
        return self.history.turns.source

    @property
    def unread(self) -> int:
        """How many messages at the end are unanswered by the model: tool results with their calls, or user messages."""
        turns, count = self.history.turns, 0
        for turn in range(len(turns.starts) - 1, -1, -1):
            start, stop = turns.span(turn)
            members = turns.messages[start:stop]
            if members[-1].role == "assistant":
                break
            count += stop - start
            if any(message.role == "assistant" or message.results for message in members):
                break
        return count

    @property
    def units(self) -> int:
        """Tokens of all messages."""
        return self.history.turns.fixed + self.history.turns.total

    def extend(self, messages: Sequence[Any]) -> None:
        """Add messages at the end."""
        self.history.extend(messages)

    def anew(self, scale: BaseMeter, messages: Sequence[Any], summary: mark.Summary | None = None) -> Context:
        """Return a context with other messages or another meter."""
        made = Context(scale, messages, format=self.history.turns.format, summary=summary)
        own = {id(raw): at for at, raw in enumerate(self.messages)}
        found = ((at, self.numbers.get(own.get(id(raw), -1))) for at, raw in enumerate(made.messages))
        made.numbers = {at: number for at, number in found if number is not None}
        return made

    def shortened(self, length: int) -> Context:
        """Return the context as it was when it had only the first messages."""
        scale, messages = self.history.turns.meter, self.messages[:length]
        made = Context(scale, messages, format=self._format, summary=self._summary)
        made.numbers = {at: number for at, number in self.numbers.items() if at < length}
        return made

    def fit(
        self,
        budget: int,
        last: LastFit,
        *,
        before: Mapping[str, Any],
        counted: tuple[Mapping[str, int], bool],
        capture: bool = False,
        pin: Sequence[int | str] = (),
    ) -> Fitted:
        """Return a prompt that fits a budget; pinned messages and a summary of earlier turns stay.

        Args:
            budget: tokens of the whole prompt.
            last: the result of the last fit.
            before: the tools, the system prompt and other fields before the messages.
            counted: their tokens by name, and whether these are exact.
            capture: whether the receipt's JSON contains the messages.
            pin: the indexes of messages that stay, and texts in messages that stay.
        """
        options = Options(pin=[*pin] or None)
        extra, exact = counted
        seen = read_by_model(before)

        def fitted(options: Options) -> Fitted:
            plan = self.history.plan(budget, extra, options, last.stable)
            return self.history.fitted(plan, seen, last, exact=exact, capture=capture)

        if not self._pins:
            return fitted(options)
        try:
            return fitted(replace(options, pin=[*self._pins, *pin]))
        except DoesNotFit:  # The budget is smaller than at the time of the summary, which is cut then.
            return fitted(options)

    @property
    def essential(self) -> int:
        """Tokens of what must stay: system messages, the task, the last instruction and the newest turn.

        Results of the newest turn can be cut, so at most `_RESULT` tokens are counted for them.
        """
        turns = self.history.turns
        _, units, stays = self.history.demand(Options())
        if stays and any(turns.messages[at].results for at in turns.members(stays[-1])):
            units -= max(0, turns.weights[stays[-1]] - turns.tokens(_RESULT))
        return turns.fixed + units

    def categories(self, sent: Sequence[Any] | None = None) -> dict[str, int]:
        """Return the tokens by category, of all messages or of those that are sent."""
        turns, sums = self.history.turns, dict[str, int]()
        places = {id(raw): at for at, raw in enumerate(turns.raws)}
        for i, raw in enumerate(turns.raws if sent is None else sent):
            at = places.get(id(raw))
            message = turns.wire.read(raw, i) if at is None else turns.messages[at]
            units = turns.chat.units(message) if at is None else turns.units[at]
            summary = mark.piece_of(message, self._summary)
            if summary is not None:
                size = units if len(message.pieces) == 1 else turns.chat.piece(summary)
                sums["summary"] = sums.get("summary", 0) + size
                units -= size
            if units:
                category = _category(message)
                sums[category] = sums.get(category, 0) + units
        return sums

    def left_out(self, sent: Sequence[Any], noted: NotedTurns) -> tuple[list[DroppedTurn], NotedTurns]:
        """Return the turns that are newly dropped or shortened, and all such turns that are logged, with them."""
        turns = self.history.turns
        there = set(map(id, sent))
        gone = [at for at, raw in enumerate(turns.raws) if id(raw) not in there]
        known = noted.spans if noted.generation == turns.generation else {}
        spans = dict(turns.span(turn) for turn in sorted({turns.turn_of(at) for at in gone} - {-1}))
        new = {start: stop for start, stop in spans.items() if known.get(start) != stop}
        found = [self._dropped_turn(turns.members(turns.turn_of(start))) for start in new]
        return found, NotedTurns(turns.generation, {**known, **new}, len(gone))

    def _dropped_turn(self, members: list[int]) -> DroppedTurn:
        turns = self.history.turns
        raws, places = [turns.raws[at] for at in members], [turns.indexes[at] for at in members]
        # A repaired message differs from the logged one.
        same = all(raw is turns.source[at] for raw, at in zip(raws, places, strict=True))
        numbers = [self.numbers.get(at, 0) if same else 0 for at in places]
        return DroppedTurn(handle(written(raws)), raws, numbers if all(numbers) else [])


def read_by_model(before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what comes before the messages, without the fields that the model does not see."""
    return {**before, "fields": shown_fields(before["fields"]) or None}


def _category(message: Message) -> str:
    if message.results:
        return "tool results"
    if message.role == "user":
        return "framing" if is_note(message) else "user"
    return "tool results" if message.role == "tool" else message.role
