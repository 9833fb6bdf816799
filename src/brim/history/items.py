"""The items of a message: what of it can be left out, and the tokens that each takes.

What is no item is the skeleton of a message: its role, its calls with short values, and whatever a provider needs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from brim.history.envelopes import body, heard
from brim.history.names import asked_names, has_value, named_places, single_places
from brim.history.rendering import SHORTEST, Rendering, brief_arguments
from brim.history.turns import Turns
from brim.meter.words import terms
from brim.truncate.parts import LONG_LINE, TextParts
from brim.wire.message import MEDIA, Message, Piece, results_of

_CHARS, _GRAINS = 4, 16
"""Characters of a token, roughly; no line or sentence is longer than a sixteenth of the room, or it is divided."""
MARK = 6
"""Tokens of a mark such as `[12 lines omitted]`."""
_SHORT_RESULT = 14
"""Tokens up to which a result belongs to the skeleton of its turn: a mark and a line would take as many."""
_LONG_VALUE = 300
"""Tokens above which a value of an older call may be left out: a file or a patch, not a command."""
_ASKED = 20_000
"""Characters of the task and of the instruction whose words are looked for in results; what is longer was pasted."""
_PROVIDERS = re.compile(r'"type":"(?:server_tool_use|tool_addition|tool_removal|\w{1,40}_tool_result)"')
"""Blocks that belong to the provider's own tools: it checks that they are complete."""

_SENTENCE = re.compile(r"[^.!?。！？؟\n]*(?:[.!?。！？؟]+|\n|$)")
_ASKING = ("?", "？", "؟")
"""The ends of a question."""


class Item(NamedTuple):
    """A piece of a message that can be left out, in part if it is a text."""

    at: int
    """The index of the piece."""
    kind: str
    """`said` by a person, or only a `question`; the agent's `own` words; a `value` of a call, or a `call` with short
    values; a result's `output`; a `thought`; a program's `reminder`; a `unit`: an attachment, an unknown block or
    field."""
    size: int
    """Tokens of all of it."""
    mark: int
    """Tokens of its mark, roughly."""
    bare: int
    """Tokens of its shortest mark."""


class MessageLayout(NamedTuple):
    """The items of a message, and its skeleton."""

    blocks: tuple[Item, ...]
    skeleton: dict[str, int]
    """Tokens of the texts in the skeleton of an older turn, by kind."""


class Items:
    """The items of the messages of a history; each message is examined once."""

    def __init__(self, turns: Turns, rendering: Rendering) -> None:
        self._turns, self._rendering = turns, rendering
        self._order = turns.order
        self._layouts: dict[int, MessageLayout] = {}
        self._telling: dict[tuple[int, int], dict[int, str]] = {}
        self._asked: dict[tuple[int, int], list[int]] = {}
        self._said: tuple[int | None, int | None] = None, None
        """The messages that ask for something: the task and the instruction."""
        self._words: set[str] = set()
        """The words of both."""
        self._names: frozenset[str] = frozenset()
        """The names in the instruction."""
        self._owed: int | None = None

    def keep_up(self, room: int) -> None:
        """Discard what newer messages have changed, or another room for the turns."""
        turns, owed = self._turns, self._rendering.owed
        chars = room if turns.tokens(1) > 1 else _CHARS * room
        if self._rendering.divide(chars * 3 // _GRAINS):
            self._telling, self._asked = {}, {}
        self._rendering.repeats.keep_up()
        if self._order != turns.order:
            self._order, self._layouts, self._telling = turns.order, {}, {}
        for at in {owed, self._owed} - {None} if owed != self._owed else ():
            self._layouts.pop(at or 0, None)
        if (turns.task, turns.instruction) != self._said or not self._asked:
            said = [turns.messages[place].said() for place in (turns.task, turns.instruction) if place is not None]
            self._asked, self._said = {}, (turns.task, turns.instruction)
            self._words = {word for each in said for word in terms(each[:_ASKED])}
            self._names = asked_names(turns.question)
        self._owed = owed

    def layout(self, position: int) -> MessageLayout:
        """Return the items of a message."""
        known = self._layouts.get(position)
        if known is None:
            known = self._layouts[position] = self._laid_out(position)
        return known

    def _laid_out(self, position: int) -> MessageLayout:
        turns, blocks, skeleton = self._turns, list[Item](), dict[str, int]()
        message, count, mark = turns.messages[position], turns.chat.text, turns.tokens(MARK)
        for at, piece in enumerate(message.pieces):
            kind = _kind(message, piece, printed=turns.printed(position))
            if kind == "output" and piece.kind == "output" and self._is_answer(message, at):
                kind = "said"
            if kind == "thought" and not (turns.wire.told or self._can_go(message, piece)):
                continue
            if not kind:
                continue
            size = turns.chat.piece(piece) if kind in ("unit", "thought") else count(piece.text)
            if kind == "call":
                blocks.append(self._call(at, piece, size))
                skeleton["call"] = skeleton.get("call", 0) + blocks[-1].mark
                continue
            alone = kind in ("reminder", "thought") or (kind == "unit" and isinstance(piece.whole[-1], str))
            less = 0 if alone else min(mark, size)
            if position == self._owed or size <= less + (turns.tokens(_SHORT_RESULT) - mark) * (kind == "output"):
                skeleton[kind] = skeleton.get(kind, 0) + size
                less = size
            bare = count(SHORTEST) if less or kind == "reminder" else 0
            blocks.append(Item(at, kind, size, less, min(size, bare)))
        if position == self._owed:  # The provider asks for its thinking; what stands beside it is whole, or a mark.
            blocks = [block._replace(mark=block.size) for block in blocks if block.kind != "thought"]
        return MessageLayout(tuple(block for block in blocks if block.size > block.bare), skeleton)

    def _is_answer(self, message: Message, at: int) -> bool:
        """Return whether a result is the answer of a subagent, which counts as a person's words."""
        answers = self._turns.answers
        return not answers.isdisjoint(message.results) and message.pieces[results_of(message)[at]].id in answers

    def _can_go(self, message: Message, thought: Piece) -> bool:
        """Return whether thinking can be left out: nothing depends on it, and the message says something else."""
        others = (piece for piece in message.pieces if piece.kind not in ("thinking", "remainder"))
        return bool(thought.whole) and not self._turns.wire.batches and any(others)

    def _call(self, at: int, piece: Piece, size: int) -> Item:
        """Return the arguments of a call, of which long values can be left out."""
        turns, takes_object = self._turns, self._rendering.takes_object(piece)
        least = turns.chat.text("{}" if takes_object else SHORTEST)
        less = size
        if size > turns.tokens(_LONG_VALUE):
            less = turns.chat.text(brief_arguments(piece.text)) if takes_object else turns.tokens(MARK)
        return Item(at, "value" if less < size else "call", size, min(less, size), min(least, size))

    def telling(self, position: int, at: int) -> dict[int, str]:
        """Return the parts of a result that tell more than others, each with the reason.

        `heard` are the words of a person or of a subagent in it, `fails` a report of a failure, `end` how it ended,
        `asked` a line with words of the task or the instruction.
        """
        known = self._telling.get((position, at))
        if known is None:
            known = self._telling[position, at] = self._told(position, at)
        asked = self._asked.get((position, at))
        if asked is None:
            asked = self._asked[position, at] = self._answering(position, at)
        more = {part: "asked" for part in asked if known.get(part) != "heard"}
        return {**known, **more} if more else known

    def _told(self, position: int, at: int) -> dict[int, str]:
        parts, text = self._rendering.parts(position, at), self._turns.messages[position].pieces[at].text
        found = dict.fromkeys(self._ending(text, parts), "end")
        found |= dict.fromkeys(parts.failures(), "fails") if len(parts) > 1 else {}
        spans, end = [(start, stop) for start, stop, _ in heard(text)], body(text)
        if 0 < end < len(text) and self._turns.chat.text(text[:end]) <= self._turns.tokens(_SHORT_RESULT):
            spans.append((0, end))  # A short result to which a program has appended something.
        for start, stop in spans:
            found |= dict.fromkeys(range(parts.part_at(start), parts.part_at(max(start, stop - 1)) + 1), "heard")
        return found

    def _ending(self, text: str, parts: object) -> list[int]:
        """Return the parts of a result that show how it ended, without what a program appended."""
        end = body(text)
        if end == len(text) or not isinstance(parts, TextParts):
            return parts.ending()  # type: ignore[attr-defined, no-any-return]
        alone = TextParts(text[:end])
        return [parts.part_at(alone.starts[at]) for at in alone.ending()]

    def _answering(self, position: int, at: int) -> list[int]:
        """Return the part of a result with a name of the instruction, else the one with most words of it and the task.

        Words that the result has twice do not count, nor do words of its call, which a program may print again.
        """
        turns, parts = self._turns, self._rendering.parts(position, at)
        text = turns.messages[position].pieces[at].text
        found = {*map(parts.part_at, named_places(text, self._names))}
        if named := sorted((part for part in found if parts.size(part) <= LONG_LINE), key=parts.size)[:1]:
            return named
        members = (turns.messages[each] for each in turns.members(turns.turn_of(position)))
        calls = (piece.text for each in members for piece in each.pieces if piece.kind == "call")
        called = {word for each in calls for word in terms(each)}
        score: dict[int, int] = {}
        for place in single_places(text, self._words - called):
            part = parts.part_at(place)
            score[part] = score.get(part, 0) + 1
        valued = (part for part in score if has_value(parts.part(part)))
        best = max(valued, key=lambda part: (score[part], -parts.size(part)), default=None)
        return [] if best is None or parts.size(best) > LONG_LINE else [best]


def _only_asks(text: str) -> bool:
    """Return whether all sentences of a text are questions; of a text that was pasted, they are not."""
    if len(text) > _ASKED:
        return False
    found = (sentence.strip() for sentence in _SENTENCE.findall(text))
    return all(sentence.endswith(_ASKING) for sentence in found if sentence)


def _kind(message: Message, piece: Piece, *, printed: bool) -> str:
    """Return the kind of item that a piece is; empty if it belongs to the skeleton."""
    kind = piece.kind
    if kind == "text" and piece.text and piece.at:
        if message.role == "user":
            return "output" if printed else "question" if _only_asks(piece.text) else "said"
        if message.role == "assistant":
            return "own"
        return "said" if heard(piece.text) else "reminder"
    if kind == "output" and piece.text and piece.at:
        return "output"
    if kind == "call" and piece.text and piece.at:
        return "call"
    if kind == "thinking":
        return "thought"
    if kind in MEDIA or (kind == "opaque" and _PROVIDERS.search(piece.text) is None):
        return "unit" if piece.whole else ""
    if kind == "remainder" and piece.at and isinstance(piece.at[-1], str):
        return "unit"
    return ""
