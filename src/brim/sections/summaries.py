"""The summaries of one fit: each text is summarised at most once, since that may be the work of a model."""

from __future__ import annotations

from dataclasses import dataclass, field

from brim.receipts.section import Summarise


@dataclass(slots=True, eq=False)
class Summaries:
    """A function that summarises, and what it wrote so far."""

    summarise: Summarise | None
    texts: dict[str, str] = field(default_factory=dict)
    """The summaries, by their source text."""

    def of(self, text: str, limit: int) -> str:
        """Return the summary of a text, for which `limit` tokens are left; empty without a function."""
        if text not in self.texts and self.summarise is not None:
            self.texts[text] = self.summarise(text, limit)
        return self.texts.get(text, "")
