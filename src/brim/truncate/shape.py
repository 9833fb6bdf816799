"""Find out what a text is and truncate it so that it stays that.

Whoever fits a prompt seldom knows what a tool has returned. The text itself mostly says: by its first character,
its headers, or what most of its first lines look like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from brim.errors import DoesNotFit
from brim.meter.base import Meter
from brim.truncate.base import Cut, Truncator, whole
from brim.truncate.code import Code
from brim.truncate.diff import Diff
from brim.truncate.ends import Ends
from brim.truncate.json_shape import Json, is_json_lines
from brim.truncate.log import Log
from brim.truncate.markdown import Markdown

Kind = Literal["json", "diff", "log", "markdown", "code", "text"]

_SAMPLE = 20_000
"""Characters of a text that are looked at, where looking at a part is enough."""
_DIFF = re.compile(r"^(?:diff --git .+|--- .+\r?\n\+\+\+ .+\r?\n@@ -\d)", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} \S.*\n\s*\n|^\S.*\n(?:=|-){3,}\s*$", re.MULTILINE)
_LOG_LINE = re.compile(
    r"\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d)"
    r"|.{0,60}?\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
)
_CODE_LINE = re.compile(
    r"\s*(?:(?:async )?def \w|class \w.*[:{]|from [\w.]+ import |import [\w{*\"'(]|@\w|#include|using |package \w"
    r"|(?:export |pub |public |private |protected |static |async |final )*(?:function|func|fn|class|interface|struct"
    r"|enum|impl|trait|namespace|const|let|var|type|void|int)\b"
    r"|(?:return|if|for|while|elif|else|switch|case|try|catch|except|with|raise|throw)\b.*[:;{)]\s*$"
    r"|.*[;{]\s*$|[\])}]+[;,)]*\s*$|(?://|/\*|\*/))"
)
_MAKERS: dict[Kind, Callable[..., Truncator]] = {
    "json": Json,
    "diff": Diff,
    "log": Log,
    "markdown": Markdown,
    "code": Code,
    "text": Ends,
}
_LOG_SHARE, _CODE_SHARE = 0.3, 0.3
"""Fractions of the first lines that have to look like it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """Truncate JSON as JSON, Markdown as Markdown, and so on; any other text as `Ends` would."""

    marker: str | None = None
    """Stands where text was removed; `None` takes the marker of the kind that was found."""

    def truncate(self, text: str, limit: int, meter: Meter) -> Cut:
        """Return a version of `text` that counts at most `limit`.

        Where its own kind cannot be kept within the limit, the text is cut as `Ends` would cut it.

        Raises:
            DoesNotFit: the marker and one character count more than `limit`.
        """
        uncut = whole(text, limit, meter)
        if uncut:
            return uncut
        try:
            return self._of(kind_of(text)).truncate(text, limit, meter)
        except DoesNotFit:
            return self._of("text").truncate(text, limit, meter)

    def _of(self, kind: Kind) -> Truncator:
        """Return the truncator of a kind, with the marker of this one if it has one."""
        make = _MAKERS[kind]
        return make() if self.marker is None else make(marker=self.marker)


def kind_of(text: str) -> Kind:
    """Return what a text looks like. The same text always looks the same."""
    sample = text[:_SAMPLE]
    if sample.lstrip()[:1] in ("{", "[") and (_is_json(text) or is_json_lines(text)):
        return "json"
    if _DIFF.search(sample):
        return "diff"
    lines = [line for line in sample.split("\n") if line.strip()]
    if _share(lines, _LOG_LINE) >= _LOG_SHARE:
        return "log"
    if _FENCE.search(sample):
        return "markdown"
    if sample.startswith("#!") or _share(lines, _CODE_LINE) >= _CODE_SHARE:
        return "code"
    return "markdown" if _HEADING.search(sample) else "text"


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except RecursionError:
        # Too deep for this reader, not for the one that shortens it; if it is none after all, `Json` sees that.
        return True
    except ValueError:
        return False
    return True


def _share(lines: list[str], pattern: re.Pattern[str]) -> float:
    """Return the fraction of lines that match, of the first two hundred."""
    first = lines[:200]
    return sum(1 for line in first if pattern.match(line[:200])) / len(first) if len(first) > 1 else 0.0
