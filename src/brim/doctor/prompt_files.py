"""Prompt files against budgets: what `brim check` asks, and what it is answered."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from brim.errors import DoesNotFit, InvalidValue, SourceError, UnknownName, shown
from brim.files.source import Source, load, place
from brim.files.text_files import expand, texts
from brim.meter import meter_for
from brim.meter.window import Window, budget_of
from brim.settings.spec import budget_at, is_spec, read_spec

_KEYS = ("files", "budget", "model", "meter")


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetRule:
    """Files, and the budget that each of them has to keep to."""

    files: tuple[str, ...]
    """Names, patterns or directories."""
    budget: int | Window | None = None
    """Without it, the window of the model; a file of sections has its own."""
    model: str | None = None
    meter: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One file against its budget."""

    path: str
    count: int
    """Units of the file; of a file of sections, those of the fitted prompt, or those that its essentials need."""
    budget: int
    unit: str
    meter: str
    exact: bool
    losses: int | None = None
    """Sections that were cut or dropped to fit; `None` for a plain prompt."""

    @property
    def left(self) -> int:
        """Units that are free; negative where it is over."""
        return self.budget - self.count

    @property
    def ok(self) -> bool:
        """Whether it is within its budget."""
        return self.left >= 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What a check came to."""

    verdicts: tuple[Verdict, ...]
    skipped: tuple[str, ...]
    """Files that a pattern or a directory led to and that are no text."""

    @property
    def over(self) -> tuple[Verdict, ...]:
        """The files that are over their budgets."""
        return tuple(verdict for verdict in self.verdicts if not verdict.ok)


def read_rules(path: str) -> tuple[BudgetRule, ...]:
    """Return the rules of a checks file; its patterns start from where it lies.

    Raises:
        SourceError: the file cannot be read or understood.
    """
    source = load(path)
    rows = source.mapping(("checks",)).get("checks")
    if not isinstance(rows, list) or not rows:
        raise source.error(f"checks must be a list of checks, not {shown(rows)}", "checks")
    return tuple(_rule(source, i) for i in range(len(rows)))


def _rule(source: Source, index: int) -> BudgetRule:
    keys = ("checks", index)
    row = source.mapping(_KEYS, *keys)
    files = row.get("files")
    patterns = [files] if isinstance(files, str) else files
    if not isinstance(patterns, list) or not patterns or not all(isinstance(each, str) for each in patterns):
        raise source.error(
            f"{place(keys)}.files must be a pattern or a list of them, not {shown(files)}", *keys, "files"
        )
    for key in ("model", "meter"):
        if not isinstance(row.get(key), str | None):
            raise source.error(f"{place(keys)}.{key} must be a text, not {shown(row[key])}", *keys, key)
    try:
        meter_for(row.get("meter"), row.get("model"))
    except (InvalidValue, UnknownName) as error:
        raise source.error(f"{place(keys)}: {error}", *keys, "meter" if "meter" in row else "model") from error
    folder = os.path.dirname(source.path)
    rule = BudgetRule(
        files=tuple(os.path.join(folder, pattern) for pattern in patterns),
        budget=budget_at(source, *keys, "budget", model=row.get("model")) if "budget" in row else None,
        model=row.get("model"),
        meter=row.get("meter"),
    )
    try:
        expand(rule.files)
    except SourceError as error:
        raise source.error(f"{place(keys)}.files: {error}", *keys, "files") from error
    return rule


def judge(rules: Iterable[BudgetRule]) -> Judged:
    """Return the verdict on each file of each rule.

    Raises:
        SourceError: a file cannot be read, a plain prompt has no budget, or there is nothing to judge.
        InvalidValue: a budget that cannot be.
        UnknownName: no such model or meter.
    """
    verdicts: list[Verdict] = []
    skipped: list[str] = []
    asked: list[str] = []
    for rule in rules:
        asked += rule.files
        for read in texts(expand(rule.files)):
            if read.text is None:
                skipped.append(read.path)
            elif is_spec(read.path, read.text):
                verdicts.append(_of_spec(read.path, rule))
            else:
                verdicts.append(_of_text(read.path, read.text, rule))
    if not verdicts:
        raise SourceError(", ".join(asked) or "files", "no prompt file to check is there")
    return Judged(verdicts=tuple(verdicts), skipped=tuple(skipped))


def _of_text(path: str, text: str, rule: BudgetRule) -> Verdict:
    scale = meter_for(rule.meter, rule.model)
    if rule.budget is None and rule.model is None:
        raise SourceError(path, "nothing to check it against: name a budget, or a model for its window")
    return Verdict(
        path=path,
        count=scale.count(text),
        budget=budget_of(rule.budget, rule.model),
        unit=scale.unit,
        meter=scale.name,
        exact=scale.exact,
    )


def _of_spec(path: str, rule: BudgetRule) -> Verdict:
    spec = read_spec(path)
    try:
        receipt = spec.fit(budget=rule.budget, model=rule.model, meter=rule.meter).receipt
    except DoesNotFit as error:
        own = {} if rule.model or rule.meter else spec.arguments
        scale = meter_for(rule.meter or own.get("meter"), rule.model or own.get("model"))
        return Verdict(
            path=path,
            count=error.needed,
            budget=error.available,
            unit=scale.unit,
            meter=scale.name,
            exact=scale.exact,
        )
    return Verdict(
        path=path,
        count=receipt.used,
        budget=receipt.budget,
        unit=receipt.unit,
        meter=receipt.meter,
        exact=receipt.exact,
        losses=len(receipt.losses),
    )
