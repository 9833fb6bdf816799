"""Detect what kind of text it is, and truncate it so that it stays of that kind.

Whoever fits a prompt seldom knows what a tool has returned. The text itself mostly shows it: by its first character,
its headers, or its first lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit
from brim.meter.base import Meter
from brim.truncate import truncator
from brim.truncate.base import BaseTruncator, Cut
from brim.truncate.failure import failure_lines, reports_failure
from brim.truncate.json_shape import is_json_lines
from brim.truncate.json_tree import is_json
from brim.truncate.line_selection import LineSelection

Kind = Literal["json", "diff", "log", "markdown", "code", "text"]

_SAMPLE = 20_000
"""Characters of a text that are examined, where a part is enough."""
_LONG = 2_000_000
"""Characters of a text whose blocks are too many: it is JSON, a log, or a text."""
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
"""What only the output of programs has: tests, compilers, stack traces."""
_SOURCE = ("code", "diff")
"""Kinds of texts in which code that handles errors is no failure."""
_LINES = 4
"""How many times as long as its longest line a text is that is cut between its lines."""
_LOG_SHARE, _CODE_SHARE = 0.3, 0.3
"""Fractions of the first lines that must match."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape(BaseTruncator):
    """Truncate JSON as JSON, Markdown as Markdown, and so on; any other text as a log, between its lines.

    So is a text that does not fit as its own kind, and one whose failure would be lost. A text of few lines that
    reports no failure is cut as `Ends` would.
    """

    marker: str | None = None
    """Stands where text was removed; `None` is the marker of the detected kind."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        kind = kind_of(text)
        page = LineSelection.of(text, "")
        failures = {page.lines(line, line + 1).rstrip("\n") for line in failure_lines(page, code=kind in _SOURCE)}
        longest = max((page.starts[at + 1] - page.starts[at] for at in range(len(page))), default=0)
        other = truncator("log" if failures or longest * _LINES <= len(text) else "ends", self.marker)
        if kind in ("text", "log"):
            return (truncator("log", self.marker) if kind == "log" else other).truncate(text, limit, meter)
        try:
            cut = truncator(kind, self.marker).truncate(text, limit, meter)
        except DoesNotFit:
            return other.truncate(text, limit, meter)
        kept = reports_failure(cut.text) if kind == "json" else not failures.isdisjoint(cut.text.split("\n"))
        return cut if kept or not failures else other.truncate(text, limit, meter)


def kind_of(text: str) -> Kind:
    """Return what kind of text it looks like."""
    sample = text[:_SAMPLE]
    if sample.lstrip()[:1] in ("{", "[") and (is_json(text) or is_json_lines(text)):
        return "json"
    lines = [line for line in sample.split("\n") if line.strip()]
    is_long, is_log = len(text) > _LONG, _share(lines, _LOG_LINE) >= _LOG_SHARE
    if not is_long and _DIFF.search(sample):
        return "diff"
    if is_long or is_log:
        return "log" if is_log or _OUTPUT.search(sample) else "text"
    if _FENCE.search(sample):
        return "markdown"
    if _OUTPUT.search(sample):
        return "log"
    if sample.startswith("#!") or _share(lines, _CODE_LINE) >= _CODE_SHARE:
        return "code"
    return "markdown" if _HEADING.search(sample) else "text"


def _share(lines: list[str], pattern: re.Pattern[str]) -> float:
    """Return the fraction of lines that match, of the first two hundred."""
    first = lines[:200]
    return sum(1 for line in first if pattern.match(line[:200])) / len(first) if len(first) > 1 else 0.0
