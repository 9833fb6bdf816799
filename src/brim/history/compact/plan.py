"""Plan which messages a summary replaces, and apply the summary.

Both steps are pure: between them the caller makes the summary, with or without a model. System messages, the task,
pinned messages and the newest turns stay. The rest is replaced only if that frees enough tokens: a compaction may cost
a call and changes the cached prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue, NoProgress
from brim.history.compact import mark
from brim.history.compact.lines import Said, one_line, read_messages, record, said_in
from brim.history.compact.summary import SummarySource, condensed, with_earlier
from brim.history.options import Pin
from brim.history.prompt import sent_messages
from brim.history.rendering import Form, Rendering
from brim.history.rules import binds
from brim.history.turns import Turns, joined, ranges
from brim.meter import Meter
from brim.meter import meter as metered
from brim.receipts.receipt import handle
from brim.redaction import redact
from brim.truncate import shortened
from brim.wire import Format
from brim.wire.message import Piece

LEAST_FREED = Fraction(1, 20)
"""The share of the room that a compaction must free."""
LEAST_SUMMARY = 32
"""Tokens below which a summary is useless."""
_EXCERPT = 80
"""Characters of each message in the index."""
_INDEX_LINES = 256
"""Lines of one text of the index."""
_FIELDS = {"summary": str, "index": str, "replaced": int, "before": int, "after": int, "reason": str}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Compacted:
    """A history after a compaction."""

    messages: list[Any]
    """The messages to continue with, in their format. A message that was not changed is the caller's own object."""
    summary: str
    """The summary, without its mark."""
    texts: Mapping[str, str]
    """The replaced texts and the texts of their index, by handle, for a store to keep."""
    index: str
    """The handle of the index: a line for each replaced message, and the handle of the index before it."""
    replaced: int
    """Messages that the summary replaces, including those of earlier summaries."""
    before: int
    """Tokens of all messages before."""
    after: int
    """Tokens of all messages now."""
    reason: str
    """Why the history was compacted, with the numbers."""

    @property
    def marked(self) -> mark.Summary:
        """The summary with its mark."""
        return mark.Summary(text=self.summary, replaced=self.replaced, index=self.index)

    def to_dict(self) -> dict[str, Any]:
        """Return what the next compaction needs, and the numbers, as JSON values without messages and texts."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Compacted:
        """Return the value that `to_dict` wrote, for the next plan; it has no messages and no texts.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        return cls(**record(values, _FIELDS, "compaction"), messages=[], texts={})


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CompactionPlan(SummarySource):
    """The messages that a summary will replace, and those that stay."""

    last: mark.Summary
    """The last summary, which the new one replaces; its text is empty if there is none."""
    gone: tuple[int, ...]
    """The indexes of the caller's messages to replace, including a message that is only the last summary."""
    replaced: int
    """Messages that the summary will replace, including those of the last summary."""
    reason: str
    """Why the history should be compacted, with the numbers."""
    summaries: Mapping[int, Piece] = field(repr=False)
    """The summaries of earlier compactions, by the position of their message."""
    turns: Turns = field(repr=False)
    generation: int = field(repr=False)

    def summary(self) -> str:
        """Return a summary made without a model, including the last one; it is never empty."""
        text = condensed(self.lines, self.limit, self.meter)
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
    """Return which messages a summary should replace, or `None` if that does not pay.

    It pays if the messages to replace take more tokens than the largest summary with its mark, by at least a twentieth
    of the room.

    Args:
        messages: a history in any format, or `Turns` that have read it (their own meter counts then).
        meter: a meter, the name of one, or a function from a text to a number.
        room: tokens for the messages.
        keep_turns: how many of the newest turns stay as they are. Fewer stay, but always the newest, if they leave no
            room for a summary.
        summary_share: the part of the room that the summary may take; it takes at most half of what it replaces.
        previous: the last compaction, whose summary is read and replaced.
        format: the format of the messages; recognised if omitted.
        pin: messages whose turns stay: a function from a message to a bool, or their indexes and texts that they have.
        input_limit: the most tokens that a summariser can read; without it, the room.

    Raises:
        InvalidValue: an argument or a message is invalid.
    """
    units("room", room, least=1)
    units("keep_turns", keep_turns, least=1)
    input_limit = room if input_limit is None else units("input_limit", input_limit, least=1)
    if isinstance(summary_share, bool) or not isinstance(summary_share, int | float) or not 0 < summary_share <= 1:
        raise InvalidValue("summary_share", summary_share, "above 0 and at most 1")
    if previous is not None and not isinstance(previous, Compacted):
        raise InvalidType("previous", previous, "the last Compacted")
    if isinstance(messages, Turns):
        turns = messages
    else:
        turns = Turns(metered(meter), format=format)
        turns.extend(messages)
    last, summaries = _last(turns, previous)
    # The hashes in the mark may take a few tokens more than these.
    overhead = turns.chat.frame("user") + turns.chat.text(mark.headed("\n", 99_999, handle(""))) + mark.SHOWN_HANDLE
    keep, leaving, older = _split(
        turns, summaries, turns.pinned(pin, room), keep_turns, room - overhead - LEAST_SUMMARY
    )
    gone = [at for first, stop in ranges(leaving) for at in turns.members(first, stop)]
    positions = [at for at in gone if at not in summaries]
    before, most = turns.fixed + turns.total, int(Fraction(str(summary_share)) * room)
    limit = min(most, older // 2, max(LEAST_SUMMARY, room - overhead - before + older))
    saved = older - limit - overhead
    if not positions or saved < LEAST_FREED * room:
        return None
    return CompactionPlan(
        said=tuple(said for at in positions if (said := said_in(turns.messages[at])) is not None),
        lines=with_earlier(last.text, read_messages(turns, positions)),
        previous=last.text,
        limit=limit,
        input_limit=input_limit,
        older=older,
        meter=turns.meter,
        last=last,
        gone=tuple(turns.indexes[at] for at in gone),
        replaced=last.replaced + len(positions),
        reason=(
            f"{older:,} of {before:,} {turns.meter.unit} are older than the newest {keep} turns and not pinned; "
            f"a summary of at most {limit:,} frees at least {saved:,}"
        ),
        summaries=summaries,
        turns=turns,
        generation=turns.generation,
    )


def apply(plan: CompactionPlan, summary: str) -> Compacted:
    """Return the history with a summary in place of the messages that it replaces; newer messages stay.

    A summary beyond the plan's limit is cut to it, and secrets are removed.

    Raises:
        NoProgress: the summary is empty, or not smaller than what it replaces.
        InvalidValue: the summary is not a text, or the history has changed since the plan was made.
    """
    turns, meter = plan.turns, plan.meter
    if not isinstance(summary, str):
        raise InvalidType("summary", summary, "a string")
    if turns.generation != plan.generation:
        expected = "a plan for the current history, which has changed since the plan was made"
        raise InvalidValue("plan", plan.reason, expected)
    text = mark.unmarked(redact(summary))
    size = meter.load(text)
    if not text or size >= plan.older:
        sizes = f"takes {size:,} {meter.unit}, and what it replaces {plan.older:,}: summarise in at most {plan.limit:,}"
        raise NoProgress(f"the summary {sizes if text else 'is empty'}", before=plan.older, after=size)
    text = shortened(text, plan.limit, meter)
    name, index = index_of(plan.said, plan.last.index)
    messages, after = _placed(plan, mark.headed(text, plan.replaced, name))
    return Compacted(
        messages=messages,
        summary=text,
        texts={**{one.handle: one.text for one in plan.said}, **index},
        index=name,
        replaced=plan.replaced,
        before=turns.fixed + turns.total,
        after=after,
        reason=plan.reason,
    )


def _split(
    turns: Turns, summaries: Mapping[int, Piece], pinned: set[int], keep: int, room: int
) -> tuple[int, list[int], int]:
    """Return how many of the newest turns stay, the turns that leave, and the tokens that leave with them.

    Fewer of the newest stay if all that stays counts more than `room`.
    """
    pinned = pinned | turns.at(turns.task, turns.compaction)
    alone = {
        turns.turn_of(at)
        for at in summaries
        if turns.span(turns.turn_of(at)) == (at, at + 1) and len(turns.messages[at].pieces) == 1
    }
    while True:
        newest = range(max(0, len(turns.starts) - keep), len(turns.starts))
        stay = (pinned | set(newest)) - alone
        leaving = [turn for turn in range(len(turns.starts)) if turn not in stay]
        # A summary at the end of a message that stays leaves too.
        appended = (turns.chat.piece(piece) for at, piece in summaries.items() if turns.turn_of(at) in stay)
        older = sum(turns.weights[turn] for turn in leaving) + sum(appended)
        if keep == 1 or turns.fixed + turns.total - older <= room:
            return keep, leaving, older
        keep -= 1


def _last(turns: Turns, previous: Compacted | None) -> tuple[mark.Summary, dict[int, Piece]]:
    """Return the last summary, and the pieces that are summaries by the position of their message.

    It is that of the last compaction if it is known, else of the marks in the history.
    """
    known = None if previous is None else previous.marked
    pieces = ((at, mark.piece_of(message, known)) for at, message in enumerate(turns.messages))
    summaries = {at: piece for at, piece in pieces if piece is not None}
    if known is not None:
        return known, summaries
    read = [each for piece in summaries.values() if (each := mark.read(piece.text)) is not None]
    text, index = "\n".join(each.text for each in read), read[-1].index if read else ""
    return mark.Summary(text=text, replaced=sum(each.replaced for each in read), index=index), summaries


def _placed(plan: CompactionPlan, text: str) -> tuple[list[Any], int]:
    """Return the messages that stay with the summary at the first gap, and the tokens of all."""
    turns, gone = plan.turns, set(plan.gone)
    forms, bound = Rendering(turns), turns.thinks and binds(turns.model)
    kept = [at for at in range(turns.starts[0], len(turns)) if turns.indexes[at] not in gone]
    first = next(at for at in range(turns.starts[0], len(turns)) if turns.indexes[at] in gone)
    edits: dict[int, Form] = {}
    for at in kept:
        piece = plan.summaries.get(at)
        form = forms.whole(at) if piece is None else forms.without(at, turns.messages[at], [piece])
        if at > first and bound:
            form = forms.without_thinking(at, form)
        if form.raw is not turns.raws[at]:
            edits[at] = form
    sent = sent_messages(turns, joined((at, at + 1) for at in kept), edits, text, len(turns))
    return sent.messages, sum(sent.units)


def index_of(messages: Iterable[Said], link: str) -> tuple[str, dict[str, str]]:
    """Return the handle of an index of messages, and its texts by their handles.

    Each message has a line: its handle, its role, and how it begins. A text has a bounded number of lines and begins
    with the handle of the one before it; the first begins with `link`, the handle of the last index, if there is one.
    """
    lines = [f"{one.handle} {one.role}: {one_line(redact(one.text), _EXCERPT)}" for one in messages]
    texts: dict[str, str] = {}
    for at in range(0, max(1, len(lines)), _INDEX_LINES):
        text = "\n".join([*([f"{link} earlier"] if link else []), *lines[at : at + _INDEX_LINES]])
        link = handle(text)
        texts[link] = text
    return link, texts
