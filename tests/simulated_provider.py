"""A provider with a hidden vocabulary: each kind of text has a ratio of its own. It shares no code with brim's meters.

It counts characters: so many tokens for a thousand characters of a kind, times the ratio of that kind in one world. At
ratio 1 a kind counts as much as brim's bound for Claude allows; the lowest ratios are the extremes of
`docs/design/counting.md`. Texts are made of a few fixed rows for each kind, so that a row has the same density
wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

ROWS: Mapping[str, Mapping[str, int]] = {
    "english": {
        "The build failed again because the disk of the host was full, so we asked the team to look at the log.": 258,
        "Please compare the answer with the one from last week and tell me which of the two is right.": 235,
        "Nobody had written down why the second attempt took so much longer than the first one.": 213,
    },
    "german": {
        "Der Aufbau ist wieder fehlgeschlagen, weil die Festplatte des Rechners voll war; bitte prüfen Sie es.": 351,
        "Die Übergabe verzögert sich um einige Tage, da das Prüfprotokoll noch nicht vollständig unterschrieben ist.": 358,
        "Für die nächste Woche wünschen wir uns eine ausführlichere Begründung der geänderten Schätzungen.": 386,
    },
    "code": {
        "        for index, row in enumerate(self.rows): total += row.size * index": 302,
        "    def resolve(self, path: str) -> int: return self.index.get(path, -1)": 382,
        "        if name not in known: raise KeyError(name); known.remove(name)": 285,
    },
    "json": {
        '{"id": 4711, "name": "worker-17", "state": "ready", "usage": {"cpu": 0.42, "memory": 2048}}': 575,
        '{"id": 4712, "name": "worker-18", "state": "busy", "usage": {"cpu": 0.97, "memory": 4096}}': 582,
    },
    "base64": {
        "kTd9QmXv0RzLw3PbYc8NfHs1JgUe5AoV7iKt2MnBxqWZrE4ySDhGpCjFuOl6TaIk": 1219,
        "Zp4Wn8Lr2XcVb6Ys0KdGt5HqJf7MeUi3RoAx9EvTzBwNkCyPhSgDmFjOlQuI1aTb": 1179,
    },
    "cjk": {
        "构建再次失败，因为主机的磁盘已满，请在中午之前查看日志并回答。": 1302,
        "没有人记录第二次尝试为什么比第一次花费了更长的时间。": 1178,
    },
    "logs": {
        "2026-03-07T11:42:09.118Z INFO  worker-17 pool=blue request=8f2c19 GET /api/v2/items/4711 status=200 ms=37": 557,
        "2026-03-07T11:42:11.530Z WARN  worker-18 pool=green request=41d7aa PUT /api/v2/items/4712 status=503 ms=912": 534,
    },
}
"""What messages are made of: rows by kind, with the tokens of a thousand characters at ratio 1."""
LOWEST = {"english": 0.81, "german": 0.88, "code": 0.82, "json": 0.84, "base64": 0.66, "cjk": 0.79, "logs": 0.84}
"""The lowest ratio of each kind."""
_FRAME = 4
"""Tokens of a message in addition to its text."""
_KINDS = (
    ("cjk", re.compile("[\u3000-\u9fff]")),
    ("logs", re.compile(r"20\d\d-\d\d-\d\dT|pool=")),
    ("json", re.compile(r'[{}]|": ')),
    ("base64", re.compile(r"[A-Za-z0-9+/]{24}")),
    ("code", re.compile(r"self\.|\): |^ {4}|KeyError")),
    ("german", re.compile(r"[äöüß]|\b(?:der|die|des|das|ist|nicht|wir|weil)\b", re.I)),
)
"""How the kind of a row, or of a piece of it, is recognised; anything else is English."""


def kind_of(row: str) -> str:
    """Return the kind of a row."""
    return next((kind for kind, sign in _KINDS if sign.search(row)), "english")


@dataclass(frozen=True)
class Provider:
    """A provider in one world."""

    window: int
    ratios: Mapping[str, float] = field(default_factory=dict)
    """The ratio of each kind; 1 for the others."""

    def size(self, messages: Sequence[Any], system: str = "") -> int:
        """Return the tokens of a prompt."""
        return sum(_FRAME + sum(map(self._text, _texts(message))) for message in messages) + self._text(system)

    def _text(self, text: str) -> int:
        thousandths = 0.0
        for row in text.splitlines():
            kind = kind_of(row)
            rate = ROWS[kind].get(row) or min(ROWS[kind].values())  # A piece of a row counts as the cheapest row.
            thousandths += (len(row) + 1) * rate * self.ratios.get(kind, 1.0)
        return int(thousandths / 1000)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts that the model reads: contents and parts, and the arguments of calls."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key not in ("role", "type", "id"):
                yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def text(dice: Random, kind: str, length: int) -> str:
    """Return rows of a kind with about so many characters."""
    rows: list[str] = []
    while sum(map(len, rows)) < length:
        rows.append(dice.choice(list(ROWS[kind])))
    return "\n".join(rows)
