"""The deeds of an agent: a line for each call, with what came of it.

A call has the start of its arguments. Of its result stay the line of a failure and the parts around names that the
agent itself has written, as in a history that was shortened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from brim.errors import InvalidType
from brim.history.compact.secrets import redact
from brim.history.compact.statements import commands
from brim.history.excerpts import (
    GAP,
    Intervals,
    ends,
    excerpt,
    shortened_arguments,
    telling_lines,
    with_interval,
    with_intervals,
)
from brim.history.names import NameIndex
from brim.history.turns import Turns
from brim.meter import meter
from brim.wire import Format
from brim.wire.message import Message

_CALL = 160
"""Characters of a call."""
_OUTCOME = 240
"""Characters of an outcome."""
_DETAIL = 800
"""Characters of an outcome in detail."""
_MOST_TEXT = 400_000
"""Characters of a result that are searched for secrets; of a longer one only the start stays."""
_NAMES = 400
"""Names whose surroundings are looked at."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One call and its outcome, each in one line."""

    call: str
    outcome: str = ""
    """What stays of the result in few words; empty if there is none."""
    detail: str = ""
    """More of the result; empty if the outcome is all of it."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The call alone, with its outcome, and in detail."""
        return (self.call, *(f"{self.call} → {each}" for each in (self.outcome, self.detail) if each))

    def to_dict(self) -> dict[str, str]:
        """Return the value as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, place: str = "deed") -> Deed:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidType: the values are not those of `to_dict`.
        """
        known = isinstance(values, Mapping) and sorted(values) == ["call", "detail", "outcome"]
        if not known or not all(isinstance(value, str) for value in values.values()):
            raise InvalidType(place, values, "a mapping with the texts call, outcome and detail")
        return cls(**values)


def deeds(messages: Sequence[Any], format: Format | None = None) -> list[Deed]:
    """Return the deeds in messages, in order.

    An agent without tool calls does what stands in the fenced blocks of its messages; the next message is the outcome.
    """
    turns = Turns(meter("chars"), format=format)
    turns.extend(messages)
    parts = _parts(turns)
    outcomes: dict[str, tuple[str, str]] = {}
    for at, message in enumerate(turns.messages):
        for name in message.results:
            outcomes[name] = _outcome(message, parts.get(at, {}), name)
    found: list[Deed] = []
    waiting: deque[int] = deque()
    for at, message in enumerate(turns.messages):
        if message.role == "assistant":
            waiting.clear()
            found += [
                Deed(_called(p.name, p.text), *outcomes.get(p.id, ())) for p in message.pieces if p.kind == "call"
            ]
            if not message.calls:
                for command in commands(message.text()):
                    waiting.append(len(found))
                    found.append(Deed(_line(redact(command), _CALL)))
        elif waiting and message.role == "user":
            number = waiting.popleft()
            found[number] = Deed(found[number].call, *_outcome(message, parts.get(at, {})))
    return found


def _parts(turns: Turns) -> dict[int, dict[int, Intervals]]:
    """Return the parts of results around names that the agent has written, by message and piece."""
    names, found = NameIndex(turns), dict[int, dict[int, Intervals]]()
    for count, use in enumerate(names.ranked()):
        if count >= _NAMES:
            break
        if use.written and turns.messages[use.position].role != "assistant":
            around = names.surroundings(use)
            kept = found.setdefault(around.position, {})
            kept[around.piece], _ = with_interval(kept.get(around.piece, ()), around.start, around.stop)
    return found


def _outcome(message: Message, parts: Mapping[int, Intervals], name: str | None = None) -> tuple[str, str]:
    """Return what stays of the result of a call, or of a whole message, in few words and in detail."""
    lines = dict(telling_lines(message))
    brief, long = [], []
    for at, text in _outputs(message, name):
        # A part of a secret is not recognised as one, so they are removed before the text is cut.
        safe = redact(text[:_MOST_TEXT])
        kept = with_intervals(parts.get(at, ()), lines.get(at, ()))
        if len(safe) <= _OUTCOME or safe != text or not kept:
            brief.append(safe)
            long.append(safe)
            continue
        brief.append(excerpt(text, kept))
        long.append(excerpt(text, with_intervals(kept, ends(text, _DETAIL))))
    short, whole = _line("\n".join(brief), _OUTCOME), _line("\n".join(long), _DETAIL)
    return short, whole if len(whole) > len(short) else ""


def _outputs(message: Message, name: str | None) -> Iterator[tuple[int, str]]:
    """Yield the texts of a result, or of a whole message, with their indexes."""
    inside = name is None
    for at, piece in enumerate(message.pieces):
        if piece.kind == "result":
            inside = piece.id == name
        elif inside and piece.kind in ("text", "output"):
            yield at, piece.text


def _called(name: str, arguments: str) -> str:
    arguments = redact(arguments[:_MOST_TEXT])
    short = shortened_arguments(arguments, ()) or arguments
    return _line(f"{name} {short}" if short.strip(" {}") else name, _CALL)


def _line(text: str, most: int) -> str:
    """Return a text in one line; its start if it is too long."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}{GAP}"
