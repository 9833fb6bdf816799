"""What settings add to `brim.fit`: templates, budgets set by agents, shrinking, logging, and summaries.

An agent may write budgets into its own section (`prompt.own_budget`). To correct a mistake, it must be able to read
that section. So if a budget leaves no room for the section or for required ones, that of the settings is used.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any

from brim.errors import DoesNotFit
from brim.llm import LanguageModel, Reply
from brim.meter import BaseMeter
from brim.meter.window import Window
from brim.receipts.section import Section
from brim.sections import budget_section
from brim.sections.fit import fit
from brim.sections.layout import replaced_places, without_places
from brim.sections.prompt_fit import Prompt
from brim.sections.stages import HARD
from brim.sessions.memory import BudgetOverride, WorkingMemory
from brim.settings.values import MOST
from brim.truncate import cut

Sent = tuple[str | None, Sequence[Mapping[str, Any]] | None]
"""The system prompt and the tools that are sent with a prompt."""

OPTIONS = ("policy", "fill", "order", "separator", "template", "show_budget", "direction", "stages", "hard_marker")
"""The arguments of `brim.fit` that are settings."""

_TEMPLATE = "template"
"""The name of the section with the template's own text."""
_READABLE = 50
"""Tokens of its own section that an agent must see to be able to correct it."""
_NOTICE = 400
"""Characters of a notice to an agent."""
_FIELD = re.compile(r"([^!:]+)(?:!([rsa]))?(?::(.*))?", re.DOTALL)
"""A placeholder of a template: a field, a conversion, a format."""
_BASE_END = re.compile(r"[!:.\[]")
"""The end of the name in a placeholder."""
_FORMATTER = Formatter()
DIRECTIVE = (
    "Summarise this history for whoever takes the next step: what was tried, what came of it, what must not be tried"
    " again. Keep names, paths and numbers. At most {limit} tokens."
)
"""The instruction of the call that writes a summary."""

HISTORIES = ("history", "lessons")
"""The names of the section that strategy B summarises; the first that exists is used."""

_SHORTEST = 200
"""The least tokens for a summary."""
_NO_ROOM = (
    "the budget in this section leaves no room for this section or the required ones; that of the settings is used"
    " instead"
)


def own_budgets(sections: Sequence[Section], page: str | None) -> tuple[tuple[BudgetOverride, str], ...]:
    """Return the budgets to try, each with a notice for the agent: the one in its own section, and none."""
    found = next((section for section in sections if section.name == page and section.enabled), None)
    own = BudgetOverride() if found is None else WorkingMemory(found.text).override
    none = (BudgetOverride(), _NO_ROOM if own != BudgetOverride() else "")
    return ((own, own.warning), none) if none[1] else (none,)


def noticed(sections: Sequence[Section], page: str | None, notice: str) -> list[Section]:
    """Return the sections, with the notice as the first line of the agent's section."""
    if not notice:
        return list(sections)
    line = cut(f"[context_budget: {' '.join(notice.split())}]", _NOTICE, "chars", marker="…]").text
    made = []
    for section in sections:
        content = section.content
        below = f"{line}\n{content}" if isinstance(content, str) else (line, *content)
        made.append(replace(section, content=below) if section.name == page and section.enabled else section)
    return made


def is_readable(prompt: Prompt, page: str | None) -> bool:
    """Return whether enough of the agent's section is in a prompt."""
    part = next((part for part in prompt.receipt.parts if part.name == page), None)
    if part is None or part.state in ("whole", "empty"):
        return True
    return 0 < min(part.size, part.ceiling or part.size, _READABLE) <= part.used


def remaining(budget: int, meter: BaseMeter, sent: Sent) -> int:
    """Return the budget less the tokens of the system prompt, the tools, and the framing of the prompt's message.

    Raises:
        DoesNotFit: these alone exceed the budget.
    """
    system, tools = sent
    if not system and not tools:
        return budget
    before = [{"role": "system", "content": system}] if system else []
    taken = meter.count_messages([*before, {"role": "user", "content": ""}], tools or None)
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
    """Log a warning if the sections exceed the budget, and the stages that were applied."""
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


def text_content(value: Any, missing: str) -> Any:
    """Return a content of any type as a string or a list of strings, and `None` as `missing`; a section stays."""
    if isinstance(value, str | Section):
        return value
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_text_of(each, missing) for each in value]
    return _text_of(value, missing)


def _text_of(value: Any, missing: str) -> str:
    """Return a value as text; `missing` for `None`, and for a value without a text."""
    try:
        return missing if value is None else str(value)
    except Exception:  # The caller's own `__str__`, or a number with too many digits.
        return missing


def with_template(
    sections: Sequence[Section], template: str, contents: Mapping[str, Any], missing: str, *, shows_budget: bool
) -> tuple[list[Section], str]:
    """Return sections and a template that match each other.

    A placeholder may use everything that `str.format` accepts: conversions, formats, items and attributes. A
    placeholder without a section gets the text `missing`, a section without a placeholder is disabled, and a section
    with several placeholders is inserted at each.
    """
    known = {section.name: section for section in sections}
    made: dict[str, Section] = {}
    places = set()

    def place(inner: str) -> str:
        base = inner if inner in known else _BASE_END.split(inner, maxsplit=1)[0]
        if base == budget_section.NAME and shows_budget:
            name = base
        elif base not in known:
            return missing.replace("{", "{{").replace("}", "}}")
        else:
            name = base if base not in made else f"{base} ({len(made)})"
            content = known[base].content
            if inner != base and not isinstance(contents[base], Section):
                content = _formatted(inner, content, contents, missing)
            made[name] = replace(known[base], name=name, content=content)
        places.add(name)
        return f"{{{name}}}"

    template = replaced_places(template, place)
    made = {**{name: replace(section, enabled=False) for name, section in known.items()}, **made}
    names = [*made, *([budget_section.NAME] if shows_budget else ())]
    return list(made.values()), template + "".join(f"{{{name}}}" for name in names if name not in places)


def _formatted(inner: str, content: Any, contents: Mapping[str, Any], missing: str) -> Any:
    """Return the content of a placeholder with a format, or without it if it does not suit the value."""
    match = _FIELD.fullmatch(inner)
    if match is None:
        return missing
    field, conversion, form = match.groups()
    if field in contents and not isinstance(content, str):
        return content
    try:
        value = _FORMATTER.get_field(field, (), contents)[0] if "._" not in field else missing
        value = missing if value is None else value
        return format(_FORMATTER.convert_field(value, conversion), form or "")
    except (LookupError, AttributeError, ValueError, TypeError):
        return content if field in contents else missing


def fit_shrinking(sections: Sequence[Section], **options: Any) -> Prompt:
    """Return a prompt in which required sections are served first, but may be truncated or dropped.

    A template whose own text exceeds the budget is truncated too, and placed before the sections.
    """
    try:
        return fit(sections, **options)
    except DoesNotFit:
        first = max((abs(section.rank) for section in sections), default=0) + 1
        first = first if options.get("direction") == "higher" else -first
    needed = {each.name for each in sections if each.required}
    sections = [replace(each, required=False, priority=first) if each.required else each for each in sections]
    try:
        made = fit(sections, **options)
        lost = {part.name for part in made.receipt.parts if part.name in needed and part.state == "dropped"}
        # A few words without a marker are better than none.
        return (
            fit([replace(each, marker="") if each.name in lost else each for each in sections], **options)
            if lost
            else made
        )
    except DoesNotFit:
        if options.get("template") is None or any(section.name == _TEMPLATE for section in sections):
            raise
    own = Section(_TEMPLATE, without_places(options["template"]), priority=first, marker=options.get("hard_marker"))
    return fit([own, *sections], **{**options, "template": None, "show_budget": False})


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAnswer:
    """A prompt, and a model's answer to it."""

    prompt: Prompt
    reply: Reply
    calls: int
    """The number of calls: 1, or 2 if the history was summarised."""
    summary: str | None = None
    """The text that replaced the history in the prompt."""
    reason: str = ""
    """Why a needed summary is missing."""


def left_out(section: Section) -> Sequence[str]:
    """Return the entries of a section that `most` leaves out."""
    left = len(section.content) - len(section.chosen)
    return section.content[:left] if section.keeps_end else section.content[-left:]


def summary_of(section: Section, granted: int, model: LanguageModel, window: Window | None, meter: BaseMeter) -> str:
    """Return a model's summary of a history, or of as much of it as fits into the model's window."""
    limit = max(granted, _SHORTEST)
    sections = [
        Section("directive", DIRECTIVE.format(limit=limit), required=True),
        replace(section, name="history", priority="medium", required=False, ceiling=None, keep="newest", most=None),
    ]
    # Without a known window, the whole history is sent and the model may refuse it.
    budget = MOST if window is None else max(window.budget - limit, 0)
    return model.complete(fit(sections, budget, meter=meter).text).text
