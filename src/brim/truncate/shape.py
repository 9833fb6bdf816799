"""Detect what kind of text it is, and truncate it in the same format.

Callers seldom know what a tool returns; its first character, headers or first lines usually show it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from brim.meter.base import Meter
from brim.truncate import log, truncator
from brim.truncate.base import BaseTruncator, Cut
from brim.truncate.json_parts import LARGEST, JsonParts, Parts, json_parts
from brim.truncate.parts import TextParts
from brim.truncate.picker import finest, pick, room_of

Kind = Literal["json", "diff", "log", "markdown", "code"]

_SAMPLE = 20_000
"""Characters of a text that are examined."""
_LONG = 2_000_000
"""Longer texts, in characters, are cut as logs."""
_DIFF = re.compile(r"^(?:diff --git .+|--- .+\r?\n\+\+\+ .+\r?\n@@ -\d)", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} \S.*\n\s*\n|^\S.*\n(?:=|-){3,}\s*$", re.MULTILINE)
_LOG_LINE = re.compile(
    r"\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d\d:\d\d\b)"
    r"|\s{1,8}at \S.{0,160}[:(]"
    r"|.{0,60}?\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
)
_CODE_LINE = re.compile(
    r"\s*(?:(?:async )?def \w|class \w.*[:{]|from [\w.]+ import |import [\w{*\"'(]|@\w|#include|using |package \w"
    r"|(?:export |pub |public |private |protected |static |async |final )*(?:function|func|fn|class|interface|struct"
    r"|enum|impl|trait|namespace|const|let|var|type|void|int)\b"
    r"|(?:return|if|for|while|elif|else|switch|case|try|catch|except|with|raise|throw)\b.*[:;{)]\s*$"
    r"|.*[;{]\s*$|[\])}]+[;,)]*\s*$|(?://|/\*|\*/))"
)
_OUTPUT = re.compile(
    r"^(?:Traceback \(most recent call last\):|={3,} [^\n=]{1,80} ={3,}$|goroutine \d+ \[|FAILED? |E {3,}\S|npm ERR!"
    r"|[\w./-]{1,200}:\d+(?::\d+)?: (?:error|warning|note)\b|(?:error|warning)(?:\[\w+\])?: |make(?:\[\d+\])?: )",
    re.MULTILINE,
)
"""Output of programs: tests, compilers, stack traces."""
_LOG_SHARE, _CODE_SHARE = 0.3, 0.3
"""Fractions of the first lines that must match."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape(BaseTruncator):
    """Truncate JSON as JSON, Markdown as Markdown, and so on; any other text as a log.

    If no part fits in that format, the text is cut as a log, and if no line fits either, as by `Ends`. Reported
    failures always come first.
    """

    kind: Kind | None = None
    """The format; `None` detects it, and cuts JSON of more than a million characters as a log."""
    marker: str | None = None
    """Fills each gap, on a separate line; `{dropped}` is the number of lines. `None` is the default mark, which JSON
    always has."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        cut, kind = None, self.kind
        if kind == "json" or (kind is None and len(text) <= LARGEST):
            cut = json_cut(text, limit, meter)
        kind = kind or kind_of(text)
        if cut is None and kind in ("code", "diff", "markdown"):
            lines = TextParts(text, longest=len(text) + 1, marker=self.marker)
            cut = import_module(f"brim.truncate.{kind}").picked(lines, limit, meter)
        cut = cut or log.picked(text, limit, meter, self.marker)
        return cut or truncator("ends", self.marker).truncate(text, limit, meter)


def kind_of(text: str) -> Kind:
    """Return what kind of text it looks like, apart from JSON; `log` for plain text."""
    if len(text) > _LONG:
        return "log"
    sample = text[:_SAMPLE]
    lines = [line for line in sample.split("\n") if line.strip()]
    if _DIFF.search(sample):
        return "diff"
    if _share(lines, _LOG_LINE) >= _LOG_SHARE:
        return "log"
    if _FENCE.search(sample):
        return "markdown"
    if _OUTPUT.search(sample):
        return "log"
    if sample.startswith("#!") or _share(lines, _CODE_LINE) >= _CODE_SHARE:
        return "code"
    return "markdown" if _HEADING.search(sample) else "log"


def _share(lines: list[str], pattern: re.Pattern[str]) -> float:
    """Return the fraction of lines that match, of the first two hundred."""
    first = lines[:200]
    return sum(1 for line in first if pattern.match(line[:200])) / len(first) if len(first) > 1 else 0.0


def json_cut(text: str, limit: int, meter: Meter) -> Cut | None:
    """Return a document, or lines of JSON, with fewer members; `None` if the text is neither, or nothing fits."""
    rooms = (None, room_of(text, limit, meter))
    return finest((_picked(json_parts(text, room), limit, meter) for room in rooms), limit)


def _picked(parts: Parts | None, limit: int, meter: Meter) -> Cut | None:
    """Return the last failure, if that fits, and other members; `None` if there are no members."""
    if not isinstance(parts, JsonParts):
        return None
    order, fixed = ([at] for at in parts.ranked()), [parts.failures()[-1:], ()]
    return pick(parts, order, limit, meter, fixed=fixed, show=parts.document)
