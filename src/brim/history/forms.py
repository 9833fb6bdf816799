"""The forms of a message: whole, shortened to its words and calls with some lines of each result, or dropped.

A form is a changed copy in the caller's format. People's words are never shortened here, the agent's only if they are
long, a call is shown as it was made, and a result keeps whole lines. Each form is made once.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from brim.errors import DoesNotFit
from brim.history.envelopes import body, enveloped, heard, without
from brim.history.excerpts import brief_arguments, by_importance, parts_of, value_mark
from brim.history.media_limit import MediaIndex
from brim.history.names import asked_names, has_value, named_places, names_in, single_places
from brim.history.repeats import Repeats
from brim.history.rules import asks_for_thinking
from brim.history.turns import Repair, Turns
from brim.meter.words import terms
from brim.receipts.receipt import Part
from brim.truncate import Truncator, truncator
from brim.truncate.base import mark, shrink
from brim.truncate.json_parts import Parts
from brim.truncate.parts import LONG_LINE, TextParts, whole_part
from brim.wire.base import GONE as REMOVED
from brim.wire.base import changed
from brim.wire.message import MEDIA, Message, Path, Piece, results_of
from brim.wire.values import json_of

SHOWN_HANDLE = 11
"""Characters of a handle in a prompt."""
_OWN_WORDS = 150
"""Tokens up to which the agent's words in one message stay whole: a decision with its reasons."""
_SHORT_RESULT = 32
"""Tokens up to which a result stays whole: its last line with marks would take as many."""
_LONG_VALUE = 300
"""Tokens above which a mark may replace a value of a call: a file or a patch, not a command."""
_SPOKEN = 24
"""Characters up to which the agent's words state nothing: an announcement."""
_ANSWER = 600
"""Tokens up to which the answer of a subagent stays whole."""
_BRIEFLY = 240
"""Characters of a text of the agent or a person, or of a line that the instruction names, shown in every form."""
_ENDING = 60
"""Characters of the end of a result in the shortest form, besides a failure: an exit code, a sum."""
_SENTENCE = re.compile(r"[^.!?。！？؟\n]*(?:[.!?。！？؟]+|\n|$)")
_ASKING = ("?", "？", "؟")
"""The ends of a question."""
_THOUGHT = "[reasoning omitted]"
_ELLIPSIS = "…"
"""The shortest mark, for a text of which nothing else fits."""
_CUTTABLE = ("text", "output", "call")
"""Kinds of pieces that can be cut."""
_LEGIBLE = 4
"""Floors that each text of the newest turn keeps before the task is cut as well."""
_SHAPED = 16
"""Tokens from which a text is cut by its structure."""


class Form(NamedTuple):
    """A message as it is sent."""

    raw: Any
    """The message to send; `None` if it is not sent."""
    units: int


GONE = Form(None, 0)


Chosen = Mapping[int, Collection[int]]
"""The parts of texts that are shown, by the index of the piece."""


T = TypeVar("T")


def _made_once(make: Callable[[Forms, int], T]) -> Callable[[Forms, int], T]:
    """Cache what a method makes of a message until newer messages invalidate it."""

    @wraps(make)
    def kept(self: Forms, position: int) -> T:
        key = make.__name__, position
        if key not in self._made:
            self._made[key] = make(self, position)
        made: T = self._made[key]
        return made

    return kept


class Forms:
    """The forms of the messages of a history."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.media = MediaIndex(turns)
        self._repeats = Repeats(turns)
        self._parts = (0, dict[tuple[int, int], Part]())
        self._forget()

    def _forget(self) -> None:
        self._valid = self._turns.order
        self._seen = 0
        self._divided: dict[tuple[int, int], Parts] = {}
        self._owed: int | None = None
        self._instruction: int | None = None
        self._made: dict[tuple[str, int], Any] = {}
        """Cached results by method and position."""
        self._answers: dict[tuple[int, int], list[int]] = {}
        """Cached parts of results with words of the task or the instruction, by position and piece."""

    def keep_up(self) -> None:
        """Discard cached forms that newer messages have invalidated."""
        turns = self._turns
        if self._valid != turns.order:
            self._forget()
        if self._seen == len(turns):
            return
        self._repeats.keep_up()
        owed = self.owed
        stale = self._repeats.taken() | ({self._owed, owed} if owed != self._owed else set())
        if turns.instruction != self._instruction:
            self._instruction = turns.instruction
            stale |= {at for at, _ in self._answers}
            self._answers.clear()
        self._made = {key: made for key, made in self._made.items() if key[1] not in stale}
        self._owed, self._seen = owed, len(turns)

    def texts(self, position: int, at: int) -> Parts:
        """Return the parts of a text of a message; the arguments of a call are one."""
        parts = self._divided.get((position, at))
        if parts is None:
            piece = self._turns.messages[position].pieces[at]
            own = piece.kind == "text" and not self._turns.printed(position)
            parts = whole_part(piece.text) if piece.kind == "call" else parts_of(piece.text, own=own)
            self._divided[position, at] = parts
        return parts

    def density(self, position: int, at: int) -> float:
        """Return the tokens of a character of a text, at most one."""
        text = self._turns.messages[position].pieces[at].text
        return min(1.0, self._turns.chat.text(text) / len(text))

    def parts(self, generation: int) -> dict[tuple[int, int], Part]:
        """Return a cache of the receipt's parts for dropped turns, by range of positions.

        Successive receipts of a growing history share most of them. It is valid for one generation of the turns.
        """
        if self._parts[0] != generation:
            self._parts = (generation, {})
        return self._parts[1]

    def whole(self, position: int) -> Form:
        """Return a message unchanged."""
        return Form(self._turns.raws[position], self._turns.units[position])

    def repeated(self, turn: int) -> bool:
        """Return whether all of a turn's text is repeated later by a person or a program."""
        marks, turns = self._repeats.marks, self._turns
        return all(
            at in marks and not turns.messages[at].results and len(marks[at]) == len(turns.messages[at].pieces)
            for at in turns.members(turn)
        ) and not any(map(turns.printed, turns.members(turn)))

    def newest_only(self, position: int) -> Form:
        """Return a message with marks in place of text that is repeated later."""
        marks = self._repeats.marks.get(position)
        if not marks:
            return self.whole(position)
        message = self._turns.messages[position]
        edits: list[tuple[Any, str]] = []
        for at, text in marks.items():
            piece = message.pieces[at]
            inner = [message.pieces[i] for i, result in results_of(message).items() if result == at]
            edits.append(([piece, *inner] if piece.kind == "result" else piece, text))
        return self._edited(position, edits)

    @_made_once
    def gist(self, position: int) -> Form:
        """Return a message with its calls, the beginning of each of its texts, and a mark for each result."""
        message = self._turns.messages[position]
        shown: dict[int, Sequence[int]] = {}
        for at, chosen in self.shown(position).items():
            result = message.pieces[at].kind == "output"
            shown[at] = self._heard(position, at) if result else self._least(position, at, chosen)
        for at, piece in enumerate(message.pieces):
            long = piece.kind == "text" and piece.at and len(piece.text) > _BRIEFLY
            if long and (message.role == "assistant" or position in self._turns.spoken):
                parts = self.texts(position, at)
                shown[at] = [next((part for part in range(len(parts)) if parts.part(part).strip()), 0)]
        return self._excerpt(position, shown)

    @_made_once
    def marked(self, position: int) -> Form:
        """Return a message with a mark for each of its texts, to show that a question was answered."""
        pieces = self._turns.messages[position].pieces
        return self._excerpt(position, {at: () for at, piece in enumerate(pieces) if piece.kind == "text" and piece.at})

    @_made_once
    def brief(self, position: int) -> Form:
        """Return a message with its words and calls, and a mark for each result."""
        shown = self.shown(position)
        return self._excerpt(position, {at: self._least(position, at, chosen) for at, chosen in shown.items()})

    def _least(self, position: int, at: int, chosen: Collection[int]) -> Sequence[int]:
        """Return the parts of a text in its shortest form: of the agent's own words only a few."""
        piece = self._turns.messages[position].pieces[at]
        if piece.kind == "call":
            return ()
        own = piece.kind == "text" and not self._turns.printed(position)
        stays = [] if own else [*{*self._heard(position, at), *self._named(position, at)}]
        parts, found, left = self.texts(position, at), stays, _BRIEFLY if own else _ENDING
        failures = () if own else parts.failures()
        for part in (part for part in chosen if part not in stays):
            if parts.size(part) <= left or (not found if own else part in failures):
                found.append(part)
                left -= parts.size(part)
        return found

    def tells(self, position: int) -> bool:
        """Return whether a message states something: words of the agent, or a line with words of the task."""
        message = self._turns.messages[position]
        if message.role == "assistant":
            return any(piece.kind == "text" and len(piece.text) > _SPOKEN for piece in message.pieces)
        return any(self._asked(position, at) for at in self.shown(position))

    @_made_once
    def asks(self, position: int) -> bool:
        """Return whether a person's message only asks: its sentences are questions."""
        said = self._turns.messages[position].said()
        found = (sentence.strip() for sentence in _SENTENCE.findall(said))
        return all(sentence.endswith(_ASKING) for sentence in found if sentence)

    @_made_once
    def spare(self, position: int) -> Form:
        """Return a message with its words and calls, and the end of each result."""
        return self._excerpt(position, self.shown(position))

    def excerpt(self, position: int, more: Chosen) -> Form:
        """Return the spare form of a message with more parts of its texts."""
        shown = self.shown(position)
        return self._excerpt(position, {at: [*{*shown[at], *more.get(at, ())}] for at in shown})

    @_made_once
    def shown(self, position: int) -> Chosen:
        """Return the texts that the spare form of a message shortens, by index, and the parts that it shows."""
        return {} if position == self._owed else dict(self._shortened(position))

    def _shortened(self, position: int) -> Iterator[tuple[int, Sequence[int]]]:
        message, count, tokens = self._turns.messages[position], self._turns.chat.text, self._turns.tokens
        marks = self._repeats.marks.get(position, {})
        printed, owners = self._turns.printed(position), results_of(message) if marks else {}
        for at, piece in enumerate(message.pieces):
            text = piece.text
            if piece.kind == "output":
                again = at in owners and owners[at] in marks
                if not again and len(text) > _SHORT_RESULT and count(text) > tokens(_SHORT_RESULT):
                    shown = (*self._asked(position, at), *self._ending(position, at), *self._heard(position, at))
                    yield at, [*dict.fromkeys(shown)]
            elif piece.kind == "call" and self.brief_call(piece, self._turns.tokens(_LONG_VALUE)):
                yield at, ()
            elif piece.kind == "text" and piece.at and (printed or message.role == "assistant") and at not in marks:
                size = count(text) if len(text) > _OWN_WORDS else 0
                if size > tokens(_OWN_WORDS):
                    parts = self.texts(position, at)
                    yield at, parts.ending() if printed else self._own_words(position, at, _OWN_WORDS)

    def _ending(self, position: int, at: int) -> list[int]:
        """Return the parts of a result that show how it ended, without what a program appended."""
        parts, text = self.texts(position, at), self._turns.messages[position].pieces[at].text
        end = body(text)
        if end == len(text) or not isinstance(parts, TextParts):
            return parts.ending()
        alone = TextParts(text[:end])
        return [parts.part_at(alone.starts[at]) for at in alone.ending()]

    def _asked(self, position: int, at: int) -> list[int]:
        """Return the part of a result with a name of the instruction, else the one with most words of it and the task.

        Names and words that the result has twice do not count, nor do words of its call, since a program may print
        the command again, nor a part of plain words.
        """
        known = self._answers.get((position, at))
        if known is None:
            turns, parts = self._turns, self.texts(position, at)
            members = (turns.messages[each] for each in turns.members(turns.turn_of(position)))
            called = {
                word for each in members for piece in each.pieces if piece.kind == "call" for word in terms(piece.text)
            }
            said = [place for place in (turns.task, turns.instruction) if place is not None]
            asked = frozenset[str]().union(*map(self._words_of, said))
            named = self._named(position, at)
            places = single_places(turns.messages[position].pieces[at].text, asked - called)
            found = Counter(part for part in map(parts.part_at, places) if has_value(parts.part(part)))
            best = max(found, key=lambda part: (found[part], -parts.size(part)), default=None)
            known = named or ([] if best is None or parts.size(best) > LONG_LINE else [best])
            self._answers[position, at] = known
        return known

    def _named(self, position: int, at: int) -> list[int]:
        """Return the shortest part of a result with a name of the instruction that occurs nowhere else in it."""
        turns, parts = self._turns, self.texts(position, at)
        names = () if turns.instruction is None else self._names_of(turns.instruction)
        found = {*map(parts.part_at, named_places(turns.messages[position].pieces[at].text, names))}
        return sorted(sorted(part for part in found if parts.size(part) <= _BRIEFLY), key=parts.size)[:1]

    @_made_once
    def _words_of(self, position: int) -> frozenset[str]:
        """Return the words of a person."""
        said = self._turns.messages[position].said()
        return frozenset(terms(without(said, enveloped(said))))

    @_made_once
    def _names_of(self, position: int) -> frozenset[str]:
        """Return the names in the words of a person."""
        said = self._turns.messages[position].said()
        return asked_names(without(said, enveloped(said)))

    def _own_words(self, position: int, at: int, most: int) -> list[int]:
        """Return the parts of an agent's text that fit `most` tokens, the most important first."""
        parts, left, found = self.texts(position, at), self._turns.tokens(most), list[int]()
        for part in by_importance(parts, quotes=bool(self._turns.messages[position].calls)):
            cost = 1 + int(parts.size(part) * self.density(position, at))
            if cost <= left or not found:
                found.append(part)
                left -= cost
        return found

    def _heard(self, position: int, at: int) -> list[int]:
        """Return the parts of a result that stay in every form: words of a person or of a subagent.

        A short result stays too if a program appended something to it.
        """
        message = self._turns.messages[position]
        owner, text = results_of(message).get(at), message.pieces[at].text
        if owner is not None and message.pieces[owner].id in self._turns.answers:
            return self._own_words(position, at, _ANSWER)
        spans, end = [(start, stop, voice == "agent") for start, stop, voice in heard(text)], body(text)
        if 0 < end < len(text) and self._turns.chat.text(text[:end]) <= self._turns.tokens(_SHORT_RESULT):
            spans.append((0, end, False))
        if not spans:
            return []
        parts, most = self.texts(position, at), int(_ANSWER / self.density(position, at))
        spans = [(start, min(stop, start + most) if limited else stop, limited) for start, stop, limited in spans]
        return [
            *{part for start, stop, _ in spans for part in range(parts.part_at(start), parts.part_at(stop - 1) + 1)}
        ]

    @_made_once
    def names(self, position: int) -> frozenset[str]:
        """Return the names that the spare form of a message shows."""
        turns, raw = self._turns, self.spare(position).raw
        pieces = turns.wire.read(raw, turns.indexes[position]).pieces
        return frozenset(name for piece in pieces if piece.kind in _CUTTABLE for name, _ in names_in(piece.text))

    def _excerpt(self, position: int, chosen: Chosen) -> Form:
        if position == self._owed:
            return self.whole(position)  # The provider may ask for its thinking and compare the content.
        turns = self._turns
        message, marks = turns.messages[position], self._repeats.marks.get(position, {})
        edits: list[tuple[Any, str]] = []
        inner = results_of(message)
        contents: dict[int, list[int]] = {at: [] for at, piece in enumerate(message.pieces) if piece.kind == "result"}
        for at, result in inner.items():
            contents[result].append(at)
        opaque = [piece for piece in message.pieces if piece.kind == "opaque" and not _is_pinned(piece)]
        for at, piece in enumerate(message.pieces):
            if piece.kind == "result":
                edits += self._result(position, at, contents[at], chosen, marks.get(at, ""))
            elif at in chosen and piece.kind != "call" and at not in inner:
                edits.append((piece, self.texts(position, at).show(chosen[at])))
            elif at in marks and piece.kind == "text":
                edits.append((piece, marks[at]))
            elif piece.kind == "call" and not chosen.get(at, (0,)):
                edits.append((piece, self.brief_call(piece, self._turns.tokens(_LONG_VALUE)) or piece.text))
            elif piece.kind == "thinking" and turns.wire.told:
                edits.append((piece, _THOUGHT))
            elif (piece.kind in MEDIA or piece in opaque) and at not in inner:
                edits.append((piece, mark(1, "image" if piece.kind == "image" else "part")))
        made = self._edited(position, edits)
        return made if turns.wire.told or turns.wire.batches else self.without_thinking(position, made)

    def _result(
        self, position: int, at: int, members: Sequence[int], chosen: Chosen, again: str
    ) -> Iterator[tuple[Any, str]]:
        """Yield the edits of a result: of each text, or of the whole if it has images or other parts."""
        message = self._turns.messages[position]
        inner = [(i, message.pieces[i]) for i in members]
        texts = [(i, piece) for i, piece in inner if piece.kind == "output"]
        if again:
            yield [message.pieces[at], *(piece for _, piece in inner)], again
            return
        shown = [(piece, self.texts(position, i).show(chosen[i]) if i in chosen else piece.text) for i, piece in texts]
        others = Counter(piece.kind for _, piece in inner if piece.kind not in ("output", "remainder"))
        if not others:
            yield from shown
        elif message.pieces[at].at:
            missing = [mark(number, kind if kind in MEDIA else "part") for kind, number in others.items()]
            text = "\n".join([*(text for _, text in shown), *missing])
            yield [message.pieces[at], *(piece for _, piece in inner)], text

    def _edited(self, position: int, edits: Sequence[tuple[Any, str]]) -> Form:
        """Return a message with texts in place of pieces or of whole results, where that is shorter."""
        turns, whole = self._turns, self.whole(position)
        wire, chat, units, values = turns.wire, turns.chat, whole.units, dict[Path, Any]()
        for old, text in edits:
            if isinstance(old, list):
                result, *inner = old
                place, value, before = result.at, wire.result(text), sum([chat.piece(piece) for piece in inner])
            elif old.kind in (*MEDIA, "opaque"):
                place, value, before = old.whole, wire.omitted(old, text), chat.piece(old)
                if not place or not isinstance(place[-1], int):
                    continue
            else:
                place, value, before = old.at, wire.value(old, text), chat.text(old.text)
            after = chat.text(text)
            if place and after < before:
                values[place] = value
                if isinstance(old, list):  # In some formats, the media of a result are not part of its text.
                    others = [each.whole for each in inner if each.kind in (*MEDIA, "opaque")]
                    values |= {each: REMOVED for each in others if each[: len(place)] != place}
                units += after - before
        if not values:
            return whole
        raw = changed(whole.raw, values)
        made = self.counted(position, raw) if wire.objects else Form(raw, units)  # An object differs from its text.
        return made if made.units < whole.units else whole

    def brief_call(self, piece: Piece, longest: int) -> str | None:
        """Return the arguments of a call with marks for its long values; `None` if there are none."""
        count = self._turns.chat.text
        if len(piece.text) <= longest or not piece.at or count(piece.text) <= longest:
            return None
        if not self.takes_object(piece):
            return str(value_mark(piece.text))
        text = brief_arguments(piece.text, lambda value: count(value) > longest)
        return json_of(json.loads(text), "input") if text is not None and self._turns.wire.objects else text

    def without(self, position: int, message: Message, pieces: Collection[Piece]) -> Form:
        """Return a message without some of its pieces."""
        return self.counted(position, self._turns.wire.without(message, pieces))

    def counted(self, position: int, raw: Any) -> Form:
        """Return a changed message with its tokens."""
        turns = self._turns
        return GONE if raw is None else Form(raw, turns.chat.units(turns.wire.read(raw, turns.indexes[position])))

    def without_media(self, position: int) -> Form:
        """Return a message with marks in place of its images, recordings and documents, where possible."""
        wire, raw = self._turns.wire, self._turns.raws[position]
        media = [piece for piece in self._turns.messages[position].pieces if piece.kind in MEDIA]
        parts = [piece for piece in media if piece.whole and isinstance(piece.whole[-1], int)]
        values = {piece.whole: wire.omitted(piece, mark(1, piece.kind)) for piece in parts}
        return self.counted(position, changed(raw, values)) if values else self.whole(position)

    def without_thinking(self, position: int, form: Form) -> Form:
        """Return a form without its thinking, unless it is the thinking before the last call.

        A message of only thinking becomes a mark where user and model must take turns.
        """
        if form.raw is None or not self._turns.messages[position].any("thinking") or position == self.owed:
            return form
        wire, index = self._turns.wire, self._turns.indexes[position]
        message = wire.read(form.raw, index)
        thoughts = [piece for piece in message.pieces if piece.kind == "thinking"]
        if not thoughts:
            return form
        made = self.without(position, message, thoughts)
        if made is GONE and wire.pairs:
            made = self.without(position, wire.read(wire.append(form.raw, _ELLIPSIS), index), thoughts)
        return made

    @property
    def owed(self) -> int | None:
        """The position of the model's last message with calls, if it has thinking that the provider may ask for."""
        turns = self._turns
        if not asks_for_thinking(turns.model):
            return None
        unanswered = {at for callers in turns.seams.open.values() for at in callers}
        places = (at for at in range(len(turns) - 1, -1, -1) if at not in unanswered)
        last = next((at for at in places if turns.messages[at].role == "assistant"), None)
        return (
            last if last is not None and turns.messages[last].calls and turns.messages[last].any("thinking") else None
        )

    def dangling(self) -> tuple[dict[int, Form], list[Repair]]:
        """Return messages without calls that have no result yet and without idle reasoning, and what was repaired."""
        turns, calls = self._turns, dict[int, list[str]]()
        for call, callers in turns.seams.open.items():
            for at in callers:
                calls.setdefault(at, []).append(call)
        found = {at: self._without_calls(at, calls[at]) for at in calls}
        reasons = {at: f"there is no result for the call {', '.join(map(repr, calls[at]))}" for at in calls}
        for at in turns.idle({at for at, form in found.items() if form is GONE}):
            found[at], reasons[at] = GONE, "no output follows the reasoning"
        repairs = []
        for at in sorted(found):
            action = "dropped" if found[at].raw is None else "changed"
            units = turns.units[at] - found[at].units
            repairs.append(Repair(turns.indexes[at], action, reasons[at], units, turns.raws[at]))
        return found, repairs

    def _without_calls(self, position: int, calls: Sequence[str]) -> Form:
        message = self._turns.messages[position]
        left, gone = Counter(calls), []
        for piece in reversed(message.pieces):
            if piece.kind == "call" and left[piece.id]:
                left[piece.id] -= 1
                gone.append(piece)
        return self.without(position, message, gone)

    @property
    def floor(self) -> int:
        """The least tokens of a cut text: a few, and the shortest mark."""
        return 3 + self.mark

    @property
    def legible(self) -> int:
        """The least tokens of a cut text that still says something."""
        return _LEGIBLE * self.floor

    @property
    def mark(self) -> int:
        """Tokens of the shortest mark."""
        return self._turns.chat.text(_ELLIPSIS)

    def shortened(self, forms: Mapping[int, Form], room: int, floor: int) -> dict[int, Form]:
        """Return some messages with their longest texts cut to a common length, so that all count at most `room`.

        Raises:
            DoesNotFit: even with each text cut to the floor they count more.
        """
        texts = [text for position, form in forms.items() for text in self._texts(position, form)]
        left = room - sum(form.units for form in forms.values()) + sum(size for size, _, _ in texts)
        level = level_of([size for size, _, _ in texts], left)
        empties = level < max(floor, self._nothing)
        if empties:
            spoken = [size for size, _, piece in texts if not self.takes_object(piece)]
            left -= sum(min(size, self._nothing) for size, _, piece in texts if self.takes_object(piece))
            level = level_of(spoken, left)
            if left < 0 or (level < floor and any(size > level for size in spoken)):
                raise DoesNotFit(
                    f"{len(forms)} messages cannot be cut to {room:,} {self._turns.meter.unit}",
                    needed=room - left + sum(min(size, floor) for size in spoken),
                    available=room,
                )
        edits: dict[int, dict[Path, Any]] = {}
        units = {position: form.units for position, form in forms.items()}
        for size, position, piece in texts:
            empty = empties and self.takes_object(piece)
            if size > (self._nothing if empty else level):
                text = "{}" if empty else self._cut(piece, level)
                edits.setdefault(position, {})[piece.at] = self._turns.wire.value(piece, text)
                units[position] += self._turns.chat.text(text) - size
        raws, objects = {at: changed(forms[at].raw, edits[at]) for at in edits}, self._turns.wire.objects
        made = {at: self.counted(at, raw) if objects else Form(raw, units[at]) for at, raw in raws.items()}
        return {**forms, **made}

    @property
    def _nothing(self) -> int:
        """Tokens of empty arguments."""
        return self._turns.chat.text("{}")

    def takes_object(self, piece: Piece) -> bool:
        """Return whether a piece is the arguments of a function, which must be an object; a custom tool takes text."""
        return piece.kind == "call" and (piece.at[-1] != "input" or self._turns.wire.objects)

    def _texts(self, position: int, form: Form) -> list[tuple[int, int, Piece]]:
        """Return the texts of a message that can be cut, each with its tokens and its position."""
        turns = self._turns
        if form.raw is None:
            return []
        whole = form.raw is turns.raws[position]
        message = turns.messages[position] if whole else turns.wire.read(form.raw, turns.indexes[position])
        pieces = [piece for piece in message.pieces if piece.kind in _CUTTABLE and piece.text and piece.at]
        return [(turns.chat.piece(Piece("text", piece.text, ())), position, piece) for piece in pieces]

    def _cut(self, piece: Piece, limit: int) -> str:
        """Return a text cut to a limit by its structure; long values of a call are replaced by marks."""
        meter = self._turns.meter
        if self.takes_object(piece):
            longest = limit
            while longest > 0:
                text = self.brief_call(piece, longest)
                if text is not None and meter.load(text) <= limit:
                    return text
                longest //= 2
            return "{}"
        text, spans = piece.text, heard(piece.text)
        said = "\n".join(text[start:stop] for start, stop, _ in spans)
        if said and meter.load(said) < limit - _SHAPED:
            return f"{self._shape(without(text, spans), limit - meter.load(said) - 1)}\n{said}"
        return self._shape(text, limit)

    def _shape(self, text: str, limit: int) -> str:
        meter = self._turns.meter
        for keep in (truncator("shape"), truncator("head", _ELLIPSIS))[limit < _SHAPED :]:
            with suppress(DoesNotFit):
                return shrink(text, limit, meter, self._cutter(text, keep), meter.load).text
        return _ELLIPSIS

    def _cutter(self, text: str, keep: Truncator) -> Callable[[int], str]:
        return lambda room: keep.truncate(text, room, self._turns.meter).text


def _is_pinned(piece: Piece) -> bool:
    """Return whether an unknown part must stay: a call to the provider's own tools, or a change of these."""
    return _PROVIDERS.search(piece.text) is not None


_PROVIDERS = re.compile(r'"type":"(?:server_tool_use|tool_addition|tool_removal|\w{1,40}_tool_result)"')


def level_of(sizes: Sequence[int], room: int) -> int:
    """Return the largest common size to which all can be cut so that they fit together."""
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return max(0, left // count)
        left -= size
        count -= 1
    return max(sizes, default=0)
