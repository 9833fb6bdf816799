"""Repeated results and texts: the newest is shown, and marks replace the older ones."""

from __future__ import annotations

from brim.history.envelopes import body, heard
from brim.history.turns import MessageIndex
from brim.wire.message import Message, results_of

SAME_RESULT = "[the same result as in a later step]"
SAME_TEXT = "[the same text again later]"
_SHORT = 60
"""Characters from which a repeated text is shown only once: for a shorter one, a mark would save nothing."""

Place = tuple[int, int]
"""A text or a result: the position of its message, and the index of its piece."""


class Repeats(MessageIndex):
    """The texts and results of a history that are repeated later."""

    def _forget(self) -> None:
        self._latest: dict[object, Place] = {}
        self.marks: dict[int, dict[int, str]] = {}
        """The marks for repeated texts, by position and index of the piece."""
        self._marked: set[int] = set()

    def taken(self) -> set[int]:
        """Return the positions of messages that got a mark since the last call."""
        marked, self._marked = self._marked, set()
        return marked

    def _add(self, position: int, message: Message) -> None:
        if message.role == "user" and position != self._turns.task:
            self._add_texts(position, message)
        if message.results:
            self._add_results(position, message)

    def _add_results(self, position: int, message: Message) -> None:
        contents: dict[int, list[str]] = {}
        for inner, result in results_of(message).items():
            text = message.pieces[inner].text
            contents.setdefault(result, []).append(text if heard(text) else text[: body(text)])
        for at, texts in contents.items():
            content = "\0".join(texts)
            if len(content) >= _SHORT:
                self._note(("result", content), (position, at), SAME_RESULT)

    def _add_texts(self, position: int, message: Message) -> None:
        for at, piece in enumerate(message.pieces):
            if piece.kind == "text" and len(piece.text) >= _SHORT:
                self._note(("text", piece.text), (position, at), SAME_TEXT)

    def _note(self, key: object, place: Place, mark: str) -> None:
        """Note the content of a place; the last place with the same content gets a mark."""
        position, at = self._latest.get(key, place)
        if (position, at) != place:
            self.marks.setdefault(position, {})[at] = mark
            self._marked.add(position)
        self._latest[key] = place
