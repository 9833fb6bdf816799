"""Which results were superseded: the same file was read or written again later, or the same call was made again.

What a file holds and what a command prints changes while an agent works, and an old copy misleads it. So the newest
stays, and an older one is the first to shrink.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from brim.history.priority import words
from brim.history.turns import Turns
from brim.truncate.failure import reports_failure
from brim.wire.message import Message, Piece

_PATHS = ("path", "file_path", "filepath", "filename", "file", "target_file", "absolute_path", "notebook_path")
"""Arguments that name a file."""
_PARTS = frozenset(
    ("offset", "limit", "view_range", "range", "lines", "line", "start", "end", "start_line", "end_line", "page")
)
"""Arguments that ask for a part of it."""
_READS = frozenset(("read", "view", "open", "cat", "show", "get"))
_WRITES = frozenset(("write", "create", "save", "overwrite"))
_SHORT = 400
"""Characters of a result that is no file, if it reports a failure."""
_LONGEST = 100_000
"""Characters of arguments that are read."""

Place = tuple[int, int]
"""A result: the position of its message, and its index among the pieces of it."""


class FileAccess(NamedTuple):
    """What a call does to a file."""

    path: str
    reads: bool
    """Whether it reads the file, or a part of it."""
    whole: bool
    """Whether it reads or writes all of the file."""


def access(call: Piece) -> FileAccess | None:
    """Return what a call does to a file, or `None` if it is not a call that reads or writes one."""
    if len(call.text) > _LONGEST:
        return None
    try:
        arguments: Any = json.loads(call.text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict):
        return None
    path = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), None)
    command = arguments.get("command")
    said = {*words(call.name), *(words(command) if isinstance(command, str) else ())}
    reads, writes = not said.isdisjoint(_READS), not said.isdisjoint(_WRITES)
    if path is None or reads == writes:
        return None
    return FileAccess(path, reads, whole=writes or not any(arguments.get(key) is not None for key in _PARTS))


class Superseded:
    """The superseded results of a history; each message is read once."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._forget()

    def _forget(self) -> None:
        self._order = self._turns.order
        self._read = 0
        self._calls: dict[str, Piece] = {}
        self._same: dict[tuple[str, str], Place] = {}
        self._files: dict[str, list[Place]] = {}
        self._later: dict[Place, Place] = {}

    def by(self) -> dict[Place, Place]:
        """Return the superseded results, each with the one that superseded it."""
        if self._order != self._turns.order:
            self._forget()
        for position in range(self._read, len(self._turns)):
            self._add(position, self._turns.messages[position])
        self._read = len(self._turns)
        return self._later

    def _add(self, position: int, message: Message) -> None:
        for at, piece in enumerate(message.pieces):
            if piece.kind == "call":
                self._calls[piece.id] = piece
            elif piece.kind == "result" and (call := self._calls.pop(piece.id, None)) is not None:
                self._add_result((position, at), call)

    def _add_result(self, place: Place, call: Piece) -> None:
        key = call.name, call.text
        if len(call.text) > len("{}"):  # Without arguments, nothing says that the same was asked for.
            if key in self._same:
                self._later[self._same[key]] = place
            self._same[key] = place
        found = access(call)
        if found is None or self._failed(place):
            return
        known = self._files.setdefault(found.path, [])
        if found.whole:
            self._later.update({earlier: place for earlier in known if earlier != place})
            known.clear()
        if found.reads:
            known.append(place)

    def _failed(self, place: Place) -> bool:
        """Return whether a result is nothing but a short report of a failure."""
        position, at = place
        pieces = self._turns.messages[position].pieces[at + 1 : at + 2]
        text = pieces[0].text if pieces else ""
        return len(text) < _SHORT and reports_failure(text)
