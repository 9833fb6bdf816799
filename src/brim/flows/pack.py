"""A pack: the whole context of one step, with its receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.receipts.receipt import Receipt
from brim.receipts.section import Section

ENGINE = "brim"
"""The `engine` of a receipt."""

VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """The whole context of one step."""

    step_id: str
    agent: str
    text: str = field(repr=False)
    sections: tuple[Section, ...] = field(repr=False)
    """Its sections in the order of the page: teaching notes, history, artifacts, scent trail, files."""
    receipt: Mapping[str, Any] = field(repr=False)
    """What was kept, truncated and left out, as JSON values; `docs/packs.md` lists the keys."""
    fitted: Receipt = field(repr=False)
    """The receipt of the page itself."""
    reason: str
    """Who chose the files and the summary, and why it was not the model."""

    def __str__(self) -> str:
        return self.text

    def section(self, name: str) -> str:
        """Return the text of a section; empty if the pack has no section of that name."""
        return next((section.text for section in self.sections if section.name == name), "")

    def event(self, **extra: Any) -> dict[str, Any]:
        """Return the pack as a `prompt_assembled` event; every section is in exactly one of its lists."""
        sections, steps = self.receipt["sections"], self.receipt["steps"]
        whole, cut, dropped = (
            [section["name"] for section in sections if section["state"] == state]
            for state in ("whole", "cut", "dropped")
        )
        return {
            **self.fitted.event(agent=self.agent, step_id=self.step_id, unit=self.fitted.unit),
            "sections_included": whole,
            "sections_truncated": cut,
            "sections_dropped": dropped,
            "steps_truncated": [step["step_id"] for step in steps if step["state"] == "cut"],
            "steps_dropped": [step["step_id"] for step in steps if step["state"] == "omitted"],
            **extra,
        }
