"""Decide what of a history stays as it is and what a summary is to replace, then put the summary in its place.

Both halves are pure: between them the caller makes the summary, with a model or without, and nothing here waits for it.
System messages, the task, what is pinned and the newest turns stay. The rest is worth replacing only where that frees
enough: a compaction costs a call and moves the prefix that the provider has cached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from brim.amounts import units
from brim.errors import DoesNotFit, InvalidType, InvalidValue, NoProgress
from brim.history.compact import mark
from brim.history.compact.extract import condensed
from brim.history.compact.facts import Said
from brim.history.compact.result import Compacted
from brim.history.compact.secrets import redact
from brim.history.compact.summary_input import fitted
from brim.history.forms import GONE, Form, Forms
from brim.history.note import is_note
from brim.history.options import Pin
from brim.history.thinking import binds
from brim.history.turns import Turns
from brim.meter import Meter
from brim.meter import meter as metered
from brim.meter.base import BaseMeter
from brim.receipts.receipt import handle
from brim.truncate import truncator
from brim.wire import Format
from brim.wire.base import without

LEAST_FREED = Fraction(1, 20)
"""The part of the room that a compaction has to free at the least."""
LEAST_SUMMARY = 32
"""Units below which a summary says nothing."""
MOST_HANDLES = 256
"""Handles that are carried on, the newest; the index leads to the others."""
_GLANCE = 80
"""Characters of each message in the index."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CompactionPlan:
    """What a summary is to replace, and what stays."""

    said: tuple[Said, ...]
    """What the summary stands for, in order, each with its handle; without the last summary."""
    previous: str
    """The last summary, which the new one replaces; empty where there is none."""
    limit: int
    """The most units of the summary."""
    input_limit: int
    """The most units that a summariser is given to read."""
    before: int
    """Units of all messages now."""
    older: int
    """Units of what goes, the last summary with it."""
    kept: tuple[int, ...]
    """Which of the caller's messages stay, by index."""
    gone: tuple[int, ...]
    """Which go, by index; a message that is nothing but the last summary is among them."""
    reason: str
    """Why, with the numbers."""
    carried: Compacted | None = field(repr=False)
    """The last compaction."""
    replaced: int
    """Messages that the summary will stand for, those of the last summary among them."""
    index: str
    """The handle of the last index, or its start; empty where there is none."""
    turns: Turns = field(repr=False)
    generation: int = field(repr=False)

    @property
    def meter(self) -> BaseMeter:
        """What measures."""
        return self.turns.meter

    @property
    def text(self) -> str:
        """What a summariser is to read: the last summary and all that was said since, within `input_limit`."""
        return self.reading(self.input_limit)

    def reading(self, limit: int) -> str:
        """Return what is to be read in at most `limit` units: the longest texts are cut first, none is left out."""
        return fitted(self.said, self.previous, limit, self.meter)

    def summary(self) -> str:
        """Return a summary that is made without a model, with the last one in it; it is never empty."""
        text = condensed(self.said, self.limit, self.meter, self.previous)
        return text or self.meter.head(f"{len(self.said):,} messages in which nothing stands out.", self.limit)


def plan(
    messages: Sequence[Any] | Turns,
    *,
    meter: Meter | str | Callable[[str], int],
    room: int,
    keep_turns: int = 3,
    summary_share: float = 0.25,
    previous: Compacted | None = None,
    format: Format | None = None,
    pin: Pin = None,
    input_limit: int | None = None,
) -> CompactionPlan | None:
    """Return what a summary should replace so that the messages take less of the room, or `None` where it does not pay.

    It pays where what goes is bigger than a summary at its limit, with its mark, by at least a twentieth of the room.

    Args:
        messages: a history in any wire shape, or a turns that has read it (its own meter counts then).
        meter: what measures.
        room: units that there are for the messages.
        keep_turns: how many of the newest turns stay as they are. Fewer stay, but always the newest, where they leave
            no room for a summary.
        summary_share: the part of the room that the summary may take; it takes at most half of what it replaces.
        previous: the last compaction, whose summary is read along and replaced.
        shape: `openai`, `responses` or `anthropic`; without it, what the messages look like.
        pin: messages whose turns stay: a test of the caller's, or their indexes.
        input_limit: the most units that a summariser can read; without it, the room.

    Raises:
        InvalidValue: an argument or a message that cannot be.
    """
    units("room", room, least=1)
    units("keep_turns", keep_turns, least=1)
    if isinstance(summary_share, bool) or not isinstance(summary_share, int | float) or not 0 < summary_share <= 1:
        raise InvalidValue("summary_share", summary_share, "above 0 and at most 1")
    if input_limit is not None:
        units("input_limit", input_limit, least=1)
    if previous is not None and not isinstance(previous, Compacted):
        raise InvalidType("previous", previous, "the last Compacted")
    if isinstance(messages, Turns):
        turns = messages
    else:
        turns = Turns(metered(meter), format=format)
        turns.extend(messages)
    split = _Split(turns, _held(turns, pin), keep_turns)
    overhead = turns.chat.frame("user") + turns.chat.text(mark.headed("\n", 99_999, handle("")))
    split.loosen(room - overhead - LEAST_SUMMARY)
    limit = min(int(Fraction(str(summary_share)) * room), split.older // 2, max(LEAST_SUMMARY, room - split.stays))
    saved = split.older - limit - overhead
    if not split.gone or saved < 1 or saved < LEAST_FREED * room:
        return None
    return _made(split, previous, limit, input_limit or room, saved)


def apply(plan: CompactionPlan, summary: str) -> Compacted:
    """Return the history with a summary at the place of what it replaces; what came after the plan stays too.

    A summary beyond the plan's limit is cut to it, and secrets are taken out.

    Raises:
        NoProgress: the summary is empty, or not smaller than what it replaces.
        InvalidValue: it is no text, or the history has changed since the plan was made.
    """
    turns = plan.turns
    if not isinstance(summary, str):
        raise InvalidType("summary", summary, "a text")
    if turns.generation != plan.generation:
        raise InvalidValue("plan", plan.reason, "made again: turns of the history have changed since")
    text = _taken(plan, summary)
    known = plan.carried.handles if plan.carried is not None else ()
    handles = tuple(dict.fromkeys([*known, *(one.handle for one in plan.said)]))
    index = _index(plan)
    name = handle(index)
    messages, after = _placed(plan, mark.headed(text, plan.replaced, name))
    before = turns.fixed + turns.total
    if after >= before:
        raise NoProgress(
            f"the summary does not make the history smaller: {before:,} {turns.meter.unit} before, {after:,} after; "
            "summarise in fewer words, or keep fewer turns",
            before=before,
            after=after,
        )
    return Compacted(
        messages=messages,
        summary=text,
        handles=handles[-MOST_HANDLES:],
        texts={**{one.handle: one.text for one in plan.said}, name: index},
        index=name,
        replaced=plan.replaced,
        before=before,
        after=after,
        reason=plan.reason,
    )


class _Split:
    """Which turns stay and which go."""

    def __init__(self, turns: Turns, held: set[int], keep: int) -> None:
        self.turns = turns
        self._held = held if turns.task is None else held | {turns.turn_of(turns.task)}
        self._last = {turn for turn in range(len(turns.starts)) if self._is_summary(turn)}
        self._set(keep)

    def _set(self, keep: int) -> None:
        turns = self.turns
        self.keep = keep
        newest = range(max(0, len(turns.starts) - keep), len(turns.starts))
        stay = (self._held | set(newest)) - self._last
        self.leaving = [turn for turn in range(len(turns.starts)) if turn not in stay]
        self.gone = [at for turn in self.leaving for at in turns.members(turn)]
        self.older = sum(turns.weights[turn] for turn in self.leaving) + self._appended(stay)
        self.stays = turns.fixed + turns.total - self.older
        if all(turn in self._last for turn in self.leaving):
            self.gone = []

    def loosen(self, room: int) -> None:
        """Let fewer of the newest turns stay, as long as they leave no room for a summary."""
        while self.stays > room and self.keep > 1:
            self._set(self.keep - 1)

    def _is_summary(self, turn: int) -> bool:
        start, stop = self.turns.span(turn)
        message = self.turns.messages[start]
        return stop == start + 1 and len(message.pieces) == 1 and mark.piece_of(message) is not None

    def _appended(self, stay: set[int]) -> int:
        """Return the units of summaries at the end of messages that stay."""
        turns = self.turns
        pieces = [mark.piece_of(turns.messages[at]) for turn in stay for at in turns.members(turn)]
        return sum(turns.chat.piece(piece) for piece in pieces if piece is not None)


def _held(turns: Turns, pin: Pin) -> set[int]:
    """Return the turns that the caller pinned.

    Raises:
        InvalidValue: an index beyond the messages.
    """
    if pin is None:
        return set()
    if callable(pin):
        wanted = {index for raw, index in zip(turns.raws, turns.indexes, strict=True) if pin(raw)}
    else:
        wanted = {units("pin: an index", index) for index in pin}
    if wanted and max(wanted) >= turns.given:
        raise InvalidValue("pin: an index", max(wanted), f"below {turns.given}, the number of messages")
    stays = set(turns.system)
    return {turns.turn_of(at) for at, index in enumerate(turns.indexes) if index in wanted and at not in stays}


def _made(split: _Split, previous: Compacted | None, limit: int, input_limit: int, saved: int) -> CompactionPlan:
    turns, gone = split.turns, set(split.gone)
    last = _last(turns, previous)
    said = [turns.messages[at] for at in split.gone if mark.piece_of(turns.messages[at]) is None]
    # Where results come in the user's messages, it is still a tool that speaks.
    texts = [("tool" if one.results else one.role, one.text()) for one in said if not is_note(one)]
    spoken = tuple(Said(role, text, handle(text)) for role, text in texts if text.strip())
    before, unit = turns.fixed + turns.total, turns.meter.unit
    return CompactionPlan(
        said=spoken,
        previous=last.text,
        limit=limit,
        input_limit=input_limit,
        before=before,
        older=split.older,
        kept=tuple(index for at, index in enumerate(turns.indexes) if at not in gone),
        gone=tuple(turns.indexes[at] for at in split.gone),
        reason=(
            f"{split.older:,} of {before:,} {unit} are older than the newest {split.keep} turns and not pinned; "
            f"a summary of at most {limit:,} frees at least {saved:,}"
        ),
        carried=previous,
        replaced=last.replaced + len(said),
        index=last.index,
        turns=turns,
        generation=turns.generation,
    )


def _last(turns: Turns, previous: Compacted | None) -> mark.Summary:
    """Return the last summary: as it stands in the history, or as the last compaction knows it."""
    pieces = [piece for message in turns.messages if (piece := mark.piece_of(message)) is not None]
    found = [mark.read(piece.text) for piece in pieces]
    text = "\n".join(each.text for each in found)
    if previous is not None:
        return mark.Summary(text=text or previous.summary, replaced=previous.replaced, index=previous.index)
    index = found[-1].index if found else ""
    return mark.Summary(text=text, replaced=sum(each.replaced for each in found), index=index)


def _taken(plan: CompactionPlan, summary: str) -> str:
    """Return a summary as it can stand in a prompt: without its mark and without secrets, within the limit.

    Raises:
        NoProgress: it is empty, or not smaller than what it replaces.
    """
    text = redact(summary).strip()
    while text.startswith(mark.MARK):
        text = mark.read(text).text
    size, meter = plan.meter.load(text), plan.meter
    if not text or size >= plan.older:
        problem = f"takes {size:,} {meter.unit}" if text else "is empty"
        raise NoProgress(
            f"the summary {problem} and what it replaces takes {plan.older:,}: summarise in at most {plan.limit:,}",
            before=plan.older,
            after=size,
        )
    if size <= plan.limit:
        return text
    try:
        return truncator("head").truncate(text, plan.limit, meter).text
    except DoesNotFit:
        return meter.head(text, plan.limit)


def _index(plan: CompactionPlan) -> str:
    """Return a line for each message that goes: its handle, who said it, and how it begins."""
    starts = [" ".join(redact(one.text[: 4 * _GLANCE]).split())[:_GLANCE] for one in plan.said]
    lines = [f"{one.handle} {one.role}: {start}" for one, start in zip(plan.said, starts, strict=True)]
    return "\n".join([f"{plan.index} earlier", *lines] if plan.index else lines)


def _placed(plan: CompactionPlan, text: str) -> tuple[list[Any], int]:
    """Return the messages that stay with the summary at the first gap, and the units of all."""
    turns = plan.turns
    gone = set(plan.gone)
    forms, bound = Forms(turns), turns.thinks and binds(turns.model)
    out: list[tuple[Any, int]] = []
    said = False
    for at in range(len(turns)):
        if turns.indexes[at] in gone:
            if not said:
                _say(turns, out, text)
                said = True
            continue
        form = forms.whole(at) if mark.piece_of(turns.messages[at]) is None else _bare(turns, at)
        if said and bound:
            form = forms.without_thinking(at, form)
        if form.raw is not None:
            out.append((form.raw, form.units))
    return [raw for raw, _ in out], sum(size for _, size in out)


def _bare(turns: Turns, at: int) -> Form:
    """Return a message without the summary at its end."""
    message = turns.messages[at]
    piece = mark.piece_of(message)
    raw = None if piece is None else without(message, [piece])
    return GONE if raw is None else Form(raw, turns.chat.units(turns.wire.read(raw, turns.indexes[at])))


def _say(turns: Turns, out: list[tuple[Any, int]], text: str) -> None:
    """Put the summary at the end: as a message, or into the user's last where two of the user's may not follow."""
    read, count = turns.wire.read, turns.chat.units
    if turns.wire.pairs and out and read(out[-1][0], 0).role == "user":
        raw = turns.wire.append(out.pop()[0], text)
    else:
        raw = turns.wire.say(text)
    out.append((raw, count(read(raw, 0))))
