"""Results and texts of which the same stands again later: the newest is shown first, and marks may point to it."""

from __future__ import annotations

from brim.history.envelopes import body, heard
from brim.history.turns import MessageIndex
from brim.wire.message import Message, results_of

_SAME_RESULT = "[the same result as in a later step]"
_SAME_TEXT = "[the same text again later]"
_SHORT = 60
"""Characters from which a repeated text is shown only once: for a shorter one, a mark would save nothing."""

Place = tuple[int, int]
"""A text: the position of its message, and the index of its piece."""


class Repeats(MessageIndex):
    """The texts and results of a history that stand again later."""

    def _forget(self) -> None:
        self._latest: dict[object, Place] = {}
        self._keys: dict[Place, object] = {}
        self._brief: set[Place] = set()
        """The texts that are too short for a mark."""

    def later(self, position: int, at: int) -> Place | None:
        """Return the last place of the same text, if that is a later one and the text is long."""
        return self._last(position, at) if (position, at) not in self._brief else None

    def said_again(self, position: int, at: int) -> bool:
        """Return whether the same text stands again later, however short it is."""
        return self._last(position, at) is not None

    def _last(self, position: int, at: int) -> Place | None:
        key = self._keys.get((position, at))
        last = self._latest[key] if key is not None else (position, at)
        return None if last == (position, at) else last

    def pieces(self, position: int, at: int) -> list[int]:
        """Return the pieces of the text or the result that a piece belongs to."""
        message = self._turns.messages[position]
        owners = results_of(message)
        return [at] if at not in owners else [i for i, owner in owners.items() if owner == owners[at]]

    def mark(self, position: int, at: int) -> str:
        """Return the mark of a text that stands again later."""
        return _SAME_RESULT if self._turns.messages[position].pieces[at].kind == "output" else _SAME_TEXT

    def _add(self, position: int, message: Message) -> None:
        contents: dict[int, list[int]] = {}
        for inner, result in results_of(message).items():
            contents.setdefault(result, []).append(inner)
        for members in contents.values():
            texts = [message.pieces[at].text for at in members]
            told = tuple(text if heard(text) else text[: body(text)] for text in texts)
            self._note("result", told, position, members)
        if message.role != "assistant" and position != self._turns.task:
            for at, piece in enumerate(message.pieces):
                if piece.kind == "text":
                    self._note("text", (piece.text,), position, [at])

    def _note(self, kind: str, texts: tuple[str, ...], position: int, members: list[int]) -> None:
        """Note where a content stands."""
        for number, at in enumerate(members):
            key = kind, texts, number
            self._latest[key] = place = position, at
            self._keys[place] = key
            if sum(map(len, texts)) < _SHORT:
                self._brief.add(place)
