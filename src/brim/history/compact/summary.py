"""A summary without a model: the most important lines of a history, in order and word for word.

It reads like a conversation in fewer lines, and the next summary reads it as one, so that lines pass from one summary
to the next unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from brim.amounts import units
from brim.history.compact.extract import extract
from brim.history.compact.lines import Line, Said, once, one_line, read_text, unfinished
from brim.meter import DEFAULT
from brim.meter import meter as meter_named
from brim.meter.base import BaseMeter
from brim.receipts.receipt import handle
from brim.redaction import redact
from brim.truncate import shortened
from brim.wire.message import spoken

_ROLES = ("user", "assistant", "tool", "system")
_CALLED = "called"
"""What stands before a call."""
_LEAST_TEXT = 24
"""Tokens below which no text for a summariser is cut."""
_JOIN = "\n\n"
_EXCERPT = 80
"""Characters of each message in the index."""
_INDEX_LINES = 256
"""Lines of one text of the index."""


def summarise(text: str, limit: int, meter: BaseMeter | None = None) -> str:
    """Return a summary of a text in at most `limit` tokens, as `fit_messages(summarise=...)` expects it.

    Without a meter, tokens of the default vocabulary are counted.

    Raises:
        InvalidValue: `limit` is not a whole number of at least zero.
    """
    return condensed(read_back(text, _JOIN), limit, meter or meter_named(DEFAULT))


def condensed(lines: Iterable[Line], limit: int, meter: BaseMeter, previous: str = "") -> str:
    """Return the most important lines in order, in at most `limit` tokens; empty if nothing fits.

    `previous` is the last summary.

    Raises:
        InvalidValue: `limit` is not a whole number of at least zero.
    """
    units("limit", limit)
    before = (replace(line, at=line.at - len(previous)) for line in read_back(previous))
    # Paths are in the lines that name them.
    known = [line for line in once([*before, *lines]) if line.kind != "path"]
    return extract(unfinished(known), limit, meter, as_talk)


def as_talk(lines: Sequence[Line]) -> str:
    """Return lines as a conversation: those of one message in one row after their role."""
    rows = []
    for (_, role), group in groupby(lines, key=lambda line: (line.at, _CALLED if line.kind == "call" else line.role)):
        if role == _CALLED:
            rows += [f"{_CALLED}: {line.whole}" for line in group]
        else:
            rows.append(spoken(role, " ".join(line.text for line in group)))
    return "\n".join(rows)


def read_back(text: str, between: str = "\n") -> list[Line]:
    """Return the lines of a text whose parts begin with a role, or else have the role of the part before them."""
    found: list[Line] = []
    role = "user" if between == _JOIN else "assistant"
    for at, part in enumerate(redact(text).split(between)):
        name, colon, rest = part.partition(": ")
        if colon and name == _CALLED:
            call, _, outcome = rest.partition(" → ")
            found.append(Line(role="assistant", kind="call", text=call, outcome=outcome, at=at))
            continue
        role = name if colon and name in _ROLES else role
        found += read_text(role, rest if colon and name == role else part, at)
    return found


def summary_input(messages: Sequence[Said], previous: str, limit: int, meter: BaseMeter) -> str:
    """Return the text that a summariser reads: the last summary and the messages, without secrets, within the limit.

    The longest texts are cut to a common length, so that no message is lost. If that is not enough, the most
    important lines are used.
    """
    earlier = [f"summary so far:\n{redact(previous)}"] if previous else []
    texts = [*earlier, *(spoken(one.role, redact(one.text)) for one in messages)]
    whole, joint = _JOIN.join(texts), meter.load(_JOIN)
    if meter.load(whole) <= limit:
        return whole
    sizes = [meter.load(text) + joint for text in texts]
    level = limit
    while level >= _LEAST_TEXT:
        if sum(min(size, level) for size in sizes) <= limit:
            cut = _JOIN.join(
                text if size <= level else shortened(text, level - joint, meter, "shape")
                for text, size in zip(texts, sizes, strict=True)
            )
            if meter.load(cut) <= limit:
                return cut
        level -= 1 + level // 20
    lines = (line for at, one in enumerate(messages) for line in read_text(one.role, one.text, at))
    return condensed(lines, limit, meter, previous)


def index_of(messages: Iterable[Said], link: str) -> tuple[str, dict[str, str]]:
    """Return the handle of an index of messages, and its texts by their handles.

    Each message has a line: its handle, its role, and how it begins. A text has a bounded number of lines and begins
    with the handle of the one before it; the first begins with `link`, the handle of the last index, if there is one.
    """
    lines = [f"{one.handle} {one.role}: {one_line(redact(one.text), _EXCERPT)}" for one in messages]
    texts: dict[str, str] = {}
    for at in range(0, max(1, len(lines)), _INDEX_LINES):
        rows = lines[at : at + _INDEX_LINES]
        text = "\n".join([f"{link} earlier", *rows] if link else rows)
        link = handle(text)
        texts[link] = text
    return link, texts
