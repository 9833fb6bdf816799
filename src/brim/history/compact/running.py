"""What still runs when a context ends: processes and ports, each with the line that tells of it.

A fresh context cannot see a server that the last one started, and starts it a second time. A line is dropped once a
later one says that the process was ended or the port was freed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from brim.history.compact.lines import clipped
from brim.history.compact.secrets import redact

MOST_RUNNING = 40
"""Lines that are carried on, the newest."""
_LINE = 160
"""Characters of a line."""

_NAMED = re.compile(
    r"\b(?:pid|process(?: id)?)[ :=#]{1,3}(\d{2,7})\b"
    r"|\b(?:port)[ :=#]{1,3}(\d{2,5})\b"
    r"|\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})\b"
    r"|^\[\d{1,3}\] (\d{2,7})$",
    re.I,
)
_ENDED = re.compile(
    r"\b(?:kill(?:ed)?|stopp?(?:ed)?|terminated|shut down|ended|exited|freed|no longer|not running)\b", re.I
)
_NUMBER = re.compile(r"\d{2,7}")


def running(texts: Sequence[str], before: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the lines that tell of processes and ports which were not ended since, the oldest first."""
    found: dict[str, str] = {number: line for line in before for number in _numbers(line)}
    for one in texts:
        for raw in clipped(redact(one)).splitlines():
            line = " ".join(raw[: 2 * _LINE].split())
            if _ENDED.search(line):
                for number in _NUMBER.findall(line):
                    found.pop(number, None)
            else:
                for number in _numbers(line):
                    found.setdefault(number, line[:_LINE])
    return tuple(dict.fromkeys(found.values()))[-MOST_RUNNING:]


def _numbers(line: str) -> Iterator[str]:
    """Yield the numbers of processes and ports in a line."""
    for match in _NAMED.finditer(line):
        yield next(group for group in match.groups() if group)
