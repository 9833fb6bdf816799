"""What is known of a history besides its turns, read when a fit first needs it and kept up from fit to fit."""

from __future__ import annotations

from functools import cached_property

from brim.history.items import Items
from brim.history.media_limit import MediaIndex
from brim.history.names import NameIndex
from brim.history.ranking import Ranking
from brim.history.rendering import Rendering
from brim.history.turns import Turns
from brim.receipts.receipt import Part


class Reading:
    """The turns of a history with their items, names and ranks."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.parts: dict[tuple[int, int, int], Part] = {}
        """The parts of dropped turns in receipts, by the generation of the turns and the positions of each."""

    @cached_property
    def rendering(self) -> Rendering:
        """Writes messages without some of their items."""
        return Rendering(self.turns)

    @cached_property
    def items(self) -> Items:
        """The items of the messages."""
        return Items(self.turns, self.rendering)

    @cached_property
    def names(self) -> NameIndex:
        """Where names were used last."""
        return NameIndex(self.turns)

    @cached_property
    def ranking(self) -> Ranking:
        """The orders in which turns are selected."""
        return Ranking(self.turns)

    @cached_property
    def media(self) -> MediaIndex:
        """The attachments."""
        return MediaIndex(self.turns)
