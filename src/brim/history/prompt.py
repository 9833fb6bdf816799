"""The messages of a prompt: those that always stay, the kept turns, and the note at the first gap.

A prompt also says which messages of the history it sends as they are, and in which form the others, so that what
depends on a prompt costs as much as the prompt, however long the history is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brim.history.rendering import Form
from brim.history.turns import Span, Turns, differing, joined, ranges


class SentMessages(NamedTuple):
    """Messages in the order in which they are sent."""

    messages: list[Any]
    units: list[int]
    """The tokens of each."""
    whole: Sequence[Span] = ()
    """The ranges of positions whose messages are sent as they are, in order."""
    forms: dict[int, Form] = {}  # noqa: RUF012 - a default is never filled
    """The other messages of the history in the kept turns, by position, in the forms in which they are sent."""

    @property
    def changed(self) -> list[Any]:
        """The messages that are sent in another form."""
        return [form.raw for form in self.forms.values() if form.raw is not None]


def sent_messages(
    turns: Turns, kept: Sequence[Span], edits: Mapping[int, Form], note: str, length: int
) -> SentMessages:
    """Return the messages to send of the first `length` messages.

    Args:
        turns: the history.
        kept: ranges of positions to send, in order; messages that always stay are sent too.
        edits: messages to send in another form, by position.
        note: the note; may be empty.
        length: the number of messages to look at.
    """
    forms = {at: edits[at] for at in sorted(edits) if edits[at].raw is not turns.raws[at]}
    edges = [edge for span in kept for edge in span]
    fixed = [at for at in turns.system[: bisect_left(turns.system, length)] if not bisect_right(edges, at) % 2]
    spans = sorted([*kept, *((at, at + 1) for at in fixed)])
    gap = _gap(turns, kept) if note and kept else length
    out, places, place = SentMessages([], [], forms=forms), [*forms, length], 0
    for start, stop in spans:
        if start >= gap:
            gap = _add_note(out, turns, kept, note, length)
        begin = start
        while (at := places[place]) < stop:
            _add_range(out, turns, begin, at)
            if (form := forms[at]).raw is not None:
                out.messages.append(form.raw)
                out.units.append(form.units)
            begin, place = at + 1, place + 1
        _add_range(out, turns, begin, stop)
    if gap < length:
        _add_note(out, turns, kept, note, length)
    return out._replace(whole=differing(joined(spans), ranges(sorted(forms))))


def note_units(turns: Turns, kept: Sequence[Span], note: str) -> int:
    """Return the tokens that a note adds to a prompt."""
    if not note:
        return 0
    return turns.chat.text(note) + (0 if _joined(turns, kept) else turns.chat.frame("user"))


def shared_messages(last: Sequence[Any], messages: Sequence[Any]) -> int:
    """Return how many messages at the start a prompt shares with the last one."""
    same = len(last)
    if list(last) != list(messages[:same]):  # Most prompts begin with all of the last one.
        pairs = enumerate(zip(last, messages, strict=False))
        same = next((at for at, (old, new) in pairs if old is not new and old != new), min(same, len(messages)))
    return same


def _gap(turns: Turns, kept: Sequence[Span]) -> int:
    """Return the position of the first gap, where the note stands."""
    first, last = kept[0]
    return first if first > turns.starts[0] else last


def _add_range(out: SentMessages, turns: Turns, start: int, stop: int) -> None:
    """Add a range of messages as they are."""
    out.messages.extend(turns.raws[start:stop])
    out.units.extend(turns.units[start:stop])


def _add_note(out: SentMessages, turns: Turns, kept: Sequence[Span], note: str, length: int) -> int:
    """Add the note as a separate message, or to the user's message before the gap, and return where the next is."""
    if back := _joined(turns, kept):
        out.messages[-back] = turns.wire.append(out.messages[-back], note)
        out.units[-back] += turns.chat.text(note)
        out.forms[kept[0][1] - back] = Form(out.messages[-back], out.units[-back])
    else:
        out.messages.append(turns.wire.say(note))
        out.units.append(note_units(turns, kept, note))
    return length


def _joined(turns: Turns, kept: Sequence[Span]) -> int:
    """Return how far before the gap the message is that takes the note; 0 if the note is a separate message.

    Two messages of the user may not follow each other, nor may one follow a system message in the middle.
    """
    if not turns.wire.pairs or not kept or kept[0][0] > turns.starts[0]:
        return 0
    first, last = kept[0]
    back = next((back for back in range(1, last - first + 1) if turns.messages[last - back].role != "system"), 1)
    return back if turns.messages[last - back].role == "user" else 0
