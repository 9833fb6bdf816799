"""The parts of a request besides its prompt: system prompt and tools, its template, the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.errors import DoesNotFit
from brim.meter import BaseMeter
from brim.receipts.section import Section
from brim.sections import budget_section
from brim.sections.fit import fit
from brim.sections.layout import completed, placed, without_places
from brim.sections.prompt_fit import Prompt
from brim.sections.stages import HARD
from brim.settings.kinds import MOST

_TEMPLATE = "template"
"""The name of the section that has the own text of a template."""


def remaining(budget: int, meter: BaseMeter, system: str | None, tools: Sequence[Mapping[str, Any]] | None) -> int:
    """Return the budget without the tokens of the system prompt, the tools, and the message that has the prompt.

    Raises:
        DoesNotFit: they alone are over the budget.
    """
    if not system and not tools:
        return budget
    sent = [{"role": "system", "content": system}] if system else []
    taken = meter.count_messages([*sent, {"role": "user", "content": ""}], tools or None)
    if taken > budget:
        raise DoesNotFit(
            f"the prompt does not fit: the system prompt and the tools have {taken:,} {meter.unit} and the budget"
            f" is {budget:,}. Raise it by {taken - budget:,}, or send fewer tools.",
            needed=taken,
            available=budget,
            parts={"system and tools": taken},
        )
    return budget - taken


def log_overflow(sections: Sequence[Section], prompt: Prompt, agent: str | None, options: Mapping[str, Any]) -> None:
    """Log a warning if the sections alone are over the budget, with the stages that were applied."""
    log, receipt = logging.getLogger("brim"), prompt.receipt
    free = {**options, "budget": MOST, "stages": (), "hard_marker": None, "show_budget": False}
    size = fit([replace(section, ceiling=None) for section in sections], **free).receipt.used
    if size <= receipt.budget:
        return
    log.warning(
        "[Context:Budget] Prompt over budget for %s: ~%d %s (limit %d). %s",
        agent or "unknown",
        size,
        receipt.unit,
        receipt.budget,
        "Truncating sections." if options.get("stages") else "Hard truncating.",
    )
    for stage in receipt.stages:
        if stage != HARD:
            log.debug("[Context:Budget] %s", stage)
    if options.get("stages") and HARD in receipt.stages:
        log.warning(
            "[Context:Budget] Still over budget after section trimming (~%d %s). Hard truncating.",
            sum(part.wanted for part in receipt.parts) + receipt.joins,
            receipt.unit,
        )


def with_template(
    sections: Sequence[Section], template: str, missing: str, *, shows_budget: bool
) -> tuple[list[Section], str]:
    """Return the sections and a template that go together, whatever the template names.

    A place without a section has the text `missing`, a section without a place is not enabled, and a section with
    several places is in each of them.
    """
    places = placed(template)
    made = [section if section.name in places else replace(section, enabled=False) for section in sections]
    names = [section.name for section in sections] + [budget_section.NAME] * shows_budget
    template, again = completed(template, names, missing)
    by_name = {section.name: section for section in sections}
    return [*made, *(replace(by_name[name], name=further) for name, further in again if name in by_name)], template


def fit_shrinking(sections: Sequence[Section], **options: Any) -> Prompt:
    """Return a prompt whose required sections come first, truncated, or dropped if not even the marker fits.

    If the own text of the template is over the budget, it is truncated too, and stands before the sections.
    """
    try:
        return fit(sections, **options)
    except DoesNotFit:
        first = max((abs(section.rank) for section in sections), default=0) + 1
        first = first if options.get("direction") == "higher" else -first
    sections = [replace(each, required=False, priority=first) if each.required else each for each in sections]
    try:
        return fit(sections, **options)
    except DoesNotFit:
        if options.get("template") is None or any(section.name == _TEMPLATE for section in sections):
            raise
    own = Section(_TEMPLATE, without_places(options["template"]), priority=first, marker=options.get("hard_marker"))
    return fit([own, *sections], **{**options, "template": None, "show_budget": False})
