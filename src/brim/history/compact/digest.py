"""Messages as a summary reads them, one after the other: their facts, their sentences, and their lines in the index.

Whoever keeps messages until they are summarised can add each when it comes. The summary of a long history then has
little left to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brim.history.compact.facts import HEADINGS, Fact, MessageText
from brim.history.compact.reading import MessageReading, index_line, read
from brim.history.compact.secrets import redact
from brim.history.compact.tally import FactTally
from brim.receipts.receipt import handle

SAID = "Said"
"""The heading of the sentences of a summary."""
ROLES = ("user", "assistant", "system", "tool")
_KIND_OF = {heading: kind for kind, heading in HEADINGS.items()}
_LINES = 256
"""Lines of one text of the index."""


class MessageIndex:
    """A line for each message that is replaced, in texts of bounded length; each begins with the handle of the last."""

    def __init__(self, link: str = "") -> None:
        self.texts: dict[str, str] = {}
        """The texts that are full, by their handles."""
        self._link = link
        self._lines: list[str] = []

    def add(self, line: str) -> None:
        """Add the line of a message."""
        self._lines.append(line)
        if len(self._lines) == _LINES:
            text = self._text()
            self._link, self._lines = handle(text), []
            self.texts[self._link] = text

    def _text(self) -> str:
        return "\n".join([f"{self._link} earlier", *self._lines] if self._link else self._lines)

    def written(self) -> tuple[str, dict[str, str]]:
        """Return the handle of the last text, and all texts by their handles."""
        if not self._lines and self.texts:
            return self._link, dict(self.texts)
        text = self._text()
        name = handle(text)
        return name, {**self.texts, name: text}

    def copy(self) -> MessageIndex:
        """Return an index that can grow without this one."""
        made = MessageIndex(self._link)
        made.texts, made._lines = dict(self.texts), list(self._lines)
        return made


class Digest:
    """Messages that follow a summary, as the next one reads them."""

    def __init__(self, previous: str = "", index: str = "") -> None:
        """Begin with the last summary and the handle of its index; both are empty if there is none."""
        self.previous, self.link = previous, index
        self.carried, rest = read_back(redact(previous))
        self.said = [MessageText(*named(line), "") for line in rest]
        """The other lines of the last summary, and the messages."""
        self.earlier = len(rest)
        """How many of these are lines of the last summary."""
        self.readings = [read(one) for one in self.said]
        self.tally = FactTally()
        for at, reading in enumerate(self.readings):
            self.tally.add(at, "", reading.facts)
        self.index = MessageIndex(index)
        self._made: tuple[Sequence[MessageText], Digest] | None = None
        self.places: dict[int, MessageText | None] = {}
        """What was found in messages, by their positions; `None` if nothing that a summary needs."""

    def add(self, one: MessageText, reading: MessageReading | None = None) -> None:
        """Add a message."""
        reading = read(one) if reading is None else reading
        self.tally.add(len(self.said), one.handle, reading.facts)
        self.said.append(one)
        self.readings.append(reading)
        self.index.add(reading.line)

    def of(self, messages: Sequence[MessageText]) -> Digest:
        """Return a digest of some messages: this one with those that are missing, if they begin with its messages."""
        if self._made is not None and self._made[0] is messages:
            return self._made[1]
        had = self.said[self.earlier :]
        if had == list(messages[: len(had)]):
            made = object.__new__(Digest)
            made.__dict__.update(self.__dict__)
            made.said, made.readings = list(self.said), list(self.readings)
            made.tally, made.index = self.tally.copy(), self.index.copy()
        else:
            made, had = Digest(self.previous, self.link), []
        for one in messages[len(had) :]:
            made.add(one)
        self._made = messages, made
        return made

    def remains(self) -> list[object]:
        """Return what it is made of, for a caller that frees it little by little."""
        return [*self.said, *self.readings, *self.tally.remains()]

    def newest(self) -> Iterator[tuple[int, MessageText, MessageReading]]:
        """Yield the messages with what was read of them, the newest first."""
        for at in range(len(self.said) - 1, -1, -1):
            yield at, self.said[at], self.readings[at]


def index_of(messages: Sequence[MessageText], link: str) -> tuple[str, dict[str, str]]:
    """Return the handle of an index of messages, and its texts by their handles."""
    index = MessageIndex(link)
    for one in messages:
        index.add(index_line(one))
    return index.written()


def read_back(text: str) -> tuple[list[Fact], list[str]]:
    """Return the facts that a summary lists under its headings, and its other lines."""
    facts: list[Fact] = []
    rest: list[str] = []
    kind: str | None = None
    for line in text.split("\n"):  # A fact may contain other line breaks; a heading after one is part of the fact.
        heading, colon, tail = line.partition(":")
        if colon and (heading in _KIND_OF or heading == SAID):
            kind = _KIND_OF.get(heading)
            found = [atom.strip() for atom in tail.split("; ")] if kind else []
        else:
            found = [line.removeprefix("- ").strip()]
        if kind is None:
            rest += [each for each in found if each]
        else:
            at = len(facts) - 1_000_000  # They are older than any message.
            facts += [Fact(kind=kind, text=each, handle="", role="assistant", at=at) for each in found if each]
    return facts, rest


def named(text: str) -> tuple[str, str]:
    """Return the role before a text, or an empty one, and the text without it."""
    role, colon, rest = text.partition(": ")
    return (role, rest) if colon and role in ROLES else ("", text)
