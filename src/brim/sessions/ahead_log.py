"""What the log has of messages that were read ahead: the handles of their texts, and their shortest forms.

An entry of kind `ahead` is written with the messages that bring it. A cut then says which of them it takes, instead of
writing thousands of handles and messages at once. Texts that repeat messages of the log are not in it: the store has
them by the numbers of their entries, and a cut says which numbers it drops.
"""

from __future__ import annotations

import re
from base64 import b64encode
from binascii import a2b_base64
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from brim.history.forms import Form
from brim.store.base import LogEntry, RepeatedText, Store
from brim.wire.base import jsonable

AHEAD = "ahead"
"""The kind of the entries."""
_HASH = re.compile("b2:[0-9a-f]{32}")
_SHORT = "~"
_DIGITS = bytes.maketrans(b"\0\1", b"01")
Chosen = tuple[int, str]
"""Some of the positions that the log has: how many to skip, and then a digit for each, which is 1 for one of them."""

StoredTurn = tuple[int, tuple[str, ...]]
"""Where a turn ends whose texts the store has, and their handles."""


class DroppedTurns(NamedTuple):
    """Turns that were dropped, whose texts the store has."""

    chosen: Chosen
    """Those among the turns of the log."""
    numbers: Sequence[int]
    """The first and the last entry of each run of those whose texts repeat the log, one after the other."""
    names: Sequence[str]
    """The handles of all their texts, some of them short."""

    @property
    def handles(self) -> list[str]:
        """The handles of their texts; there may be thousands, and most callers need none."""
        return [*map(_whole, self.names)]


class AheadLog:
    """Turns and forms that the log has, by the position of their message."""

    def __init__(self) -> None:
        self.turns: dict[int, StoredTurn] = {}
        """Where a turn ends and the handles of its texts, by its first position; those that were read may be short."""
        self.repeats: dict[int, StoredTurn] = {}
        """The same for those whose texts repeat the log, which is why it does not have them; handles are shortened."""
        self.forms: dict[int, Form] = {}
        self.said = False
        """Whether the texts are those of messages, for a summary, instead of those of turns."""
        self._anew = True

    def entry(self, turns: Mapping[int, StoredTurn], forms: Mapping[int, Form]) -> dict[str, Any]:
        """Add turns and forms, and return the body of their entry."""
        self.turns.update(turns)
        self.forms.update(forms)
        body: dict[str, Any] = {"turns": [[start, stop, *map(_short, names)] for start, (stop, names) in turns.items()]}
        if forms:
            body["forms"] = {str(at): [jsonable(form.raw), form.units] for at, form in forms.items()}
        if self.said:
            body["said"] = True
        if self._anew:
            body["anew"], self._anew = True, False
        return body

    def take(self, body: Mapping[str, Any]) -> None:
        """Add what an entry has."""
        if body.get("anew"):
            self.turns, self.forms = {}, {}
        self._anew, self.said = False, body.get("said", False)
        found = {start: (stop, tuple(names)) for start, stop, *names in body["turns"]}
        if self.said:  # Only a summary compares them.
            found = {start: (stop, tuple(map(_whole, names))) for start, (stop, names) in found.items()}
        self.turns.update(found)
        self.forms.update({int(at): Form(raw, units) for at, (raw, units) in body.get("forms", {}).items()})

    def known(self, start: int) -> StoredTurn | None:
        """Return where the turn at a position ends and the handles of its texts, if the store has them."""
        return self.turns.get(start) or self.repeats.get(start)

    def names(self, starts: Iterable[int]) -> list[str]:
        """Return the handles of the texts of turns, those that were read from a log perhaps short."""
        return [name for start in starts for name in (self.turns.get(start) or self.repeats[start])[1]]

    def handles(self, chosen: Sequence[Any]) -> list[str]:
        """Return the handles of the turns that `dropped` named."""
        return [_whole(name) for start in chosen_in(self.turns, chosen) for name in self.turns[start][1]]


def _short(name: str) -> str:
    """Return a handle with fewer digits, since the log has one of every text."""
    return _SHORT + b64encode(bytes.fromhex(name[3:])).decode()[:-2] if _HASH.fullmatch(name) else name


def _whole(name: str) -> str:
    """Return the handle of what `_short` returned."""
    return f"b2:{a2b_base64(name[1:] + '==').hex()}" if name.startswith(_SHORT) else name


def chosen_of(known: Iterable[int], some: Container[int]) -> Chosen:
    """Return some of the known positions as `chosen_in` reads them."""
    digits = bytes(map(some.__contains__, sorted(known))).translate(_DIGITS).decode().rstrip("0")
    rest = digits.lstrip("0")
    return len(digits) - len(rest), rest


def chosen_in(known: Iterable[int], chosen: Sequence[Any]) -> list[int]:
    """Return those of the known positions that were chosen, in order."""
    skip, digits = chosen
    return [at for at, digit in zip(sorted(known)[skip:], digits, strict=False) if digit == "1"]


def dropped_handles(store: Store, session: str) -> Iterator[tuple[LogEntry, list[str]]]:
    """Yield the notes of texts that a session dropped, each with the handles, of which some are shortened."""
    log, repeats = AheadLog(), list[RepeatedText]()
    for entry in store.entries(session, kinds=("note", AHEAD)):
        body = entry.body
        if entry.kind == AHEAD:
            log.take({**body, "forms": {}})
        elif "kept" in body or "kept_turns" in body:
            if "dropped" in body and not repeats:
                repeats = store.repeats(session)
            yield entry, [*_within(repeats, body.get("dropped", ())), *log.handles(body.get("kept_turns", (0, ""))),
                          *body.get("kept", ())]  # fmt: skip


def _within(repeats: Sequence[RepeatedText], numbers: Sequence[int]) -> Iterator[str]:
    """Yield the handles of texts that end within runs of entries, which `DroppedTurns` names."""
    for first, last in zip(numbers[::2], numbers[1::2], strict=True):
        for each in repeats[bisect_left(repeats, first, key=_end) : bisect_right(repeats, last, key=_end)]:
            yield each.handle


def _end(text: RepeatedText) -> int:
    return text.last
