"""The page that an agent writes for itself, with a limit on its lines and on each line.

If the page is too long, the first line that is shown asks the agent to compact it. An agent may write a budget for its
own prompt on the page; invalid values are ignored with a notice. The last budget on the page is used.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
STRATEGIES = {"end": "head", "start": "newest", "middle": "ends"}
"""What a section keeps, by the side at which it is cut."""
POLICIES = {
    "truncate_low_priority": "truncate",
    "drop_low_priority": "drop",
    "truncate": "truncate",
    "drop": "drop",
}
"""What happens to sections of medium and low priority that do not fit, by policy name."""
_FIELDS = ("max_tokens", "priority", "truncation_strategy", "enabled")
_SECTIONS = ("sections", "allocations")
_KNOWN = ("total_tokens", "output_reserve", "overflow_policy", "show_budget_usage", *_SECTIONS)
_LOW = ("medium", "low")


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The page of an agent."""

    text: str
    lines: int = field(default=LINES, kw_only=True)
    """The maximum number of lines that are shown."""
    line_chars: int = field(default=LINE_CHARS, kw_only=True)
    """The maximum characters of a line that are shown."""

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
        """The page within its limits: the newest lines, preceded by a line that counts the omitted ones."""
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
        """The last budget on the page; an empty one if there is none."""
        found = [*_found(self.text)]  # Agents append to their page.
        return _checked(found[-1]) if found else BudgetOverride()


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetOverride:
    """The budget that an agent set for its own prompt."""

    total: int | None = None
    """Tokens of the whole prompt."""
    reserve: int = 0
    """Tokens of that total that are reserved for the answer."""
    overflow: str | None = None
    """What happens to sections of medium and low priority that do not fit: `truncate` or `drop`."""
    show: bool | None = None
    """Whether the prompt states its budget and use."""
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Changes of `ceiling`, `priority`, `keep` and `enabled` by section."""
    warning: str = ""
    """Which values of the budget on the page are ignored, and why."""

    def applied(self, sections: Sequence[Section]) -> list[Section]:
        """Return the sections with the overrides; a required section stays as it is."""
        return [self._applied(section) for section in sections]

    def budget(self, limit: int) -> int:
        """Return the budget of a prompt: the agent's, but never more than the limit."""
        return limit if self.total is None else min(max(self.total - self.reserve, 0), limit)

    def refused(self, sections: Sequence[Section], limit: int, known: Collection[str]) -> str:
        """Return which of the agent's values are not used in a prompt, in the page's own terms.

        Args:
            sections: the sections of the prompt.
            limit: the most tokens of the prompt.
            known: the names of other possible sections.
        """
        told = []
        if self.total is not None and self.total - self.reserve > limit:
            told.append(f"total_tokens {self.total:,} is more than the available {limit:,}, so {limit:,} is used")
        for section in sections:
            wish = self.sections.get(section.name, {}) if section.required else {}
            if any(name != "priority" and value != getattr(section, name) for name, value in wish.items()):
                told.append(f"{section.name} is required and stays as it is")
        names = {*known, *(section.name for section in sections)}
        return "; ".join(told + [f"there is no section {name}" for name in self.sections if name not in names])

    def _applied(self, section: Section) -> Section:
        changes = dict(self.sections.get(section.name, {}))
        if section.required:
            return section
        if "ceiling" in changes and _above(section.floor, changes["ceiling"]):
            changes["floor"] = 0
        if self.overflow is not None and changes.get("priority", section.priority) in _LOW:
            changes["overflow"] = self.overflow
        return replace(section, **changes) if changes else section


def _above(floor: Amount, ceiling: Amount) -> bool:
    """Return whether a floor is above a ceiling in a budget of a million tokens."""
    low, high = units_or_share("floor", floor), units_or_share("ceiling", ceiling)
    return of_budget(low, 10**6) > of_budget(high, 10**6)


def _found(text: str) -> Iterator[Any]:
    """Yield the budgets in a text: in fenced blocks, or at the top of a page that is YAML or JSON.

    For a block that names a budget but is neither YAML nor JSON, the error is yielded.
    """
    if _KEY not in text:
        return
    for block in [block for block in _blocks(text) if _KEY in block] or [text]:
        if block is text and not _is_object(text):
            continue
        try:
            values = parse(block, "working memory").values
        except BrimError as error:
            yield error
            continue
        if isinstance(values, Mapping) and _KEY in values:
            yield values[_KEY]


def _blocks(text: str) -> Iterator[str]:
    """Yield the text between two equal fences; one that is never closed is ignored."""
    lines, fence, start = text.split("\n"), "", 0
    last = {line.rstrip(" \t"): at for at, line in enumerate(lines)}
    for at, line in enumerate(lines):
        if fence and line.rstrip(" \t") == fence:
            yield "\n".join(lines[start:at])
            fence = ""
        elif not fence and (found := _FENCE.fullmatch(line)) and last.get(found[1], at) > at:
            fence, start = found[1], at + 1


def _is_object(text: str) -> bool:
    """Return whether a whole page is YAML or JSON: it begins with a brace, or a line begins with the key."""
    return text.lstrip().startswith("{") or _LINE.search(text) is not None


def _checked(values: Any) -> BudgetOverride:
    """Return the budget from values on the page; invalid ones are ignored with a warning."""
    problems: list[str] = []
    if isinstance(values, BrimError):
        return BudgetOverride(warning=f"the budget in the working memory is ignored: {values}")
    if not isinstance(values, Mapping):
        problem = InvalidType(_KEY, values, f"a mapping with {', '.join(_KNOWN)}")
        return BudgetOverride(warning=f"the budget in the working memory is ignored: {problem}")
    made: dict[str, Any] = {}
    for key, value in values.items():
        with _noting(problems):
            check_choice(f"a key of {_KEY}", key, _KNOWN)
            if key == "sections" and "allocations" in values:
                raise InvalidValue(
                    _KEY, "sections and allocations", "only one of the two names, since both mean the same"
                )
            if key in _SECTIONS:
                made["sections"] = _sections(value, problems)
            elif key == "overflow_policy":
                check_choice(f"{_KEY}.{key}", value, tuple(POLICIES))
                made["overflow"] = POLICIES[value]
            elif key == "show_budget_usage":
                if not isinstance(value, bool):
                    raise InvalidType(f"{_KEY}.{key}", value, "true or false")
                made["show"] = value
            elif value is not None:
                field, least = ("total", 1) if key == "total_tokens" else ("reserve", 0)
                made[field] = units(f"{_KEY}.{key}", value, least=least)
    told = f"ignored in the budget in the working memory: {'; '.join(problems)}" if problems else ""
    return BudgetOverride(**made, warning=told)


def _sections(rows: Any, problems: list[str]) -> dict[str, dict[str, Any]]:
    if rows is not None and not isinstance(rows, Mapping):
        raise InvalidType(f"{_KEY}.sections", rows, "a mapping from names to budgets")
    return {str(name): made for name, row in (rows or {}).items() if (made := _section(str(name), row, problems))}


def _section(name: str, row: Any, problems: list[str]) -> dict[str, Any]:
    place, made = f"{_KEY}.sections.{name}", dict[str, Any]()
    for key, value in (row if isinstance(row, Mapping) else {"max_tokens": row}).items():
        with _noting(problems):
            check_choice(f"a key of {place}", key, _FIELDS)
            changes = {"ceiling" if key == "max_tokens" else key: value}
            if key == "truncation_strategy":
                check_choice(f"{place}.{key}", value, tuple(STRATEGIES))
                changes = {"keep": STRATEGIES[value]}
            elif key == "priority" and value == "required":
                # First of all sections, but not required: an agent cannot make its prompt impossible.
                changes = {"priority": 0}
            elif key == "priority" and not isinstance(value, str):
                raise InvalidValue(f"{place}.{key}", value, "required, high, medium or low")
            try:
                Section(name or "-", "", **changes)
            except InvalidValue as error:
                raise type(error)(f"{place}.{key}", value, error.expected) from error
            made |= changes
    return made


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    """Collect the error of the block, and continue after it."""
    try:
        yield
    except BrimError as error:
        problems.append(str(error))
