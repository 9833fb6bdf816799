"""Find the lines of a text that report a failure.

An agent that does not see what went wrong tries the same thing again. Zero counts ("0 errors"), file names and
error-handling code do not count as reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = 60
"""Characters of the longest word that is recognised."""
_FAILURE = re.compile(
    rf"(?<![\w/])(?<!\bno )(?<!\b0 )(?<!\bwithout )(?:"
    rf"\w{{0,{_WORD}}}(?:error|exception|failure)s?|fail(?:s|ed|ing)?|traceback|fatal|panic(?:ked)?|critical|denied"
    r"|refused|timed out|not found|no such|cannot|could not|unable to|does not exist|segfault|segmentation fault"
    r"|undefined (?:reference|symbol|variable)|core dumped|abort(?:ed|ing)|crash(?:ed|es)|out of memory|not ok \d+"
    r"|exit(?:ed with)? (?:code|status) [1-9]\d{0,9}|http/\d(?:\.\d)?\"? [45]\d\d|err"
    r")(?!\w|[./]\w|(?-i:-[a-z])|[\"']?\s{0,2}[:=]\s{0,2}(?:0\b|\(?none\b|null\b|false\b|\"\"|''|\[\]|\{\}))"
    r"|^e {3}|[✗✘✖❌]|错误|失败|异常|エラー|失敗",
    re.IGNORECASE | re.MULTILINE,
)
"""A report, from the start of the word."""
_STEM = re.compile(
    r"err|exception|fail|trace|fatal|panic|critical|denied|refused|timed out|not found|no such|cannot|could not"
    r"|unable to|does not exist|seg(?:fault|mentation)|undefined |core dumped|abort|crash|out of memory|not ok "
    r"|exit(?= |ed )|http/|\ne   "
    r"|[✗✘✖❌]|错误|失败|异常|エラー|失敗"
)
"""What every report contains, in lower case. Only lines with this are searched: that is ten times as fast."""
_CODE = re.compile(
    r"[+-]?\s{0,200}(?://|#|(?:raise|except|throws?|catch|class|def|fn|func|function|import|from|return|if)\b)"
)
_LEVEL = re.compile(r"[\W\dTZ]{0,60}(?:ERROR|FATAL|CRITICAL)\b")
"""The start of a log line: its time and its level."""
_CODE_ENDS = (";", "{", "}", ")", "]", ",", "(", "[")
_HEADER = re.compile(r'^Traceback \(most recent call last\):\n  File "[^\n]*\n(?:[ \t][^\n]*\n|\n)*(?=\S)', re.M)
"""The header of a Python traceback and the indented lines below it; the next line is the exception."""
_STEP = 500_000
"""Characters of a text that are searched at once."""
_CLIP = 400
"""Characters of a line that are examined to tell code from a report."""


def reports_failure(text: str) -> bool:
    """Return whether a text reports a failure."""
    return bool(failure_places(text))


def failure_places(text: str) -> list[int]:
    """Return the offsets of reported failures, ascending.

    A long text is searched in steps, so that other threads can run.
    """
    found: list[int] = []
    start = 0
    while start < len(text):
        end = (text.rfind("\n", start, start + _STEP) + 1 or start + _STEP) if len(text) - start > _STEP else len(text)
        found += [start + place for place in _places_in(text[start:end])]
        start = end
    return found


def _places_in(text: str) -> list[int]:
    """Return the offsets in one step, ascending."""
    raised = (header.end() for header in _HEADER.finditer(text)) if "Traceback (" in text else ()
    return sorted({*_reports(text), *raised})


def _reports(text: str) -> Iterator[int]:
    lower = "\n" + text.replace("İ", "I").lower()  # The only letter whose lower case is longer.
    end = -1
    for stem in _STEM.finditer(lower):
        if stem.start() > end:
            start, end = text.rfind("\n", 0, stem.start()) + 1, text.find("\n", stem.start())
            end = len(text) if end < 0 else end
            yield from (report.start() for report in _FAILURE.finditer(text, start, end))


def is_code(line: str) -> bool:
    """Return whether a line is source code rather than a report."""
    line = line[:_CLIP]
    if _LEVEL.match(line):
        return False
    return line.rstrip().endswith(_CODE_ENDS) or _CODE.match(line) is not None
