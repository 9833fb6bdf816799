"""Read a history as lines: its sentences, its tasks, and its calls with their outcomes.

Lines are verbatim, after secrets have been removed. Who wrote a line and what form it has decide its kind, not its
words, so that every language is read alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

from brim.errors import InvalidType, check_choice
from brim.history.note import is_note, is_written
from brim.history.rendering import brief_arguments, parts_of
from brim.history.turns import Turns
from brim.meter import meter
from brim.receipts.receipt import handle
from brim.redaction import redact
from brim.truncate import shortened
from brim.wire.message import Message

GO_ON = "Go on."
_NUDGE = re.compile(r"Go on\.|Iteration [\d,]{1,12} of at most [\d,]{1,12}: go on towards the goal\.")
HEADINGS = {
    "said": "Said by the user",
    "todo": "Left to do",
    "done": "Done",
    "own": "Said by the agent",
    "question": "Open questions",
    "end": "Printed",
    "call": "Calls",
}
"""The kinds of lines with their headings in a hand-over, in order."""
TASKS = {"todo", "done"}
_LONGEST = 400
"""Characters above which a sentence is a file, a table or a line of JSON."""
_MOST_TEXT = 40_000
"""Characters of a text that are read; of a longer one, the start and the end."""
_SIGNS = 0.3
"""The share of digits and ASCII signs, other than in paths, in a sentence above which it is code or a table."""
_CALL = 160
"""Characters of a call, and of each of its values before a mark replaces it."""
_OUTCOME = 800
"""Characters of a call's outcome."""
_SENTENCE_END = re.compile(r"(?<=[.!?][\"')\]])\s+|(?<=[.!?])\s+(?=[^a-zа-яё\s]|[a-z]+[_\d])|(?<=[。！？；])")
"""The end of a sentence; a small letter after the stop means that it was an abbreviation."""
_BULLET = re.compile(r"^\s*(?:[-*•>#]+|\d{1,3}[.)])\s+")
_SIGN, _PLACE = re.compile(r"[!-@\[-`{-~]"), re.compile(r"[/\\][\w./\\:@+~-]*")
_ASKING = ("?", "？", "؟")
_BOX = re.compile(r"(?:\[(?P<cross>[ xX✓✔]?)\]|(?P<sign>[☐⬜☑✅✓✔]))\s*")
_TODO = re.compile(r"\W{0,3}(?:TODO|FIXME)\b", re.IGNORECASE)
_OPEN, _FINISHED = ("", " ", "☐", "⬜"), ("completed", "done")
"""The boxes of open tasks, and what tools for lists of tasks call the status of a finished one."""
_CALLED = re.compile(r"([\w.-]{1,80}) (\{.*\})\Z")
"""A call in the text of a message."""
_ARGUMENTS = re.compile(r"\w[\w.-]{0,79} (?:\{|\[\s{0,9}[\"{\[])|\s{0,80}[\[{]?\s{0,9}\"[^\"\n]{1,80}\"\s{0,9}:")
"""A row with the arguments of a call: the agent did not say them, but may have copied them from a result."""
_FENCE = "```"


def next_iteration(number: int, most: int) -> str:
    """Return the message at the start of an iteration."""
    return f"Iteration {number:,} of at most {most:,}: go on towards the goal."


def is_nudge(text: str) -> bool:
    """Return whether a text is `GO_ON` or the message at the start of an iteration."""
    return _NUDGE.fullmatch(text.strip()) is not None


class Said(NamedTuple):
    """The text of one message."""

    role: str
    text: str
    handle: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One sentence, task or call."""

    role: str
    """Who said it: `user`, `assistant`, `tool`; a call is the assistant's."""
    kind: str
    """One of `HEADINGS`."""
    text: str
    """The text, verbatim."""
    at: int = 0
    """The number of its message; lines of one message are joined in a summary."""
    outcome: str = ""
    """The outcome of a call."""

    @property
    def whole(self) -> str:
        """The text with its outcome."""
        return f"{self.text} → {self.outcome}" if self.outcome else self.text

    @property
    def sourced(self) -> str:
        """The same, with its author if the kind does not imply one."""
        author = "agent" if self.role == "assistant" else self.role
        return self.whole if self.kind in ("said", "own", "call") else f"{author}: {self.whole}"

    @property
    def key(self) -> tuple[str, str]:
        """Lines with the same key are equal; a task is the same when it is done."""
        return ("call" if self.kind == "call" else "said"), _BOX.sub("", self.text, count=1).casefold()

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, place: str = "line") -> Line:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        line = cls(**record(values, _FIELDS, place))
        check_choice(f"{place}.kind", line.kind, [*HEADINGS])
        return line


_FIELDS = {each.name: int if each.type == "int" else str for each in fields(Line)}


def record(values: Any, kinds: Mapping[str, type], place: str) -> dict[str, Any]:
    """Return values that `to_dict` wrote: one of each name, of its type.

    Raises:
        InvalidType: they are anything else.
    """
    if not isinstance(values, Mapping) or set(values) != set(kinds):
        raise InvalidType(place, values, f"a mapping with {', '.join(kinds)}")
    for name, kind in kinds.items():
        if type(values[name]) is not kind:
            raise InvalidType(f"{place}.{name}", values[name], f"a {kind.__name__}")
    return dict(values)


def said_in(message: Message) -> Said | None:
    """Return the text of a message, as it is stored when a summary replaces it, or `None` if it is empty."""
    if is_note(message) or not (text := message.text()).strip():
        return None
    # A user message with results is the text of a tool.
    return Said("tool" if message.results else message.role, text, handle(text))


def read_messages(turns: Turns, positions: Iterable[int], outside: Callable[[str], str] = str) -> list[Line]:
    """Return the lines of messages in their order, each once.

    Args:
        turns: the messages, whose calls and results belong to each other.
        positions: the messages to read; system messages are skipped, since they are sent anyway.
        outside: returns a text without what brim wrote in it.
    """
    lines: list[Line] = []
    calls: dict[str | int, int] = {}
    for at in positions:
        message = turns.messages[at]
        if message.role == "system":
            continue
        words = "\n".join(p.text for p in message.pieces if p.kind == "text" and not is_written(p.text))
        words = "" if is_nudge(words) else outside(words)
        results, answered = dict[str | int, str](), ""
        # The last block of an agent without tool calls is its call, with the next message as the result.
        if turns.printed(at) and at - 1 in calls:
            results[at - 1] = words
        else:
            lines += read_text(message.role, words, at)
        if message.role == "assistant" and not message.calls and (blocks := words.split(_FENCE)[1::2]):
            calls[at] = len(lines)
            lines.append(_call(redact(blocks[-1].partition("\n")[2]), at))
        for piece in message.pieces:
            if piece.kind == "call":
                calls[piece.id] = len(lines)
                text = redact(piece.text)
                lines += [_call(_called(piece.name, text), at), *_tasks(text, at)]
            elif piece.kind == "result":
                answered = piece.id
            elif piece.kind == "output":
                results[answered] = f"{results[answered]}\n{piece.text}" if answered in results else piece.text
        for name, text in results.items():
            if name in calls:
                lines[calls[name]] = replace(lines[calls[name]], outcome=_outcome(text))
            else:
                lines += read_text("tool", text, at)
    return once(lines)


def read_text(role: str, text: str, at: int = 0) -> list[Line]:
    """Return the lines of a text in order: of people and models their sentences, of a tool the end of its output."""
    safe = _clipped(redact(text))
    if role == "tool":
        parts = parts_of(safe)
        ends = (" ".join(parts.part(each).split()) for each in sorted(parts.ending()))
        return [Line(role=role, kind="end", text=each, at=at) for each in ends if 0 < len(each) <= _LONGEST]
    prose = "\n".join(row for row in "\n".join(safe.split(_FENCE)[::2]).split("\n") if not _ARGUMENTS.match(row))
    lines = [Line(role=role, kind=_kind(role, each), text=each, at=at) for each in sentences(prose)]
    return lines + [_call(_called(call[1], call[2]), at) for row in safe.splitlines() if (call := _CALLED.match(row))]


def _kind(role: str, sentence: str) -> str:
    """Return the kind of a sentence of a person or a model, by its form."""
    if box := _BOX.match(sentence):
        return "todo" if (box["sign"] or box["cross"]) in _OPEN else "done"
    if _TODO.match(sentence):
        return "todo"
    return "question" if sentence.endswith(_ASKING) else "said" if role == "user" else "own"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, without bullets, code and tables."""
    rows = (_BULLET.sub("", row).strip() for row in text.splitlines())
    parts = (part.strip() for row in rows if len(row) <= 20 * _LONGEST for part in _SENTENCE_END.split(row))
    return [each for each in parts if 0 < len(each) <= _LONGEST and _signs(each) <= len(each) * _SIGNS]


def _signs(sentence: str) -> int:
    """Return the number of digits and signs in a sentence, without its last and those of paths."""
    return len(_SIGN.findall(_PLACE.sub("", sentence[:-1])))


def once(lines: Iterable[Line]) -> list[Line]:
    """Return lines in order, each once: where its author said it last.

    A line stays with the author who said it first, so that a quotation changes nothing; a task is as it was said last.
    """
    last: dict[tuple[str, str], Line] = {}
    for line in lines:
        before = last.pop(line.key, line)
        last[line.key] = line if line.role == before.role or {line.kind, before.kind} <= TASKS else before
    return [*last.values()]


def _tasks(arguments: str, at: int) -> list[Line]:
    """Return the tasks that a call writes down: a list of objects, each with a status and a text."""
    try:
        values = json.loads(arguments[:_MOST_TEXT]) if '"status"' in arguments else {}
    except (ValueError, RecursionError):
        return []
    lists = [each for each in values.values() if isinstance(each, list)] if isinstance(values, dict) else []
    lines = []
    for task in (each for tasks in lists for each in tasks if isinstance(each, dict) and "status" in each):
        text = next((each for each in task.values() if isinstance(each, str) and " " in each.strip()), "")
        box, kind = ("[x]", "done") if task["status"] in _FINISHED else ("[ ]", "todo")
        lines += [Line(role="assistant", kind=kind, text=f"{box} {one_line(text, _LONGEST)}", at=at)] if text else []
    return lines


def _called(name: str, arguments: str) -> str:
    text = brief_arguments(arguments[:_MOST_TEXT], _CALL)
    return f"{name} {text}" if text.strip(" {}") else name


def _call(text: str, at: int) -> Line:
    return Line(role="assistant", kind="call", text=one_line(text, _CALL), at=at)


def _outcome(text: str) -> str:
    """Return the most important lines of a result in one line."""
    return one_line(shortened(_clipped(redact(text)), _OUTCOME, meter("chars"), "shape"), _OUTCOME)


def _clipped(text: str) -> str:
    """Return a text, or only the start and the end of a text that is too long to read."""
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT // 2]}\n{text[-_MOST_TEXT // 2 :]}"


def one_line(text: str, most: int) -> str:
    """Return a text in one line, or its first words if it is longer than `most`."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 2].rpartition(' ')[0] or line[: most - 2]} …"
