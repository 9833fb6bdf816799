"""Take the one sentence out of a reflection that is worth remembering.

A reflection is asked to end with `DISTILLED_LESSON: <one sentence>`. What a model writes instead is decorated, spelled
otherwise, or missing; then its first sentence serves. The whole text never does: memory that holds it fills the window.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from brim.errors import InvalidType
from brim.truncate.text import cut

FIELD = "DISTILLED_LESSON"
"""The name under which a reflection gives its lesson; `DISTILLED` is read too, in any case."""

DIRECTIVE = f"{FIELD}: <one sentence: what failed, and what to do instead>"
"""The line that asks for it."""

NONE = "No lesson was recorded."
"""Stands for a reflection that says nothing."""

_MOST = 200
"""Characters of a lesson. One sentence has about 100."""
_MOST_FALLBACK = 160
_LOOKED_AT = 20_000
"""Characters of a reply at either end in which a lesson is looked for."""

_DECORATION = r"[ \t*_`~\"'“”>#-]*"
_NAMED = re.compile(
    rf"(?<![A-Za-z0-9])DISTILLED(?:[ _-]?LESSON)?{_DECORATION}[:：]{_DECORATION}([^\n]*)(?=(?:\s*\n([^\n]+))?)",
    re.IGNORECASE,
)
_OTHER_FIELD = re.compile(r"\W*[A-Z][A-Z_]{3,}\W*[:：]")
"""A line that gives something else by name."""
_PLACEHOLDER = re.compile(r"<[^>]*>|\[[^\]]*\]|\.{3}|…")
_SENTENCE = re.compile(r".+?(?:[.!?](?=[\s*_\"')\]]|$)|[。！？]|$)")
_NOTHING = re.compile(r"\s*(?:#{1,6}\s.*|```.*|~~~.*|[-=*_\s]*)")
"""A line that says nothing by itself: a heading, a fence, a rule."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """What one attempt taught."""

    text: str
    distilled: bool
    """Whether the reflection named it; if not, it is its first sentence."""

    def __str__(self) -> str:
        return self.text


def distilled(reply: str) -> Lesson:
    """Return the lesson of a reflection: the last one that it names, else its first sentence.

    Raises:
        InvalidType: the reply is no text.
    """
    if not isinstance(reply, str):
        raise InvalidType("reply", reply, "a text")
    if len(reply) > 2 * _LOOKED_AT:
        reply = reply[:_LOOKED_AT] + "\n" + reply[-_LOOKED_AT:]
    found = [named for match in _NAMED.finditer(reply) if (named := _named(match))]
    if found:
        return Lesson(text=_bounded(found[-1], _MOST), distilled=True)
    return Lesson(text=_bounded(_first_sentence(reply), _MOST_FALLBACK) or NONE, distilled=False)


def _named(match: re.Match[str]) -> str:
    """Return what stands after the name, or on the next line; a placeholder is nothing."""
    text, below = match.groups(default="")
    if not _bare(text):
        text = "" if _OTHER_FIELD.match(below) else below
    return "" if _PLACEHOLDER.fullmatch(text.strip(' \t*_`"')) else _bare(text)


def _first_sentence(text: str) -> str:
    # A name without a lesson is no lesson.
    for line in text.splitlines():
        bare = "" if _NOTHING.fullmatch(line) or _NAMED.search(line) else _bare(line)
        if bare:
            match = _SENTENCE.match(bare)
            return match[0] if match else bare
    return ""


def _bare(text: str) -> str:
    """Return a text as one line without the decoration around it."""
    line = " ".join(text.split())
    before = None
    while line != before:
        before = line
        line = line.strip(' *_~"“”>#')
        line = line.removeprefix("- ")
        if line.count("`") % 2:
            line = line.strip("`")
    # Code may be all there is to say, but then it needs no marks around it.
    return line[1:-1] if len(line) > 2 and line[0] == line[-1] == "`" and line.count("`") == 2 else line


def _bounded(text: str, most: int) -> str:
    return cut(text, most, "chars", marker="…").text
