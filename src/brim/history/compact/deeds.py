"""The deeds of an agent: a line for each call, with what came of it.

A call is shown as it was made, with marks for its long values. Of its result stay the lines that say how it ended, as
in a history that was shortened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from brim.errors import InvalidType
from brim.history.compact.secrets import redact
from brim.history.compact.statements import commands
from brim.history.excerpts import Parts, brief_arguments, parts_of
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
    outcomes: dict[str, tuple[str, str]] = {}
    for message in turns.messages:
        for name in message.results:
            outcomes[name] = _outcome(message, name)
    found: list[Deed] = []
    waiting: deque[int] = deque()
    for message in turns.messages:
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
            found[number] = Deed(found[number].call, *_outcome(message))
    return found


def _outcome(message: Message, name: str | None = None) -> tuple[str, str]:
    """Return what stays of the result of a call, or of a whole message, in few words and in detail."""
    brief, long = [], []
    for text in _outputs(message, name):
        # A part of a secret is not recognised as one, so they are removed before the text is cut.
        parts = parts_of(redact(text[:_MOST_TEXT]))
        ending = parts.ending()
        brief.append(parts.text if len(parts.text) <= _OUTCOME else parts.show(ending))
        long.append(parts.text if len(parts.text) <= _DETAIL else parts.show(_more(parts, ending)))
    short, whole = _line("\n".join(brief), _OUTCOME), _line("\n".join(long), _DETAIL)
    return short, whole if len(whole) > len(short) else ""


def _more(parts: Parts, ending: Sequence[int]) -> set[int]:
    """Return some parts of a text, with as many more from both ends as an outcome in detail may have."""
    chosen, size, count = set(ending), sum(parts.size(at) for at in ending), len(parts)
    for at in (end for i in range((count + 1) // 2) for end in (i, count - 1 - i)):
        size += parts.size(at) if at not in chosen else 0
        if size > _DETAIL:
            break
        chosen.add(at)
    return chosen


def _outputs(message: Message, name: str | None) -> Iterator[str]:
    """Yield the texts of a result, or of a whole message."""
    inside = name is None
    for piece in message.pieces:
        if piece.kind == "result":
            inside = piece.id == name
        elif inside and piece.kind in ("text", "output"):
            yield piece.text


def _called(name: str, arguments: str) -> str:
    text = redact(arguments[:_MOST_TEXT])
    text = brief_arguments(text, lambda value: len(value) > _CALL) or text
    return _line(f"{name} {text}" if text.strip(" {}") else name, _CALL)


def _line(text: str, most: int) -> str:
    """Return a text in one line; its start if it is too long."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
