"""A message in no vendor's shape: who speaks, and the pieces that it is made of.

A piece remembers where in the caller's own object it stands, so that an edit touches that place alone and
everything else, known to brim or not, comes back as it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Path = tuple[str | int, ...]
"""The keys and indexes that lead from a message to one of its pieces."""

ROLES = ("system", "user", "assistant", "tool")
"""Who can speak: instructions, the user, the model, and the results of what the model called."""


class Piece(NamedTuple):
    """One part of a message."""

    kind: str
    """`text`; `call` and its `result`; `output`, a text of a result; `thinking`; `image`, `audio`, `file`; `opaque`."""
    text: str
    """What is counted: a text, the arguments of a call, the JSON of something unknown; for media, where they are."""
    at: Path
    """Where it stands."""
    id: str = ""
    """What joins a call to its result."""
    name: str = ""
    """What is called; the detail of an image; `sealed` for thinking that only its maker can read."""
    place: Path | None = None
    """What has to go when the piece goes, if that is more than where its text stands; empty for the whole message."""

    @property
    def whole(self) -> Path:
        """Where all of it stands."""
        return self.at if self.place is None else self.place


class Message(NamedTuple):
    """One message of a history."""

    role: str
    """One of `ROLES`."""
    pieces: tuple[Piece, ...]
    raw: Any
    """The caller's own object."""
    name: str = ""
    """Who it is from, beyond the role."""
    calls: tuple[str, ...] = ()
    """The ids of what it calls and waits for."""
    results: tuple[str, ...] = ()
    """The ids of the calls that it answers."""

    def text(self) -> str:
        """Return what it says: texts, calls and results, without thinking and media."""
        spoken = ("text", "output", "call")
        return "\n".join(f"{p.name} {p.text}" if p.kind == "call" else p.text for p in self.pieces if p.kind in spoken)

    def any(self, kind: str) -> bool:
        """Return whether it has a piece of that kind."""
        return any(piece.kind == kind for piece in self.pieces)
