"""The messages of a history, each read and counted once, and its turns.

A turn is an indivisible run of messages: it begins where every rule allows a cut. Messages are only appended, so a new
message costs the price of that message. Parallel lists, one entry per message or per turn, keep a fit over a long
history cheap.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue
from brim.files.text_digest import text_digest
from brim.history.envelopes import SUBAGENTS, heard
from brim.history.note import is_note, is_spoken, note_in
from brim.history.options import Pin
from brim.history.rules import Seams
from brim.meter.base import BaseMeter
from brim.wire import Format, Wire, format_of, plain, wire
from brim.wire.base import loaded_tools, still_read
from brim.wire.message import Message, Piece


def fingerprint_after(before: str, message: Message) -> str:
    """Return the fingerprint of messages that end with this one; `before` is the fingerprint of the earlier ones.

    It covers only what they say: cache marks do not change it, nor does writing a text as a block.
    """
    pieces = "\x1f".join([f"{p.kind}\x1e{p.id}\x1e{p.name}\x1e{p.text}" for p in message.pieces])
    return text_digest(f"{before}\x1d{message.role}\x1d{pieces}")


@dataclass(frozen=True, slots=True)
class Repair:
    """An invalid message, and how it was repaired."""

    index: int
    """The index of the caller's message."""
    action: str
    """`dropped`, `changed` or `moved`."""
    reason: str
    units: int
    """Tokens that were dropped."""
    raw: Any
    """The caller's message."""


BLANK = "its text is blank"
"""Why a text was left out that no provider of its format reads."""
_CITED = '"citations":{"enabled":true}'
"""What a document has that may be cited."""
_CHARS = 4
"""Characters of a token, roughly."""
_PINNED = 2
"""Messages with a pinned text may take half of the tokens."""
_FENCE = "```"
"""The end of a block of code."""
_OUTPUT = re.compile(
    r"\s*(?:<\w|\[|\$ |(?:observation|output|(?:execution )?results?|exit code|traceback)\b)", re.IGNORECASE
)
"""How program output begins that is sent as a user message."""
_PRINTED_LINES = 3
"""A user message with at least this many line breaks counts as output, however it begins."""


Span = tuple[int, int]
"""A range of turns."""


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return sorted ranges with those that touch or overlap merged, without empty ones."""
    found: list[Span] = []
    for start, stop in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        elif start < stop:
            found.append((start, stop))
    return found


def differing(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """Return what is in only one of two sets of ranges that do not touch among themselves, as `joined` returns them."""
    edges = sorted({*chain.from_iterable(spans)} ^ {*chain.from_iterable(others)})
    return list(zip(edges[::2], edges[1::2], strict=True))


def ranges(turns: Iterable[int]) -> list[Span]:
    """Return sorted turns as ranges."""
    return joined((turn, turn + 1) for turn in turns)


def copied(value: Any) -> Any:
    """Return a copy of JSON values; other objects belong to a client library and are shared."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


_LEAVES = (str, int, float, bytes, type(None))


def fields_in(value: Any) -> Any:
    """Return a copy of the fields of a message, also of the objects of a client library in it."""
    if isinstance(value, _LEAVES):
        return value
    known = plain(value)
    if isinstance(known, Mapping):
        return {key: fields_in(each) for key, each in known.items()}
    return [fields_in(each) for each in known] if isinstance(known, list | tuple) else known


class Turns:
    """The messages of a history, their tokens and their turns."""

    def __init__(self, meter: BaseMeter, *, format: Format | None = None) -> None:
        self.meter = meter
        self.model = meter.model
        self.format = format
        self.source: list[Any] = []
        """The caller's messages; the list only grows."""
        self._fields: list[Any] = []
        """The fields of each as they were read, since the caller may change them."""
        self._objects: list[int] = []
        """The indexes of those with objects of a client library, which do not compare like their fields."""
        self.generation = 0
        """Changes whenever turns or positions change; until then they only grow."""
        self.order = 0
        """Changes whenever positions change."""
        # Messages that could be in any format are read in the format of the model.
        guess = "anthropic" if self.model is not None and "claude" in self.model else "openai"
        self._reset(wire(guess if format is None else format))

    def _reset(self, chosen: Wire) -> None:
        """Start over in a format."""
        self.generation, self.order = self.generation + 1, self.order + 1
        self.wire = chosen
        self.chat = self.meter.counter(chosen.provider)
        self.seams = Seams(chosen)
        self.raws: list[Any] = []
        """The messages, as added or repaired."""
        self.messages: list[Message] = []
        self.units: list[int] = []
        self.indexes: list[int] = []
        """The index of each message among the caller's."""
        self.starts: list[int] = []
        """The position of each turn's first message."""
        self.weights: list[int] = []
        """Tokens of each turn, without system messages."""
        self.before: list[int] = []
        """Tokens of all turns before each."""
        self.total = 0
        """Tokens of all turns."""
        self._prints = [""]  # The fingerprint of the first messages, by their number, as far as it was asked for.
        self.fixed = 0
        """Tokens of the system messages."""
        self.system: list[int] = []
        """The positions of messages that always stay and are in no turn: the system messages before the first turn, and
        a provider's compaction that is a separate message."""
        self.compaction: int | None = None
        """The position of the message with the provider's newest compaction."""
        self.compacted = 0
        """How many messages before it are not read, since the provider ignores them."""
        self.loaded: frozenset[str] = frozenset()
        """The names of the deferred tools that messages have loaded."""
        self.task: int | None = None
        """The position of the first message by a person; until there is one, of the user's first message."""
        self.instruction: int | None = None
        """The position of the user's last message."""
        self.spoken: list[int] = []
        """The positions of messages by a person, or with the answer of a subagent."""
        self.answers: set[str] = set()
        """The ids of calls to subagents."""
        self.notes: set[int] = set()
        """The turns that consist of the note of an earlier fit."""
        self.noted: dict[int, int] = {}
        """Tokens of such notes inside other turns."""
        self.repairs: list[Repair] = []
        self.documents: list[int] = []
        """The positions of messages with documents that later messages may cite."""
        self.thinks = False
        """Whether a message has thinking that a provider may refuse after an edit."""
        self._reasoning: list[int] = []
        self._runs: list[int] = []
        """For each message, the first of the consecutive model messages that a provider combines with it."""

    def __len__(self) -> int:
        return len(self.raws)

    def snapshot(self) -> Turns:
        """Return a shallow copy: a snapshot, with the lengths of its lists, which are replaced or grow at the end."""
        copied = object.__new__(Turns)
        copied.__dict__.update(self.__dict__)  # Much faster than `copy.copy`, and each fit needs one.
        return copied

    def extend(self, raws: Sequence[Any]) -> None:
        """Add messages at the end: all of them, or none if one is invalid.

        Raises:
            InvalidValue: a message is invalid; the error names its index and the problem.
        """
        if isinstance(raws, str | bytes | dict) or not isinstance(raws, Sequence):
            raise InvalidType("messages", raws, "a list of messages")
        format, chosen, source, had = self.format, self.wire, self.source, len(self.source)
        try:
            if format is None and (recognised := format_of(raws)) is not None:
                self.format = recognised
                if recognised != chosen.name:
                    self._reread(wire(recognised), source)
            self._read(raws)
        except Exception:  # Whatever is wrong with one message, none of them is added.
            self.format = format
            self._reread(chosen, source[:had])
            raise

    def _read(self, raws: Sequence[Any]) -> None:
        first, read, add = len(self.source), self.wire.read, self._add
        messages = [read(raw, i) for i, raw in enumerate(raws, first)]
        if first and any(message.any("compaction") for message in messages):
            self._reread(self.wire, [*self.source, *raws])  # Messages before it are not read any more.
            return
        self.seams.start_batch()
        self._owns = False
        """Whether the lists of turns were copied for this batch and may be changed."""
        shown = still_read(messages, self.wire)
        self.compacted += len(messages) - len(shown)
        for i in shown:
            add(messages[i], first + i)
        if order := self.seams.order(len(self.raws)):
            self._move(order)
        fields = [fields_in(raw) for raw in raws]
        self._objects += [first + i for i, values in enumerate(fields) if values != raws[i]]
        self._fields += fields
        self.source.extend(raws)

    def refresh(self, kept: Sequence[Span] | None = None) -> bool:
        """Read the messages again if the caller changed one of them, and return whether that is so.

        `kept` limits the check to ranges of positions, besides the system messages.
        """
        indexes = self.indexes
        kept = [(0, len(indexes))] if kept is None else [*kept, (0, self.starts[0] if self.starts else len(indexes))]
        present: list[Any] = []
        before: list[Any] = []
        for first, last in kept:
            if found := indexes[first:last]:
                start, stop = min(found), max(found) + 1
                present += self._present(start, stop) if self._objects else self.source[start:stop]
                before += self._fields[start:stop]
        if present == before:
            return False
        self._reread(self.wire, self.source)
        return True

    def _present(self, start: int, stop: int) -> list[Any]:
        """Return a range of the caller's messages, those with objects as their present fields."""
        messages, objects = self.source[start:stop], self._objects
        for index in objects[bisect_left(objects, start) : bisect_left(objects, stop)]:
            messages[index - start] = fields_in(messages[index - start])
        return messages

    def _reread(self, chosen: Wire, raws: list[Any]) -> None:
        """Read messages again, perhaps in another format."""
        self.source, self._fields, self._objects = [], [], []
        self._reset(chosen)
        self._read(raws)

    @property
    def leading(self) -> int:
        """How many system messages there are at the start."""
        return sum(place == at != self.compaction for place, at in enumerate(self.system))

    def tokens(self, number: int) -> int:
        """Return a number of tokens in units of the meter, roughly."""
        return number * _CHARS if self.meter.unit in ("chars", "bytes") else number

    def turn_of(self, position: int) -> int:
        """Return the turn that a message belongs to."""
        return bisect_right(self.starts, position) - 1

    def at(self, *positions: int | None) -> set[int]:
        """Return the turns of the messages at some positions; some messages are in no turn."""
        fixed = set(self.system)
        return {self.turn_of(at) for at in positions if at is not None and at not in fixed}

    def skipped(self, position: int) -> int:
        """Return how many of the caller's messages before a position are not read because of a compaction."""
        return self.compacted if position >= self.leading else 0

    def pinned(self, pin: Pin, room: int) -> set[int]:
        """Return the turns of pinned messages.

        Messages with a pinned text are pinned within half of the tokens, the newest first.

        Raises:
            InvalidValue: an index is invalid.
        """
        if pin is None:
            return set()
        fixed = set(self.system)
        if callable(pin):
            return {self.turn_of(at) for at, raw in enumerate(self.raws) if at not in fixed and pin(raw)}
        wanted = {units("pin: an index", index) for index in pin if not isinstance(index, str)}
        if wanted and max(wanted) >= len(self.source):
            raise InvalidValue("pin: an index", max(wanted), f"below {len(self.source)}, the number of messages")
        chosen = {self.turn_of(at) for at, index in enumerate(self.indexes) if index in wanted and at not in fixed}
        left = room // _PINNED
        for turn in sorted(self.at(*self._positions_with(pin)) - chosen - self.notes, reverse=True):
            if self.weights[turn] <= left:
                left -= self.weights[turn]
                chosen.add(turn)
        return chosen

    def _positions_with(self, pin: Collection[int | str]) -> list[int]:
        """Return the positions of messages that contain one of the texts in `pin`."""
        texts = [each.casefold() for each in pin if isinstance(each, str)]
        said = ((at, message.text().casefold()) for at, message in enumerate(self.messages)) if texts else ()
        return [at for at, text in said if any(each in text for each in texts)]

    @property
    def question(self) -> str:
        """The words of the last message by a person; empty without one."""
        return "" if self.instruction is None else self.messages[self.instruction].said()

    def printed(self, position: int) -> bool:
        """Return whether a user message is the output of a command, for agents without tool calls.

        The model's message before it ends with a block of code, and it looks like program output: a person comments on
        code in a line or two.
        """
        message = self.messages[position]
        before = self.messages[position - 1] if position else message
        if message.role != "user" or message.results or before.role != "assistant" or before.calls:
            return False
        last = before.last
        if last is None or last.kind != "text" or not last.text.rstrip().endswith(_FENCE):
            return False
        said = message.said()
        return _OUTPUT.match(said) is not None or said.count("\n") >= _PRINTED_LINES

    def idle(self, gone: Collection[int]) -> list[int]:
        """Return the positions of reasoning without a following output of the model; `gone` are dropped positions."""
        if not self.wire.batches:
            return []
        found: list[int] = []
        reasoning, gone = set(self._reasoning), set(gone)
        speaks = False  # Whether the next kept message is the model's.
        for at in range(len(self.messages) - 1, min(reasoning, default=len(self.messages)) - 1, -1):
            if at in reasoning and not speaks:
                found.append(at)
            elif at not in gone:
                speaks = self.messages[at].role == "assistant"
        return found

    @property
    def unfinished(self) -> bool:
        """Whether there may be a call without a result, or reasoning without an output."""
        return bool(self.seams.open) or bool(self._reasoning)

    def fingerprint(self, length: int) -> str:
        """Return a fingerprint of the first messages, without a system prompt, which may contain the time."""
        prints, leading = self._prints, self.leading
        for at in range(len(prints) - 1, length):
            prints.append("" if at < leading else fingerprint_after(prints[at], self.messages[at]))
        return prints[length]

    def span(self, turn: int) -> tuple[int, int]:
        """Return the range of positions of a turn."""
        starts = self.starts
        return starts[turn], starts[turn + 1] if turn + 1 < len(starts) else len(self.raws)

    def members(self, first: int, last: int | None = None) -> Sequence[int]:
        """Return the positions of the messages of a turn, or of several up to `last`, without system messages."""
        start, stop = self.starts[first], self.span(first if last is None else last - 1)[1]
        if not self.system or self.system[-1] < start:
            return range(start, stop)
        fixed = set(self.system[bisect_right(self.system, start - 1) :])
        return [position for position in range(start, stop) if position not in fixed]

    def _add(self, message: Message, index: int) -> None:
        role = message.role
        if (
            not message.pieces and role != "system" and "role" in plain(message.raw)
        ):  # Items without a role may be empty.
            self._fault(message, index, "it has no content", None)
            return
        repaired = self._repaired(message, index)
        if repaired is None:
            return
        message = repaired
        if self.wire.pairs and not self.starts and role == "assistant" and not message.any("compaction"):
            self._fault(message, index, "the first message must be the user's", None)
            return
        at, units = len(self.raws), self.chat.units(message)
        self.raws.append(message.raw)
        self.messages.append(message)
        self.units.append(units)
        self.indexes.append(index)
        goes_on = at > 0 and role == "assistant" == self.messages[at - 1].role and index == self.indexes[at - 1] + 1
        self._runs.append(self._runs[-1] if goes_on and self.wire.pairs else at)
        if message.any("compaction"):
            self.compaction = at
        if any(piece.kind == "opaque" and _CITED in piece.text for piece in message.pieces):
            self.documents.append(at)
        self.loaded |= loaded_tools(message)
        alone = self.compaction == at and self.wire.batches
        if role == "system" and self.starts:  # A reminder in the middle belongs to the turn before it.
            self._place(at, units, at - 1)
            self._hear(message, at)
            return
        if role == "system" or alone:
            self.fixed += units
            self.system.append(at)
            return
        self._hear(message, at)
        if role == "assistant" and (self.wire.binds or self.wire.batches):
            self._notice(message, at)
        bond = self.seams.bond(message, at)
        if role == "user":
            self._find_note(message, bond)
        self._place(at, units, bond)
        if message.results:
            self._seat(at, bond)

    def _hear(self, message: Message, at: int) -> None:
        """Register a message by a person, typed or inside another text, or with the answer of a subagent."""
        if message.role == "assistant":
            self.answers |= {piece.id for piece in message.pieces if piece.kind == "call" and piece.name in SUBAGENTS}
            return
        first = self.task is None and not message.results and not self._is_old_note(message)
        if message.role == "user" and (first or is_spoken(message)) and not self.printed(at):
            self.instruction = at
            if self.task is None or (self.spoken == [self.task] and _is_program(self.messages[self.task])):
                self.task = at
            self.spoken.append(at)
            return
        said = (piece.text for piece in message.pieces if piece.kind in ("text", "output"))
        if not self.answers.isdisjoint(message.results) or any(map(heard, said)):
            self.spoken.append(at)

    def _notice(self, message: Message, at: int) -> None:
        """Register thinking that an edit may invalidate, and messages that are only reasoning."""
        if self.wire.binds and not self.thinks:
            self.thinks = message.any("thinking")
        if self.wire.batches and all(piece.kind in ("thinking", "remainder") for piece in message.pieces):
            self._reasoning.append(at)

    def _is_old_note(self, message: Message) -> bool:
        """Return whether a message is the note of an earlier fit, unless the format needs it as the first message."""
        return is_note(message) and (bool(self.starts) or not self.wire.pairs)

    def _find_note(self, message: Message, bond: int | None) -> None:
        """Register the note of an earlier fit."""
        units = note_in(message, self.chat.piece)
        if units and bond is None and self._is_old_note(message):
            self.notes.add(len(self.starts))
        elif units:
            turn = len(self.starts) - (bond is not None)
            self.noted[turn] = self.noted.get(turn, 0) + units

    def _place(self, at: int, units: int, bond: int | None) -> None:
        """Add a message to the turn that it is bound to, or start a turn with it."""
        if bond is None or not self.starts:
            self.before.append(self.total)
            self.starts.append(at)
            self.weights.append(0)
        elif self.starts[-1] > bond:
            self._merge(self.turn_of(bond))
        self.weights[-1] += units
        self.total += units

    def _merge(self, turn: int) -> None:
        """Merge a turn with all after it, in copies of the lists: a receipt may still be written from the old ones."""
        turn = max(0, turn)
        self.generation += 1
        if not self._owns:
            self.starts, self.weights = self.starts[:], self.weights[:]
            self.before = self.before[:]
            self._owns = True
        self.weights[turn] = sum(self.weights[turn:])
        for row in (self.starts, self.weights, self.before):
            del row[turn + 1 :]
        self.notes = {note for note in self.notes if note < turn}
        self.noted = {each: units for each, units in self.noted.items() if each < turn}

    def _seat(self, at: int, bond: int | None) -> None:
        """Note a result that must be moved next to its call."""
        if bond is None or not self.wire.adjacent or at - bond <= 1:
            return
        if self.seams.is_late(self.messages, self._runs, bond, at):
            raw = self.messages[at].raw
            self.repairs.append(Repair(self.indexes[at], "moved", "a result must follow its call", 0, raw))

    def _move(self, order: list[int]) -> None:
        """Reorder messages. A message only moves inside its turn."""
        self.generation += 1
        self.order += 1
        place = {at: seat for seat, at in enumerate(order)}
        self.raws = [self.raws[at] for at in order]
        self.messages = [self.messages[at] for at in order]
        self.units = [self.units[at] for at in order]
        self.indexes = [self.indexes[at] for at in order]
        self._runs = [place[self._runs[at]] for at in order]
        del self._prints[next(seat for seat, at in enumerate(order) if seat != at) + 1 :]
        self.seams.moved(place)
        if self.task is not None:
            self.task = place[self.task]
        if self.instruction is not None:
            self.instruction = place[self.instruction]
        self.spoken = sorted(place[at] for at in self.spoken)

    def _repaired(self, message: Message, index: int) -> Message | None:
        """Return the message without texts and results that its provider refuses, or `None` if nothing else is in it.

        Where no text may be blank, the provider refused one before too: leaving it out is no change of what it read.
        """
        texts = () if self.wire.blank else message.pieces
        blank = [piece for piece in texts if piece.kind == "text" and not piece.text.strip()]
        kept = self._without(message, blank, index, BLANK) if blank else message
        return self._without_orphans(kept, index) if kept is not None and kept.results else kept

    def _without_orphans(self, message: Message, index: int) -> Message | None:
        """Return the message without results that have no call, or `None` if nothing else is in it.

        A message with results for two turns of the model cannot follow both, so it loses the older results.
        """
        message = self.seams.named(message)
        if len(message.results) == 1 and message.results[0] in self.seams.open:
            return message
        callers = self.seams.callers(message)
        newest = max((at for at in callers.values() if at is not None), default=0)
        lost = {
            i
            for i, at in callers.items()
            if at is None or (self.wire.adjacent and self._runs[at] != self._runs[newest])
        }
        if not lost:
            return message
        gone = [message.pieces[i] for i in lost]
        ids = ", ".join(repr(piece.id) for piece in gone)
        left = self._without(message, gone, index, f"there is no call for the result {ids}")
        return None if left is None else self._without_orphans(left, index)

    def _without(self, message: Message, gone: Collection[Piece], index: int, reason: str) -> Message | None:
        """Return the message without some pieces, and record why; `None` if nothing else is in it."""
        raw = self.wire.without(message, gone)
        self._fault(message, index, reason, raw)
        return None if raw is None else self.wire.read(raw, index)

    def _fault(self, message: Message, index: int, reason: str, raw: Any | None) -> None:
        """Record a problem; `raw` is the message after the repair."""
        units = self.chat.units(message)
        left = 0 if raw is None else self.chat.units(self.wire.read(raw, index))
        self.repairs.append(Repair(index, "dropped" if raw is None else "changed", reason, units - left, message.raw))


class MessageIndex:
    """An index of the messages: each is read once, and all are read again if positions have changed."""

    _block: int | None = None
    """An index of the newest messages alone begins at a multiple of so many, and has at least so many."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._order, self._first, self._read = turns.order, 0, 0
        self._forget()

    def _forget(self) -> None:
        """Empty the index."""
        raise NotImplementedError

    def _add(self, position: int, message: Message) -> None:
        """Add a message to the index."""
        raise NotImplementedError

    def keep_up(self) -> None:
        """Read new messages."""
        turns, block = self._turns, self._block
        first = 0 if block is None else max(0, len(turns) // block - 1) * block
        if (self._order, self._first) != (turns.order, first):
            self._order, self._first, self._read = turns.order, first, first
            self._forget()
        for position in range(self._read, len(turns)):
            self._add(position, turns.messages[position])
        self._read = len(turns)


def _is_program(message: Message) -> bool:
    """Return whether only a program wrote a user message, such as the state of the workspace."""
    said = "".join(piece.text for piece in message.pieces if piece.kind == "text")
    return bool(said.strip()) and not is_spoken(message)
