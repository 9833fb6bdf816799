"""The budgets that an agent wrote on its own page, which one counts, and what the agent is told about them.

An agent that cannot read its page cannot correct it. So a budget under which the page is not in the prompt, or the
required sections do not fit, gives way to the one before it, and the last of all to that of the settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from brim.receipts.section import Section
from brim.sections.prompt_fit import Prompt
from brim.sessions.memory import BudgetOverride, WorkingMemory
from brim.truncate import cut

_READABLE = 50
"""Tokens of a page that are enough for its agent to correct it."""
_NOTICE = 400
"""Characters of a notice."""
_NO_ROOM = "a budget on this page leaves no room for the page itself or for what is required; {other} counts instead"


@dataclass(frozen=True, slots=True)
class OwnBudget:
    """The budgets on the page of an agent."""

    page: str | None
    """The name of the section."""
    overrides: tuple[BudgetOverride, ...] = ()
    """The budgets, the last on the page first."""

    @classmethod
    def of(cls, sections: Sequence[Section], page: str | None) -> OwnBudget:
        """Return the budgets on the page with that name."""
        found = next((section for section in sections if section.name == page and section.enabled), None)
        return cls(page) if found is None else cls(page, WorkingMemory(found.text).overrides)

    def attempts(self) -> Iterator[tuple[BudgetOverride, str]]:
        """Yield the budgets in the order in which they are tried, that of the settings last, each with a notice."""
        notice = ""
        for override in self.overrides:
            yield override, "; ".join(filter(None, (notice, override.warning)))
            last = override is self.overrides[-1]
            notice = _NO_ROOM.format(other="that of the settings" if last else "the one before it")
        yield BudgetOverride(), notice

    def noticed(self, sections: Sequence[Section], notice: str) -> list[Section]:
        """Return the sections, with a notice to the agent as the first line of its page."""
        line = cut(f"[context_budget: {' '.join(notice.split())}]", _NOTICE, "chars", marker="…]").text
        return [
            _below(section, line) if notice and section.name == self.page and section.enabled else section
            for section in sections
        ]

    def is_readable(self, prompt: Prompt) -> bool:
        """Return whether enough of the page is in a prompt."""
        part = next((part for part in prompt.receipt.parts if part.name == self.page), None)
        if part is None or part.state in ("whole", "empty"):
            return True
        return 0 < min(part.size, part.ceiling or part.size, _READABLE) <= part.used


def _below(section: Section, line: str) -> Section:
    content = section.content
    return replace(section, content=f"{line}\n{content}" if isinstance(content, str) else (line, *content))
