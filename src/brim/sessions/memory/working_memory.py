"""The page that an agent writes for itself, with a limit on its lines and on each line.

If the page is too long, its first shown line asks the agent to compact it; that line is inside the limit. An agent may
write a budget for its own prompt on the page; an invalid one is ignored with a warning.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from brim.amounts import Amount, of_budget, units, units_or_share
from brim.errors import BrimError, InvalidType, InvalidValue, check_choice
from brim.files.source import parse
from brim.receipts.section import Section
from brim.truncate import cut

LINES = 75
"""The most lines of a page."""
LINE_CHARS = 1_000
"""The most characters of a line."""

_MARK = "[... {lines:,} older lines left out: the page has {had:,} lines and may have {most:,}; compact it ...]"
_KEY = "context_budget"
_FENCE = re.compile(r"(```+|~~~+)[ \t]*+(?:json|ya?ml)?[ \t]*+")
_LINE = re.compile(rf"^[\"']?{_KEY}[\"']?[ \t]*:", re.MULTILINE)
_LOOKED_AT = 100_000
"""Characters of a page in which a budget is searched."""
_FIELDS = ("max_tokens", "priority", "enabled")
_KNOWN = ("total_tokens", "sections", "allocations")


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The page of an agent."""

    text: str
    lines: int = field(default=LINES, kw_only=True)
    """The most lines that are shown of it."""
    line_chars: int = field(default=LINE_CHARS, kw_only=True)
    """The most characters that are shown of a line."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidType("text", self.text, "a string")
        units("lines", self.lines, least=2)
        units("line_chars", self.line_chars, least=len(_MARK) + 40)

    @property
    def warning(self) -> str:
        """A sentence to the agent about the size of its page; empty if it is within the limits."""
        rows = self.text.splitlines()
        wide = sum(len(row) > self.line_chars for row in rows)
        problems = []
        if len(rows) > self.lines:
            problems.append(f"working memory has {len(rows):,} lines and may have {self.lines:,}: compact it")
        if wide:
            problems.append(f"{wide:,} of its lines are longer than {self.line_chars:,} characters: shorten them")
        return "; ".join(problems)

    @property
    def shown(self) -> str:
        """The page within its limits: the newest lines, after one that counts the older ones left out."""
        rows = self.text.splitlines()
        if len(rows) > self.lines:
            gone = len(rows) - self.lines + 1
            mark = _MARK.format(lines=gone, had=len(rows), most=self.lines)
            rows = [mark, *rows[gone:]]
        elif not any(len(row) > self.line_chars for row in rows) and self.text.count("\n") < self.lines:
            return self.text
        return "\n".join(cut(row, self.line_chars, "chars", marker=" [...]").text for row in rows)

    def section(self, name: str = "working_memory", **options: Any) -> Section:
        """Return the page as a section that drops its oldest lines first.

        Raises:
            InvalidValue: an option is not one of `Section`.
        """
        return Section(name, self.shown, **{"keep": "tail", "priority": "high", **options})

    @property
    def override(self) -> BudgetOverride:
        """The budget on the page; an empty one if there is none or it is invalid."""
        try:
            found = _found(self.text[:_LOOKED_AT])
            return BudgetOverride() if found is None else _checked(found)
        except BrimError as error:
            return BudgetOverride(warning=f"the budget in the working memory is ignored: {error}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetOverride:
    """The budget that an agent set for its own prompt."""

    total: int | None = None
    """Tokens of the whole prompt."""
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`ceiling`, `priority` and `enabled` by section, as far as they are set."""
    warning: str = ""
    """Why the budget on the page is ignored."""

    def applied(self, sections: Sequence[Section]) -> list[Section]:
        """Return the sections with the overrides; a required section stays as it is."""
        return [self._applied(section) for section in sections]

    def budget(self, limit: int) -> int:
        """Return the budget of a prompt: that of the agent, but never more than the limit."""
        return limit if self.total is None else min(self.total, limit)

    def _applied(self, section: Section) -> Section:
        changes = dict(self.sections.get(section.name, {}))
        if not changes or section.required:
            return section
        if "ceiling" in changes and _above(section.floor, changes["ceiling"]):
            changes["floor"] = 0
        return replace(section, **changes)


def _above(floor: Amount, ceiling: Amount) -> bool:
    """Return whether a floor may be above a ceiling; shares are taken of a budget of a million tokens."""
    low, high = units_or_share("floor", floor), units_or_share("ceiling", ceiling)
    return of_budget(low, 10**6) > of_budget(high, 10**6)


def _found(text: str) -> Any:
    """Return the budget in a text: in a fenced block, or at the top of a page that is YAML or JSON.

    Raises:
        BrimError: a block that names a budget is neither YAML nor JSON.
    """
    if _KEY not in text:
        return None
    for block in [block for block in _blocks(text) if _KEY in block] or [text]:
        prose = block is text and not _is_object(text)
        if not prose:
            values = parse(block, "working memory").values
            if isinstance(values, Mapping) and _KEY in values:
                return values[_KEY]
    return None


def _blocks(text: str) -> Iterator[str]:
    """Yield what is between two equal fences; a fence that is never closed opens nothing."""
    lines = text.split("\n")
    closing: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        if line.startswith(("```", "~~~")):
            closing.setdefault(line.rstrip(" \t"), []).append(at)
    at = 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at])
        ends = closing.get(fence[1], []) if fence else []
        following = bisect_right(ends, at)
        if following < len(ends):
            yield "\n".join(lines[at + 1 : ends[following]])
            at = ends[following]
        at += 1


def _is_object(text: str) -> bool:
    """Return whether a whole page is meant as YAML or JSON: it begins with a brace, or a line begins with the key."""
    return text.lstrip().startswith("{") or _LINE.search(text) is not None


def _checked(values: Any) -> BudgetOverride:
    if not isinstance(values, Mapping):
        raise InvalidType(_KEY, values, f"a mapping with {', '.join(_KNOWN)}")
    for key in values:
        check_choice(f"{_KEY}: a key", key, _KNOWN)
    if "sections" in values and "allocations" in values:
        raise InvalidValue(_KEY, "sections and allocations", "written with one of them: they mean the same")
    total = values.get("total_tokens")
    if total is not None:
        units(f"{_KEY}.total_tokens", total, least=1)
    rows = values.get("sections", values.get("allocations")) or {}
    if not isinstance(rows, Mapping):
        raise InvalidType(f"{_KEY}.sections", rows, "a mapping from names to budgets")
    return BudgetOverride(total=total, sections={name: _section(name, row) for name, row in rows.items()})


def _section(name: str, row: Any) -> dict[str, Any]:
    place = f"{_KEY}.sections.{name}"
    if not isinstance(row, Mapping):
        row = {"max_tokens": row}
    for key in row:
        check_choice(f"{place}: a key", key, _FIELDS)
    renamed = {"ceiling" if key == "max_tokens" else key: value for key, value in row.items()}
    if renamed.get("priority") == "required":
        raise InvalidValue(f"{place}.priority", "required", "high, medium or low: an agent cannot make a part required")
    Section(name, "", **renamed)  # Raises if a value is invalid.
    return renamed
