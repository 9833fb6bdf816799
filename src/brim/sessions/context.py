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
from brim.history.prompt import SentMessages
from brim.history.receipt import written
from brim.history.regret import ResultIndex
from brim.history.result import Fitted
from brim.history.stable import LastFit
from brim.history.turns import MessageIndex, Span, Turns, differing, joined, ranges
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
    spans: Sequence[Span] = ()
    """The ranges of their positions, in order."""
    missing: int = 0
    """Messages that the last prompt did not send unchanged."""


class CategoryIndex(MessageIndex):
    """The tokens by category of all messages up to each position."""

    def __init__(self, turns: Turns, summary: mark.Summary | None) -> None:
        self._summary = summary
        super().__init__(turns)

    def _forget(self) -> None:
        self._sums: dict[str, list[int]] = {name: [0] for name in _MESSAGE_CATEGORIES}

    def _add(self, position: int, message: Message) -> None:
        sizes = self.sizes(message, self._turns.units[position])
        for name, sums in self._sums.items():
            sums.append(sums[-1] + sizes.get(name, 0))

    def sizes(self, message: Message, units: int) -> dict[str, int]:
        """Return the tokens of one message by category."""
        piece, sizes = mark.piece_of(message, self._summary), dict[str, int]()
        if piece is not None:
            sizes["summary"] = units if len(message.pieces) == 1 else self._turns.chat.piece(piece)
            units -= sizes["summary"]
        return {**sizes, _category(message): units} if units else sizes

    def total(self, sent: SentMessages) -> dict[str, int]:
        """Return the tokens of a prompt by category, without its note."""
        self.keep_up()
        totals = {name: sum(row[stop] - row[start] for start, stop in sent.whole) for name, row in self._sums.items()}
        for at, form in sent.forms.items():
            message = self._turns.messages[at]
            if mark.piece_of(message, self._summary) is not None or is_note(message):  # Its words decide what it is.
                message = message if form.raw is None else self._turns.wire.read(form.raw, at)
            for name, units in self.sizes(message, form.units).items():
                totals[name] += units
        return {name: units for name, units in totals.items() if units}


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
        self._sizes = CategoryIndex(turns, summary)
        self.results = ResultIndex(turns)
        """The calls with results."""

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

    @property
    def all(self) -> SentMessages:
        """All messages, sent as they are."""
        turns = self.history.turns
        return SentMessages(turns.raws, turns.units, [(0, len(turns))])

    def categories(self, sent: SentMessages) -> dict[str, int]:
        """Return the tokens of a prompt by category, without its note."""
        return self._sizes.total(sent)

    def sizes(self, raw: Any) -> dict[str, int]:
        """Return the tokens of one message by category.

        Raises:
            InvalidValue: it is invalid.
        """
        turns = self.history.turns
        message = turns.wire.read(raw, 0)
        return self._sizes.sizes(message, turns.chat.units(message))

    def whole(self, messages: Sequence[Any]) -> list[Span]:
        """Return the ranges of positions whose messages are among these objects."""
        there = set(map(id, messages))
        return ranges(at for at, raw in enumerate(self.history.turns.raws) if id(raw) in there)

    def left_out(self, whole: Sequence[Span], noted: NotedTurns) -> tuple[list[DroppedTurn], NotedTurns]:
        """Return the turns that are newly dropped or shortened, and all such turns that are logged, with them.

        Args:
            whole: the ranges of positions whose messages are sent as they are.
            noted: the turns that are logged.
        """
        turns = self.history.turns
        gone = differing([(0, len(turns))], whole)
        known = [*noted.spans] if noted.generation == turns.generation else []
        if known:  # The last turn may have grown since.
            start, stop = known.pop()
            last = turns.span(turns.turn_of(stop - 1))
            known += joined([(start, stop if stop == last[1] else last[0])])
        fresh = differing(joined(sorted([*gone, *known])), known)
        numbers = {turn for start, stop in fresh for turn in range(turns.turn_of(start), turns.turn_of(stop - 1) + 1)}
        new = sorted(numbers - {-1})
        spans = joined(sorted([*known, *map(turns.span, new)]))
        missing = sum(stop - start for start, stop in gone)
        return [self._dropped_turn(turns.members(turn)) for turn in new], NotedTurns(turns.generation, spans, missing)

    def _dropped_turn(self, members: Sequence[int]) -> DroppedTurn:
        turns = self.history.turns
        raws, places = [turns.raws[at] for at in members], [turns.indexes[at] for at in members]
        # A repaired message differs from the logged one.
        same = all(raw is turns.source[at] for raw, at in zip(raws, places, strict=True))
        numbers = [self.numbers.get(at, 0) if same else 0 for at in places]
        return DroppedTurn(handle(written(raws)), raws, numbers if all(numbers) else [])


_MESSAGE_CATEGORIES = ("system", "user", "framing", "assistant", "tool results", "summary")


def read_by_model(before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what comes before the messages, without the fields that the model does not see."""
    return {**before, "fields": shown_fields(before["fields"]) or None}


def _category(message: Message) -> str:
    if message.results:
        return "tool results"
    if message.role == "user":
        return "framing" if is_note(message) else "user"
    return "tool results" if message.role == "tool" else message.role
