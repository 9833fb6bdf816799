"""Read a history as lines: its sentences, its calls with their outcomes, and its paths.

Lines are verbatim, after secrets have been removed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

from brim.errors import InvalidType, check_choice
from brim.history.compact.sentence_kind import sentence_kind
from brim.history.note import is_note, is_written
from brim.history.rendering import brief_arguments, parts_of
from brim.history.turns import Turns
from brim.meter import meter
from brim.meter.words import terms
from brim.receipts.receipt import handle
from brim.redaction import redact
from brim.truncate import shortened
from brim.truncate.failure import reports_failure
from brim.wire.message import Message

GO_ON = "Go on."
_NUDGE = re.compile(r"Go on\.|Iteration [\d,]{1,12} of at most [\d,]{1,12}: go on towards the goal\.")


def next_iteration(number: int, most: int) -> str:
    """Return the message at the start of an iteration."""
    return f"Iteration {number:,} of at most {most:,}: go on towards the goal."


def is_nudge(text: str) -> bool:
    """Return whether a text is `GO_ON` or the message at the start of an iteration."""
    return _NUDGE.fullmatch(text.strip()) is not None


HEADINGS = {
    "told": "Said by the user",
    "todo": "Left to do",
    "done": "Done",
    "said": "Said by the agent",
    "question": "Open questions",
    "error": "Failed",
    "path": "Paths",
    "printed": "Printed",
    "call": "Calls",
}
"""The kinds of lines with their headings in a hand-over, in order."""
_LONGEST = 400
"""Characters above which a sentence is a file, a table or a line of JSON."""
_MOST_TEXT = 40_000
"""Characters of a message that are read; of a longer one, the start and the end."""
_MOST_PATHS = 20
"""Paths of one message; a listing has thousands."""
_SIGNS = 0.3
"""The share of digits and ASCII signs in a sentence above which it is code or a table."""
_COVERED = 0.6
"""The share of the words of a sentence that another text must have to say the same."""
_REPORTS = 300
"""Reports after a task that may complete it: comparing it with all would take a power of their number."""
_CALL = 160
"""Characters of a call, and of each of its values before a mark replaces it."""
_OUTCOME = 800
"""Characters of a call's outcome."""

_SENTENCE_END = re.compile(r"(?<=[.!?][\"')\]])\s+|(?<=[.!?])\s+(?=[^a-zа-яё\s]|[a-z]+[_\d])|(?<=[。！？；])")
"""The end of a sentence; a small letter after the stop means that it was an abbreviation."""
_BULLET = re.compile(r"^\s*(?:[-*•>#]+|\d{1,3}[.)])\s+")
_SIGN = re.compile(r"[!-@\[-`{-~]")
_FILE = (
    r"py|pyi|js|jsx|ts|tsx|mjs|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|php|swift|scala|sh|bash|sql|html|css|scss|md|rst|txt"
    r"|json|jsonl|yaml|yml|toml|ini|cfg|conf|env|lock|xml|csv|tsv|log|db|sqlite|parquet|png|jpg|svg|pdf|ipynb|proto|tf"
)
_PATH = re.compile(
    r"\b[a-z][a-z0-9+]{1,11}://[^\s<>\"'`)\]}|]+"
    r"|(?<![\w/.:-])(?:"
    r"(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*\w"  # from the root or from here
    rf"|(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.(?:{_FILE})\b(?!\()"
    r"|[A-Za-z]:\\(?:[\w .@+-]+\\)*[\w.@+-]+"
    r")(?::\d+(?::\d+)?)?"
)
_ENDLESS = re.compile(r"[\w.@+/\\=&%?~:'-]{240,}")
"""A run that is longer than any name, such as an encoded file; searching it for names would take too long."""
_CALLED = re.compile(r"([\w.-]{1,80}) (\{.*\})\Z")
"""A call in the text of a message."""
_ARGUMENTS = re.compile(r"\w[\w.-]{0,79} (?:\{|\[\s{0,9}[\"{\[])|\s{0,80}[\[{]?\s{0,9}\"[^\"\n]{1,80}\"\s{0,9}:")
"""A row with the arguments of a call: the agent did not say them, but may have copied them from a result."""
_IDLE_TEXT = """
great awesome cool thank thanks glad amazing love loved happy excited exciting hope wish feel feeling felt sound nice
wow yeah yes hey hi hello bye good really definitely keep proud support fun inspiring inspire special best wonderful
important thing way lot know think see take make made get got go going gonna stay always never ever need want like
look forward luck congrats congratulations sure okay ok absolutely totally incredible fantastic agree right true well
still even back lately life people something anything everything someone time day kind sort bit little big new let
talk tell say said hear heard care enjoy appreciate wait super pretty quite come came give given help journey dream
passion hard work believe moment joy beautiful interesting world place friend experience please welcome sorry step
next now first then task follow following
"""
IDLE = frozenset(terms(_IDLE_TEXT))
"""English words of politeness, praise and announcement. Other languages rely on names and numbers alone."""
_FENCE = "```"


class Said(NamedTuple):
    """The text of one message."""

    role: str
    text: str
    handle: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One sentence, call or path."""

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
    def sourced(self) -> str:
        """The text with its outcome, and with its author if the kind does not imply one."""
        named = self.kind in ("todo", "error", "question")
        return f"{_SOURCES.get(self.role, self.role)}: {self.whole}" if named else self.whole

    @property
    def whole(self) -> str:
        """The text with its outcome."""
        return f"{self.text} → {self.outcome}" if self.outcome else self.text

    @property
    def key(self) -> tuple[str, str]:
        """Lines with the same key are equal."""
        return (self.kind if self.kind in ("path", "call") else "said"), self.text.casefold()

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, place: str = "line") -> Line:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        made = cls(**record(values, _FIELDS, place))
        check_choice(f"{place}.kind", made.kind, [*HEADINGS])
        return made


_SOURCES = {"assistant": "agent"}
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


def read_messages(turns: Turns, positions: Iterable[int], known: Any = None) -> list[Line]:
    """Return the lines of messages in their order, each once.

    Args:
        turns: the messages, whose calls and results belong to each other.
        positions: the messages to read; system messages are skipped, since they are sent anyway.
        known: a continuation; its text is skipped where a message contains it.
    """
    found: list[Line] = []
    open_calls: dict[str, int] = {}
    command: int | None = None
    for at in positions:
        message = turns.messages[at]
        if message.role == "system":
            continue
        words = "\n".join(p.text for p in message.pieces if p.kind == "text" and not is_written(p.text))
        words = "" if is_nudge(words) else words
        words = words if known is None else known.outside(words)
        if command is not None and turns.printed(at):
            found[command] = replace(found[command], outcome=_outcome(words))
            found += _paths("tool", redact(words), at)
        else:
            found += read_text(message.role, words, at)
        command = None
        if message.role == "assistant" and not message.calls and (last := _command(words)):
            command = len(found)
            found.append(_call(one_line(redact(last), _CALL), at))
        for piece in message.pieces:
            if piece.kind == "call":
                open_calls[piece.id] = len(found)
                text = redact(piece.text)
                found += [_call(_called(piece.name, text), at), *_paths("tool", text, at)]
        for name, text in _results(message):
            if name in open_calls:
                number = open_calls[name]
                found[number] = replace(found[number], outcome=_outcome(text))
            found += [line for line in read_text("tool", text, at) if name not in open_calls or line.kind == "path"]
    return once(found)


def _results(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the results of a message, each with the id of its call."""
    texts: dict[str, list[str]] = {}
    name = ""
    for piece in message.pieces:
        if piece.kind == "result":
            name = piece.id
        elif piece.kind == "output":
            texts.setdefault(name, []).append(piece.text)
    return ((name, "\n".join(found)) for name, found in texts.items())


def read_text(role: str, text: str, at: int = 0) -> list[Line]:
    """Return the lines of a text in order: of people and models their sentences, of a tool the end of its output."""
    safe = clipped(redact(text))
    if role == "tool":
        parts = parts_of(safe)
        ends = [" ".join(parts.part(each).split()) for each in sorted(parts.ending())]
        found = [_line(role, each, at) for each in ends if each and len(each) <= _LONGEST]
    else:
        prose = "\n".join(row for row in "\n".join(safe.split(_FENCE)[::2]).split("\n") if not _ARGUMENTS.match(row))
        found = [line for each in sentences(prose) if _is_prose(line := _line(role, each, at))]
        found += [_call(_called(*call.groups()), at) for row in safe.splitlines() if (call := _CALLED.match(row))]
    return [*found, *_paths(role, safe, at)]


def clipped(text: str, most: int = _MOST_TEXT) -> str:
    """Return a text, or only the start and the end of a text that is longer than `most`."""
    return text if len(text) <= most else f"{text[: most // 2]}\n{text[-most // 2 :]}"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, without bullets; a line that is too long to be one is left out."""
    found = []
    for line in text.splitlines():
        bare = _BULLET.sub("", line).strip()
        parts = _SENTENCE_END.split(bare) if len(bare) <= 20 * _LONGEST else ()
        found += [part.strip() for part in parts if part.strip() and len(part) <= _LONGEST]
    return found


def once(lines: Iterable[Line]) -> list[Line]:
    """Return lines in order, each once: where its author said it last.

    A line stays with the author who said it first, so that a quotation changes nothing.
    """
    found: dict[tuple[str, str], Line] = {}
    for line in lines:
        before = found.pop(line.key, line)
        found[line.key] = line if line.role == before.role else before
    return [*found.values()]


def unfinished(lines: Iterable[Line]) -> list[Line]:
    """Return lines without the tasks that a later report completes: it has most of their words."""
    left, reports = list[Line](), deque[set[str]](maxlen=_REPORTS)
    for line in reversed([*lines]):
        words = set(terms(line.text)) if line.kind in ("todo", "done") else set()
        if line.kind == "done":
            reports.append(words)
        elif words and any(is_covered(words, report) for report in reports):
            continue
        left.append(line)
    return left[::-1]


def is_covered(words: Set[str], others: Set[str]) -> bool:
    """Return whether most of the words are among others, so that both probably say the same."""
    return len(words & others) >= len(words) * _COVERED


def _line(role: str, text: str, at: int) -> Line:
    printed = "error" if role == "tool" and reports_failure(text) else "printed"
    return Line(role=role, kind=printed if role == "tool" else sentence_kind(role, text), text=text, at=at)


def _is_prose(line: Line) -> bool:
    """Return whether a sentence is prose that says something, not code, a name or "Go on."."""
    if line.kind not in ("told", "said"):
        return True
    found, least = {*terms(line.text)} - IDLE, 1 if line.role == "user" else 2
    says = len(found) >= least and not all(map(str.isdigit, found))
    return says and len(_SIGN.findall(line.text)) <= len(line.text) * _SIGNS


def _paths(role: str, text: str, at: int) -> list[Line]:
    """Return the paths and addresses in a text."""
    found = dict.fromkeys(each[0].rstrip(".,;:!?'\"") for each in _PATH.finditer(_ENDLESS.sub("\0", text[:_MOST_TEXT])))
    return [Line(role=role, kind="path", text=each, at=at) for each in [*found][:_MOST_PATHS] if len(each) > 2]


def _call(text: str, at: int) -> Line:
    return Line(role="assistant", kind="call", text=text, at=at)


def _called(name: str, arguments: str) -> str:
    text = brief_arguments(arguments[:_MOST_TEXT], _CALL)
    return one_line(f"{name} {text}" if text.strip(" {}") else name, _CALL)


def _command(text: str) -> str:
    """Return the last fenced block of a text, the call of an agent without tool calls; empty if there is none."""
    blocks = text.split(_FENCE)[1::2]
    return blocks[-1].partition("\n")[2].strip() if blocks else ""


def _outcome(text: str) -> str:
    """Return the most important lines of a result in one line."""
    safe = clipped(redact(text), 2 * _MOST_TEXT)
    return one_line(shortened(safe, _OUTCOME, meter("chars"), "shape"), _OUTCOME)


def one_line(text: str, most: int) -> str:
    """Return a text in one line, or its first words if it is longer than `most`."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 2].rpartition(' ')[0] or line[: most - 2]} …"
