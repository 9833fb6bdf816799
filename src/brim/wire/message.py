"""A message in a form independent of providers: its role and its pieces.

A piece knows its place in the caller's object, so that an edit changes only that place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
"""The keys and indexes from a message to one of its pieces."""

ROLES = ("system", "user", "assistant", "tool")
"""The roles: instructions, the user, the model, and the results of its calls."""
MEDIA = ("image", "audio", "file")
"""Kinds of pieces that are not text."""
_OTHER_ROLE = re.compile(rf"\n\n(?=(?:{'|'.join(ROLES)}): )")


class Piece(NamedTuple):
    """One part of a message."""

    kind: str
    """`text`; `call` and its `result`; `output`, a text of a result, of a document, or of a tool that the provider ran;
    `thinking`; `image`, `audio`, `file`; `compaction`, the provider's replacement for everything before it; `unread`, a
    part that the provider does not read; `opaque`, a part of an unknown type; `remainder`, an unknown field, or the
    rest of a part besides its texts."""
    text: str
    """The counted text: a text, the arguments of a call, the JSON of an unknown part; for media, their source."""
    at: Path
    """The place of its text."""
    id: str = ""
    """The id that joins a call to its result."""
    name: str = ""
    """The name of the called function; the level of detail of an image; `sealed` for encrypted thinking or an encrypted
    compaction.
    """
    place: Path | None = None
    """The place to remove with the piece, if not `at`; empty for the whole message."""

    @property
    def whole(self) -> Path:
        """The place of the whole piece."""
        return self.at if self.place is None else self.place


class Message(NamedTuple):
    """One message of a history."""

    role: str
    """One of `ROLES`."""
    pieces: tuple[Piece, ...]
    raw: Any
    """The caller's own object."""
    name: str = ""
    """The name of the author."""
    calls: tuple[str, ...] = ()
    """The ids of its calls."""
    results: tuple[str, ...] = ()
    """The ids of the calls that it answers."""

    @property
    def last(self) -> Piece | None:
        """Its last piece in a known field; `None` if it has none."""
        for piece in reversed(self.pieces):
            if piece.kind != "remainder":
                return piece
        return None

    def text(self) -> str:
        """Return the texts, calls and results, without thinking and media."""
        spoken = ("text", "output", "call")
        return "\n".join(f"{p.name} {p.text}" if p.kind == "call" else p.text for p in self.pieces if p.kind in spoken)

    def said(self) -> str:
        """Return the texts, without calls, results, thinking and media."""
        return "\n".join(piece.text for piece in self.pieces if piece.kind == "text")

    def answers(self, piece: Piece) -> bool:
        """Return whether a piece is a part of one of its results."""
        return any(each.kind == "result" and piece.at[: len(each.at)] == each.at for each in self.pieces)

    def outputs(self) -> list[list[str]]:
        """Return the texts of each result; any other output is a list of one text."""
        owners, found = results_of(self), dict[int, list[str]]()
        for at, piece in enumerate(self.pieces):
            if piece.kind == "output":
                found.setdefault(owners.get(at, -1 - at), []).append(piece.text)
        return [*found.values()]

    def any(self, kind: str) -> bool:
        """Return whether it has a piece of that kind."""
        return any(piece.kind == kind for piece in self.pieces)


def message_of(role: str, pieces: Iterable[Piece], raw: Any, name: str = "") -> Message:
    """Return a message with the ids of its calls and results."""
    found = tuple(pieces)
    calls = tuple([piece.id for piece in found if piece.kind == "call"])
    return Message(role, found, raw, name, calls, tuple([piece.id for piece in found if piece.kind == "result"]))


_INSIDE = ("output", "opaque", "remainder", *MEDIA)
"""Kinds of pieces in a result."""


def results_of(message: Message) -> dict[int, int]:
    """Return, by index, the result that each piece of a result belongs to."""
    if not message.results:
        return {}
    places = {piece.at: at for at, piece in enumerate(message.pieces) if piece.kind == "result"}
    found: dict[int, int] = {}
    for at, piece in enumerate(message.pieces):
        if piece.kind in _INSIDE:
            owner = next((places[piece.at[:n]] for n in range(len(piece.at), -1, -1) if piece.at[:n] in places), None)
            if owner is not None:
                found[at] = owner
    return found


def spoken(role: str, text: str) -> str:
    """Return a text preceded by its role, for a summariser, so that no line of the text looks like another role.

    Such texts are joined with empty lines between them.
    """
    return f"{role}: " + _OTHER_ROLE.sub("\n ", text)
