"""How many images and how many bytes of media a provider accepts in one request.

A hundred screenshots may fit the window and still be rejected. The oldest media are replaced by marks, several at a
time, so that the start of the next prompts does not change.
"""

from __future__ import annotations

from typing import NamedTuple

from brim.history.turns import MessageIndex
from brim.meter.catalogue import lookup
from brim.wire.message import MEDIA, Message


class MediaLimits(NamedTuple):
    """The limits of one request."""

    images: int
    size: int
    """Bytes of the request; for OpenAI, of its images."""


_LIMITS = {
    "anthropic": MediaLimits(600, 32_000_000),
    "bedrock": MediaLimits(600, 20_000_000),
    "gemini": MediaLimits(3_000, 20_000_000),
    "openai": MediaLimits(500, 50_000_000),
    "responses": MediaLimits(500, 50_000_000),
}
"""The published limits, by format."""
_SMALL_WINDOW, _FEWER = 200_000, 100
"""Anthropic's models with a window of this size accept fewer images."""
_SHARE = 0.85
"""The share of the bytes for media; texts and JSON take the rest."""
_STEP = 10
"""Messages whose media are left out at once. With 5, the start of a prompt changes twice as often."""


class MediaIndex(MessageIndex):
    """The media of a history."""

    def _forget(self) -> None:
        self._images = self._size = 0
        self._places: list[tuple[int, int, int]] = []
        """The position of each message with media, its images, and the bytes of its media."""

    @property
    def limits(self) -> MediaLimits:
        """The limits of the format, for the model if it is known."""
        images, size = _LIMITS[self._turns.wire.name]
        known = lookup(self._turns.model) if self._turns.wire.provider == "anthropic" else None
        small = known is not None and known.window is not None and known.window <= _SMALL_WINDOW
        return MediaLimits(_FEWER if small else images, int(size * _SHARE))

    def surplus(self) -> list[int]:
        """Return the positions of the messages whose media are too many or too large, the oldest first."""
        self.keep_up()
        if not self._places:
            return []
        images, size, limits = self._images, self._size, self.limits
        if images <= limits.images and size <= limits.size:
            return []
        gone = 0
        for _, own, data in self._places:
            if images <= limits.images and size <= limits.size:
                break
            images, size, gone = images - own, size - data, gone + 1
        gone = min(-(-gone // _STEP) * _STEP, len(self._places) - 1)
        return [at for at, _, _ in self._places[:gone]]

    def _add(self, position: int, message: Message) -> None:
        media = [piece for piece in message.pieces if piece.kind in MEDIA]
        if media:
            images, size = sum(piece.kind == "image" for piece in media), sum(len(piece.text) for piece in media)
            self._places.append((position, images, size))
            self._images, self._size = self._images + images, self._size + size
