"""Find the lines of a text that report a failure.

An agent that does not see what went wrong tries the same thing again. Zero counts ("0 errors"), file names and
error-handling code do not count as reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = 60
"""Characters of the longest word that is recognised."""
_STEMS = (
    *(
        "error",
        "exception",
        "failure",
        "fail",
        "traceback",
        "fatal",
        "panic",
        "critical",
        "denied",
        "refused",
        "timed out",
    ),
    *("not found", "no such", "cannot", "could not", "unable to", "does not exist", "undefined ", "segfault"),
    *("segmentation fault", "core dumped", "abort", "crash", "out of memory", "not ok ", "exit", "http/", "err!"),
    "\ne   ",
)
"""Stems of reports in lower case. Searching for these first is faster than searching for the pattern."""
_FOREIGN = ("✗", "✘", "✖", "❌", "错误", "失败", "异常", "エラー", "失敗")
"""Stems outside ASCII."""
_NOUNS = ("error", "exception", "failure")
"""Stems that may end a longer word, such as `ValueError`."""
_FAILURE = re.compile(
    rf"(?<![\w/])(?<!\bno )(?<!\b0 )(?<!\bwithout )(?:"
    rf"\w{{0,{_WORD}}}(?:error|exception|failure)s?|fail(?:s|ed|ing)?|traceback|fatal|panic(?:ked)?|critical|denied"
    r"|refused|timed out|not found|no such|cannot|could not|unable to|does not exist|segfault|segmentation fault"
    r"|undefined (?:reference|symbol|variable)|core dumped|abort(?:ed|ing)|crash(?:ed|es)|out of memory|not ok \d+"
    r"|exit(?:ed with)? (?:code|status) [1-9]\d{0,9}|http/\d(?:\.\d)?\"? [45]\d\d|err"
    r")(?!\w|[./]\w|(?-i:-[a-z])|[\"']?\s{0,2}[:=]\s{0,2}(?:0\b|\(?none\b|null\b|false\b|\"\"|''|\[\]|\{\}))"
    r"|\ne {3}|[^\x00-\x7f]",
    re.IGNORECASE,
)
"""A report, from the start of the word."""
_CODE = re.compile(
    r"[+-]?\s{0,200}(?://|#|(?:raise|except|throws?|catch|class|def|fn|func|function|import|from|return|if)\b)"
)
_LEVEL = re.compile(r"[\W\dTZ]{0,60}(?:ERROR|FATAL|CRITICAL)\b")
"""The start of a log line: its time and its level."""
_CODE_ENDS = (";", "{", "}", ")", "]", ",", "(", "[")
_HEADER = re.compile(r'\nTraceback \(most recent call last\):\n  File "[^\n]*\n(?:[ \t][^\n]*\n|\n)*(?=\S)')
"""The header of a Python traceback and the indented lines below it; the next line is the exception."""
_STEP = 500_000
"""Characters of a text that are searched at once."""
_CLIP = 400
"""Characters of a line that are examined to tell code from a report."""


def last_failure(text: str) -> int | None:
    """Return the offset of the last failure that a text reports, or `None`."""
    return max(failure_places(text), default=None)


def reports_failure(text: str) -> bool:
    """Return whether a text reports a failure."""
    return last_failure(text) is not None


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
    text = "\n" + text
    lower = text.replace("İ", "I").lower()  # The only letter whose lower case is longer.
    stems = _STEMS if text.isascii() else (*_STEMS, *_FOREIGN)
    found = {place for stem in stems for place in _reports(text, lower, stem)}
    raised = (header.end() - 1 for header in _HEADER.finditer(text)) if "\nTraceback (" in text else ()
    return sorted(found.union(raised))


def _reports(text: str, lower: str, stem: str) -> Iterator[int]:
    """Yield the offsets of reports with one stem; `text` has an additional line break at its start."""
    at = lower.find(stem)
    while at >= 0:
        word, stop = at, at + len(stem)
        if stem in _NOUNS and not _in_word(lower[(end := stop + lower.startswith("s", stop)) : end + 1]):
            while at - word < _WORD and _in_word(lower[word - 1]):
                word -= 1
        if _FAILURE.match(text, word):
            yield at if stem[0] == "\n" else at - 1
        at = lower.find(stem, stop)


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def is_code(line: str) -> bool:
    """Return whether a line is source code rather than a report."""
    line = line[:_CLIP]
    if _LEVEL.match(line):
        return False
    return line.rstrip().endswith(_CODE_ENDS) or _CODE.match(line) is not None
