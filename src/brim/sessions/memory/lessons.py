"""Lessons from earlier attempts: one sentence per attempt, taken from a reflection.

A reflection should end with `DISTILLED_LESSON: <one sentence>`. If a model omits that line, the first sentence is used,
never the whole text. The raw approach, result and reflection are only part of an event for the caller's log, so the
size of the prompt does not grow with the number of attempts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue
from brim.receipts.section import Section
from brim.truncate import cut

FIELD = "DISTILLED_LESSON"
"""The field with the lesson in a reflection; `DISTILLED` is accepted too, both in upper or lower case."""

DIRECTIVE = f"{FIELD}: <one sentence: what failed, and what to do instead>"
"""The line in a prompt that asks for it."""

NO_LESSON = "No lesson was recorded."
"""The lesson of an empty reflection."""

NO_ATTEMPTS = "No prior attempts"
"""The text of a memory without attempts."""

_MOST = 200
"""Maximum characters of a lesson; one sentence has about 100."""
_LOOKED_AT = 20_000
"""Characters at either end of a reply that are searched for a lesson."""
_LAST = 3
"""How many attempts have their lessons in a prompt."""

_DECORATION = r"[ \t*_`~\"'“”>#-]*"
_NAMED = re.compile(
    rf"(?<![A-Za-z0-9])DISTILLED(?:[ _-]?LESSON)?{_DECORATION}[:：]{_DECORATION}([^\n]*)",
    re.IGNORECASE,
)
_KEY = re.compile(r"\"DISTILLED(?:[ _-]?LESSON)?\"\s{0,20}:\s{0,20}(?=\")", re.IGNORECASE)
"""The field as a key of a JSON object."""
_OTHER_FIELD = re.compile(r"\W*[A-Z][A-Z_]{3,}\W*[:：]")
"""A line with another field."""
_PLACEHOLDER = re.compile(r"<[^>]*>|\[[^\]]*\]|\.{3}|…")
_SENTENCE = re.compile(r".+?(?:[.!?](?=[\s*_\"')\]]|$)|[。！？]|$)")
_NOTHING = re.compile(r"\s*+(?:#{1,6}\s.*|```.*|~~~.*|[-=*_\s]*+)")
"""A line without content: a heading, a fence, a rule."""
_WRAPS = 40
"""A line of at least this many characters continues on the next one, unless it ends a sentence."""
_ENDS = (".", "!", "?", "。", "！", "？", "`", '"')


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """The lesson of one attempt."""

    text: str
    distilled: bool
    """Whether it comes from the lesson field; otherwise it is the first sentence."""

    def __str__(self) -> str:
        return self.text


def distilled(reply: str) -> Lesson:
    """Return the lesson of a reflection: its last lesson field, else its first sentence.

    Raises:
        InvalidType: the reply is not a string.
    """
    if not isinstance(reply, str):
        raise InvalidType("reply", reply, "a string")
    if len(reply) > 2 * _LOOKED_AT:
        reply = reply[:_LOOKED_AT] + "\n" + reply[-_LOOKED_AT:]
    if (own := _in_json(reply)) is not None:
        return Lesson(text=_bounded(own), distilled=True)
    found = [named for match in _NAMED.finditer(reply) if (named := _named(match, reply))]
    if found:
        return Lesson(text=_bounded(found[-1]), distilled=True)
    return Lesson(text=_bounded(_first_sentence(reply)) or NO_LESSON, distilled=False)


def _in_json(reply: str) -> str | None:
    """Return the last lesson that is a JSON value in a reply; `None` if there is none."""
    lesson = None
    for match in _KEY.finditer(reply):
        try:
            value, _ = json.JSONDecoder().raw_decode(reply, match.end())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, str) and value.strip():
            lesson = " ".join(value.split())
    return lesson


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One attempt as it is remembered."""

    number: int
    """The number of the attempt, from 1, including attempts that are no longer shown."""
    lesson: Lesson

    def __str__(self) -> str:
        return f"Attempt {self.number}: {self.lesson.text}"


@dataclass(frozen=True, slots=True)
class EpisodicMemory:
    """The attempts at one task."""

    attempts: tuple[Attempt, ...] = ()
    """From the first to the last."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attempts", tuple(self.attempts))
        last = 0
        for attempt in self.attempts:
            if not isinstance(attempt, Attempt):
                raise InvalidType("attempts: an item", attempt, "an Attempt")
            if attempt.number <= last:
                raise InvalidValue("attempts: a number", attempt.number, f"above the {last} before it")
            last = attempt.number

    def after(
        self, *, approach: str = "", result: str = "", reflection: str = "", number: int | None = None
    ) -> tuple[EpisodicMemory, dict[str, Any]]:
        """Return the memory with one more attempt, and an event with the raw texts for the log.

        The lesson is taken from the reflection, or from the approach if there is none.

        Raises:
            InvalidValue: the number is not above the earlier ones, or a text is not a string.
        """
        number = self._next() if number is None else units("number", number, least=self._next())
        lesson = distilled(reflection if reflection.strip() else approach)
        event = {
            "event": "attempt_recorded",
            "attempt": number,
            "lesson": lesson.text,
            "distilled": lesson.distilled,
            "approach": approach,
            "result": result,
            "reflection": reflection,
        }
        return EpisodicMemory((*self.attempts, Attempt(number=number, lesson=lesson))), event

    def text(self, most: int = _LAST) -> str:
        """Return the lessons of the newest attempts, one line each with its number."""
        return "\n".join(map(str, self.attempts[-units("most", most, least=1) :])) or NO_ATTEMPTS

    def section(self, name: str = "lessons", *, last: int = _LAST, **options: Any) -> Section:
        """Return the lessons as a section that drops the oldest first.

        Raises:
            InvalidValue: an option is not one of `Section`.
        """
        entries = [str(attempt) for attempt in self.attempts] or [NO_ATTEMPTS]
        return Section(name, entries, **{"keep": "newest", "most": units("last", last, least=1), **options})

    def _next(self) -> int:
        return self.attempts[-1].number + 1 if self.attempts else 1


def _named(match: re.Match[str], reply: str) -> str:
    """Return the value of the field, on its line or the next, with wrapped lines; empty for a placeholder."""
    text, below = match[1], reply[match.end() : match.end() + 2 * _MOST].split("\n")[1:]
    if not _bare(text):
        while below and not below[0].strip():
            del below[0]
        text = "" if not below or _OTHER_FIELD.match(below[0]) else below.pop(0)
    if _PLACEHOLDER.fullmatch(text.strip(' \t*_`"')):
        return ""
    last = text
    for line in below:
        ends = len(last) < _WRAPS or last.rstrip(" *_").endswith(_ENDS)
        if ends or len(text) > _MOST or _NOTHING.fullmatch(line) or _OTHER_FIELD.match(line):
            break
        text, last = f"{text} {line}", line
    return _bare(text)


def _first_sentence(text: str) -> str:
    # An empty field is not a lesson.
    for line in text.splitlines():
        bare = "" if _NOTHING.fullmatch(line) or _NAMED.search(line) else _bare(line)
        if bare:
            match = _SENTENCE.match(bare)
            return match[0] if match else bare
    return ""


def _bare(text: str) -> str:
    """Return a text as one line without Markdown decoration."""
    line = " ".join(text.split())
    before = None
    while line != before:
        before = line
        line = line.strip(' *_~"“”>#')
        line = line.removeprefix("- ")
        if line.count("`") % 2:
            line = line.strip("`")
    # A lesson that is only code needs no backticks.
    return line[1:-1] if len(line) > 2 and line[0] == line[-1] == "`" and line.count("`") == 2 else line


def _bounded(text: str) -> str:
    return cut(text, _MOST, "chars", marker="…").text
