"""Excerpts: what stays of the messages of older turns.

The least that stays tells what was said and done: the first line of a text, each call with the start of its arguments,
the line of a result that says that it failed. Parts of the texts are added to that.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from brim.history.forms import SHOWN_HANDLE, Form, Forms, inside
from brim.history.reductions import Reductions
from brim.history.superseded import Place, Superseded
from brim.history.turns import Turns
from brim.meter.memo import Memo
from brim.receipts.receipt import handle
from brim.truncate.failure import last_failure
from brim.wire.base import changed
from brim.wire.message import Message, Path, Piece

GAP = "…"
"""Stands for what is left out."""
AGAIN = "[shown again later] "
"""Stands before what is left of a result that a later one supersedes."""
_SHORT = 72
"""Characters of arguments that stay as they are."""
_ARGUMENT = 48
"""Characters that stay of a longer text in arguments."""
_TINY = 32
"""Characters of a text that always stays: a mark in its place would save nothing."""
_NEAR = 16
"""Parts that are so many characters apart become one."""
_REMEMBERED = 2
"""Forms of a message that are remembered: a fit takes excerpts in two rounds, and the next fit often takes the same."""
_LINE = 120
"""Characters that stay of a line."""
_MANY = 40
"""Lines of a text from which the mark of a gap tells where it goes on."""
_DECISION = re.compile(r"\b(?:decided|decision|agreed|must|never|always|instead of|remember)\b", re.IGNORECASE)
"""Words of a sentence that holds beyond its turn."""
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A text in JSON. One without an end reaches to the end of all, so that no character is read twice."""
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u....|u....|.)", re.DOTALL)
"""An escape sequence of JSON, or two that are one character."""

_MARKS: Memo[tuple[array[int], list[tuple[int, int]]]] = Memo()
"""The marks of arguments: each fit shortens the same ones, to other parts."""

Intervals = tuple[tuple[int, int], ...]
"""Parts of a text, in order."""


class Replacement(NamedTuple):
    """A shorter text in place of another."""

    text: str
    before: int
    """The tokens of the other."""
    at: Path
    value: Any
    """The text as it stands in the message."""


class Excerpts:
    """The excerpts of the messages of a history."""

    def __init__(self, turns: Turns, forms: Forms) -> None:
        self._turns = turns
        self._forms = forms
        self.handles = False
        """Whether a shortened result shows its handle, since the model can ask for the whole."""
        self._superseded = Superseded(turns)
        self._forget()

    def _forget(self) -> None:
        self._valid = self._turns.order, self.handles
        self._told: dict[Place, Place] = {}
        """The results that were superseded, each with the one that superseded it."""
        self._dropped = 0
        """How many of them had their excerpts discarded."""
        self._seen = 0
        self._owed: int | None = None
        """The message whose thinking the provider may ask for."""
        self._lines: dict[int, Mapping[int, Intervals]] = {}
        self._least: dict[int, Form] = {}
        self._made: dict[int, list[tuple[Mapping[int, Intervals], Form]]] = {}
        """The last forms of messages with parts, the newest first."""
        self._generation = self._turns.generation
        self.reductions = Reductions()
        """What the shortest forms of each turn's messages save, and these; turns change with the generation."""

    def superseded(self) -> set[int]:
        """Return the turns whose results were all superseded by later ones; their excerpts say so."""
        self.keep_up()
        turns = self._turns
        counts = Counter(turns.turn_of(position) for position, _ in self._told)
        return {
            turn
            for turn, count in counts.items()
            if count == sum(len(turns.messages[at].results) for at in turns.members(turn))
        }

    def keep_up(self) -> None:
        """Discard excerpts that are no longer right: later messages have superseded something."""
        if self._valid != (self._turns.order, self.handles):
            self._forget()
        if self._generation != self._turns.generation:
            self._generation, self.reductions = self._turns.generation, Reductions()
        if self._seen < len(self._turns):
            self._told, self._seen = self._superseded.by(), len(self._turns)
            if self._owed is not None:
                self._discard(self._owed)
            self._owed = self._forms.owed if self._turns.thinks else None
            for position, _ in islice(reversed(self._told), len(self._told) - self._dropped):  # The newest.
                self._discard(position)
            self._dropped = len(self._told)

    def _discard(self, position: int) -> None:
        self._least.pop(position, None)
        self._made.pop(position, None)
        self.reductions.discard(self._turns.turn_of(position))

    def least(self, position: int) -> Form:
        """Return the shortest form of a message that still tells what the agent did."""
        self.keep_up()
        return self._least_known(position)

    def reduction(self, turn: int) -> tuple[int, Mapping[int, Form]]:
        """Return the tokens that the shortest forms of a turn's messages save, and these forms, by position.

        It is right if nothing was added since `superseded` was last called: one fit asks for hundreds.
        """
        known = self.reductions.known.get(turn)
        if known is None:
            forms, units = {at: self._least_known(at) for at in self._turns.members(turn)}, self._turns.units
            known = sum([units[at] - form.units for at, form in forms.items()]), forms
            if turn < len(self._turns.starts) - 1:  # The last turn may still grow.
                self.reductions.add(turn, known)
        return known

    def saved_by_results(self, turn: int) -> int:
        """Return the tokens that the shortest forms of a turn's results save; it is right as long as `reduction` is."""
        known = self.reductions.of_results.get(turn)
        if known is None:
            turns = self._turns
            results = [at for at in turns.members(turn) if turns.messages[at].results]
            known = sum([turns.units[at] - self._least_known(at).units for at in results])
            if turn < len(turns.starts) - 1:  # The last turn may still grow.
                self.reductions.of_results[turn] = known
        return known

    def _least_known(self, position: int) -> Form:
        known = self._least.get(position)
        if known is None:
            known = self._least[position] = self._form(position, {})
        return known

    def form(self, position: int, parts: Mapping[int, Intervals]) -> Form:
        """Return a message with the least that stays of it, and with some parts of its texts, by piece."""
        if not parts:
            return self.least(position)
        made = self._made.setdefault(position, [])
        for had, form in made:
            if had == parts:
                return form
        form = self._form(position, parts)
        made.insert(0, (dict(parts), form))
        del made[_REMEMBERED:]
        return form

    def _form(self, position: int, parts: Mapping[int, Intervals]) -> Form:
        turns = self._turns
        message, whole = turns.messages[position], self._forms.whole(position)
        thinks = message.any("thinking")
        if thinks and (position == self._owed or not turns.wire.binds):
            return whole  # The provider may ask for it, with the exact content of its message.
        lines = self._lines.get(position)
        if lines is None:
            lines = self._lines[position] = dict(telling_lines(message))
        kept = {**parts, **{at: with_intervals(parts.get(at, ()), line) for at, line in lines.items()}}
        found = list(self._replacements(position, message, kept))
        units = whole.units + sum([turns.chat.text(each.text) - each.before for each in found])
        made = whole
        if units < whole.units:
            made = Form(changed(message.raw, {each.at: each.value for each in found}), units)
        bare = self._forms.without_thinking(position, made) if thinks else made
        return bare if bare.units < whole.units else whole

    def _replacements(self, position: int, message: Message, kept: Mapping[int, Intervals]) -> Iterator[Replacement]:
        forms, chat, contents = self._forms, self._turns.chat, _contents(message)
        for at, piece in enumerate(message.pieces):
            if not piece.at:
                continue
            if piece.kind == "call" and forms.takes_object(piece):
                text = shortened_arguments(piece.text, kept.get(at, ()))
                if text is not None:
                    yield Replacement(text, chat.text(piece.text), piece.at, self._turns.wire.value(piece, text))
            elif piece.kind == "text" and piece.text:
                text = excerpt(piece.text, kept.get(at, ()))
                if max(len(text), _TINY) < len(piece.text):
                    yield Replacement(text, chat.piece(piece), piece.at, text)
            elif piece.kind == "result":
                yield from self._result(piece, contents[at], kept, AGAIN if (position, at) in self._told else "")

    def _result(
        self, result: Piece, inner: Sequence[tuple[int, Piece]], kept: Mapping[int, Intervals], note: str
    ) -> Iterator[Replacement]:
        """Yield the text that replaces a result, with its images, if it is shorter."""
        outputs = [(at, piece) for at, piece in inner if piece.kind == "output"]
        text = "\n".join([excerpt(piece.text, kept.get(at, ())) for at, piece in outputs]) or GAP
        text = note + text if GAP in text else text
        if self.handles and GAP in text:
            text = f"[{handle(chr(10).join(piece.text for _, piece in outputs))[:SHOWN_HANDLE]}] {text}"
        if sum([len(piece.text) for _, piece in inner]) > max(len(text), _TINY):
            yield Replacement(
                text,
                sum([self._turns.chat.piece(piece) for _, piece in inner]),
                result.at,
                self._turns.wire.result(text),
            )


def _contents(message: Message) -> dict[int, list[tuple[int, Piece]]]:
    """Return the pieces of each result, by its index; they follow it."""
    found: dict[int, list[tuple[int, Piece]]] = {}
    last = -1
    for at, piece in enumerate(message.pieces):
        if piece.kind == "result":
            found[at], last = [], at
        elif last >= 0 and inside(piece, message.pieces[last]):
            found[last].append((at, piece))
    return found


def with_interval(kept: Intervals, start: int, stop: int) -> tuple[Intervals, int]:
    """Return intervals with one more, and how many characters are new; those that touch or are near become one."""
    if not kept:
        return ((start, stop),), stop - start
    first = bisect_left(kept, (start,))
    if first:
        end = kept[first - 1][1]
        if end >= stop:
            return kept, 0
        if end >= start - _NEAR:  # No other one before is near: it would be one with this.
            first -= 1
    last, had, far, after = first, 0, stop + _NEAR, stop
    for low, high in kept[first:] if first else kept:
        if low > far:
            break
        had += high - low
        last += 1
        start, after = low if low < start else start, high
    stop = after if after > stop else stop
    return kept[:first] + ((start, stop),) + kept[last:], stop - start - had  # noqa: RUF005 - the faster way


def with_intervals(kept: Intervals, more: Intervals) -> Intervals:
    """Return intervals together with others."""
    for start, stop in more:
        kept, _ = with_interval(kept, start, stop)
    return kept


def ends(text: str, size: int) -> Intervals:
    """Return the start and the end of a text, so many characters together, in whole lines if there are any."""
    head, tail = size * 3 // 5, max(0, len(text) - size * 2 // 5)
    head = text.rfind("\n", 0, head) + 1 or head
    tail = text.find("\n", tail) + 1 or tail
    return ((0, head), (tail, len(text))) if head < tail else ((0, len(text)),)


def telling_lines(message: Message) -> Iterator[tuple[int, Intervals]]:
    """Yield the line of each text that tells what happened: the first one, or that of a failure."""
    for at, piece in enumerate(message.pieces):
        text = piece.text
        if piece.kind == "text" and not message.calls:
            block = text.find("```") if message.role == "assistant" else -1
            start = text.find("\n", block) + 1 if block >= 0 else 0
            first = _line(text, len(text) - len(text[start:].lstrip()))
            decision = _DECISION.search(text, first[1] - _NEAR) if block < 0 else None
            yield at, (first, _sentence(text, decision.start())) if decision else (first,)
        elif piece.kind == "output":
            place = last_failure(text)
            if place is not None:
                yield at, (_line(text, place),)


def _line(text: str, at: int) -> tuple[int, int]:
    """Return the line around a place, as far as it is not too long."""
    start, stop = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    start, stop = max(start, at - _LINE // 2), len(text) if stop < 0 else stop
    if stop <= start + _LINE:
        return start, stop
    word = text.rfind(" ", start + _LINE // 2, start + _LINE)
    return start, word if word > at else start + _LINE


def _sentence(text: str, at: int) -> tuple[int, int]:
    """Return the sentence around a place, as far as it is not too long."""
    start, stop = _line(text, at)
    start, end = max(start, text.rfind(". ", start, at) + 2 if ". " in text[start:at] else start), text.find(". ", at)
    return start, min(stop, end + 1) if end >= 0 else stop


def excerpt(text: str, kept: Intervals) -> str:
    """Return some parts of a text, with a mark for each gap, which has the number of the line if there are many."""
    parts, end, line = [], 0, 1
    numbered = text.count("\n") >= _MANY and GAP not in text
    for start, stop in kept:
        if start > end:
            line += text.count("\n", end, start)
            has_own = text[start : start + _NEAR].lstrip()[:1].isdigit()  # As `cat -n` writes, or `grep -n`.
            parts.append(f"{GAP}{line}" if numbered and text[start - 1] == "\n" and not has_own else GAP)
        parts.append(text[start:stop])
        line += text.count("\n", max(start, end), stop)
        end = stop
    if end < len(text):
        parts.append(GAP)
    return "\n".join(parts)


def shortened_arguments(text: str, kept: Intervals) -> str | None:
    """Return arguments with the start of each long text in them and some other parts; `None` if nothing goes."""
    if len(text) <= _SHORT:
        return None
    parts, end, (escapes, literals) = [], 0, _marks(text)
    for first_quote, last_quote in literals:
        at, stop = first_quote + 1 + _ARGUMENT, last_quote
        for start, end_ in (*kept, (stop, stop)):
            first, last = max(start, at), min(end_, stop)
            if first > at + _NEAR and last >= first:
                parts += [text[end : _unsplit(text, at, escapes)], GAP]
                end = _unsplit(text, first, escapes)
            at = max(at, last)
    short = "".join([*parts, text[end:]])
    return short if parts and _is_object(short) else None


def _marks(text: str) -> tuple[array[int], list[tuple[int, int]]]:
    """Return where the escape sequences of JSON begin, and the quotes of each text that is not short."""
    known = _MARKS.get(text)
    if known is None:
        escapes = array("L", (found.start() for found in _ESCAPE.finditer(text)))
        known = (
            escapes,
            [
                (found.start(), found.end() - 1)
                for found in _LITERAL.finditer(text)
                if found.end() - found.start() > _ARGUMENT
            ],
        )
        _MARKS.put(text, known)
    return known


def _unsplit(text: str, at: int, escapes: array[int]) -> int:
    """Return a place in JSON, or the start of the escape sequence that it would split."""
    before = bisect_left(escapes, at) - 1
    found = _ESCAPE.match(text, escapes[before]) if before >= 0 else None
    return found.start() if found is not None and found.end() > at else at


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
