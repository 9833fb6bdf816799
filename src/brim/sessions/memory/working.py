"""A page that an agent writes for itself, and never more of it than a prompt can bear.

It has a cap on its lines, and one on each line, since a single line can be as long as a book. What is over the cap is
told to the agent on the page itself, inside the cap, so that it compacts what it wrote. An agent may put a budget for
its own prompt on the page; one that cannot be understood is ignored, and a warning says why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from brim.amounts import Amount, of_budget, units, units_or_share
from brim.errors import BrimError, InvalidType, InvalidValue, check_choice
from brim.files.source import parse
from brim.receipts.section import Section
from brim.truncate.text import cut

LINES = 75
"""Lines that a page has at the most."""
LINE_CHARS = 1_000
"""Characters that a line has at the most."""

_MARK = "[... {lines:,} older lines left out: the page has {had:,} lines and may have {most:,}; compact it ...]"
_KEY = "context_budget"
_FENCE = re.compile(r"^(```+|~~~+)[ \t]*(?:json|ya?ml)?[ \t]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_LOOKED_AT = 100_000
"""Characters of a page in which a budget is looked for."""
_FIELDS = ("max_tokens", "priority", "enabled")
_KNOWN = ("total_tokens", "sections", "allocations")


@dataclass(frozen=True, slots=True)
class Working:
    """A page of an agent's own."""

    text: str
    lines: int = field(default=LINES, kw_only=True)
    """The most lines that are shown of it."""
    line_chars: int = field(default=LINE_CHARS, kw_only=True)
    """The most characters that are shown of a line."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidType("text", self.text, "a text")
        units("lines", self.lines, least=2)
        units("line_chars", self.line_chars, least=len(_MARK) + 40)

    @property
    def warning(self) -> str:
        """What the agent should be told about the size of its page, or nothing."""
        had, wide = self._had()
        told = []
        if had > self.lines:
            told.append(f"working memory has {had:,} lines and may have {self.lines:,}: compact it")
        if wide:
            told.append(f"{wide:,} of its lines are longer than {self.line_chars:,} characters: shorten them")
        return "; ".join(told)

    @property
    def shown(self) -> str:
        """The page within its caps: the newest lines, after one that says how many older ones are left out."""
        rows = self.text.splitlines()
        if len(rows) > self.lines:
            gone = len(rows) - self.lines + 1
            mark = _MARK.format(lines=gone, had=len(rows), most=self.lines)
            rows = [mark, *rows[gone:]]
        elif not any(len(row) > self.line_chars for row in rows) and self.text.count("\n") < self.lines:
            return self.text
        return "\n".join(cut(row, self.line_chars, "chars", marker=" [...]").text for row in rows)

    def section(self, name: str = "working_memory", **options: Any) -> Section:
        """Return the page as a section, which gives up its oldest lines first.

        Raises:
            InvalidValue: an option that a section cannot have.
        """
        return Section(name, self.shown, **{"keep": "tail", "priority": "high", **options})

    @property
    def override(self) -> Override:
        """The budget that the agent put on its page; an empty one where there is none, or none to be understood."""
        try:
            found = _found(self.text[:_LOOKED_AT])
            return Override() if found is None else _checked(found)
        except BrimError as error:
            return Override(warning=f"the budget in the working memory is ignored: {error}")

    def _had(self) -> tuple[int, int]:
        rows = self.text.splitlines()
        return len(rows), sum(len(row) > self.line_chars for row in rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class Override:
    """What an agent set for its own prompt."""

    total: int | None = None
    """Units of the whole prompt."""
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For each section, which of `ceiling`, `priority` and `enabled` it set."""
    warning: str = ""
    """Why a budget that was there is ignored."""

    def applied(self, sections: Sequence[Section]) -> list[Section]:
        """Return the sections with what the agent set; a section that is required stays required and enabled."""
        return [self._applied(section) for section in sections]

    def budget(self, given: int) -> int:
        """Return the budget of a prompt: the agent's own, but never more than the one that is given."""
        return given if self.total is None else min(self.total, given)

    def _applied(self, section: Section) -> Section:
        asked = self.sections.get(section.name, {})
        if not asked or section.required:
            return section
        changes = dict(asked)
        if "ceiling" in changes and _above(section.floor, changes["ceiling"]):
            changes["floor"] = 0
        return replace(section, **changes)


def _above(floor: Amount, ceiling: Amount) -> bool:
    """Return whether a floor may be above a ceiling; of a share, as of a budget of a million units."""
    low, high = units_or_share("floor", floor), units_or_share("ceiling", ceiling)
    return of_budget(low, 10**6) > of_budget(high, 10**6)


def _found(text: str) -> Any:
    """Return the budget that stands in a text: in a fenced block, or at the top of a page that is YAML or JSON.

    Raises:
        BrimError: a block that names a budget is neither.
    """
    if _KEY not in text:
        return None
    blocks = [match[2] for match in _FENCE.finditer(text)]
    for block in [block for block in blocks if _KEY in block] or [text]:
        prose = block is text and not _is_object(text)
        if not prose:
            values = parse(block, "working memory").values
            if isinstance(values, Mapping) and _KEY in values:
                return values[_KEY]
    return None


def _is_object(text: str) -> bool:
    """Return whether a page as a whole is meant as YAML or JSON: it begins with a bracket, or the key begins a line."""
    return text.lstrip().startswith("{") or re.search(rf"^[\"']?{_KEY}[\"']?[ \t]*:", text, re.MULTILINE) is not None


def _checked(values: Any) -> Override:
    if not isinstance(values, Mapping):
        raise InvalidType(_KEY, values, f"a mapping with {', '.join(_KNOWN)}")
    for key in values:
        check_choice(f"{_KEY}: a key", key, _KNOWN)
    if "sections" in values and "allocations" in values:
        raise InvalidValue(_KEY, "sections and allocations", "given only one of them: they mean the same")
    total = values.get("total_tokens")
    if total is not None:
        units(f"{_KEY}.total_tokens", total, least=1)
    rows = values.get("sections", values.get("allocations")) or {}
    if not isinstance(rows, Mapping):
        raise InvalidType(f"{_KEY}.sections", rows, "a mapping from names to budgets")
    return Override(total=total, sections={name: _section(name, row) for name, row in rows.items()})


def _section(name: str, row: Any) -> dict[str, Any]:
    place = f"{_KEY}.sections.{name}"
    if not isinstance(row, Mapping):
        row = {"max_tokens": row}
    for key in row:
        check_choice(f"{place}: a key", key, _FIELDS)
    renamed = {"ceiling" if key == "max_tokens" else key: value for key, value in row.items()}
    if renamed.get("priority") == "required":
        raise InvalidValue(f"{place}.priority", "required", "high, medium or low: an agent cannot make a part required")
    Section(name, "", **renamed)  # Refuses what a section cannot have.
    return renamed
