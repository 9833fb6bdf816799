"""The checks of a run's receipts: steps that were truncated or left out, and budgets that were never used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from brim.doctor.finding import Finding, changes, rounded
from brim.settings.budgets import CHARS_A_TOKEN, LARGEST, LEAST, OLDER, RECENT, TOTAL
from brim.settings.config import Config
from brim.settings.keys import name_of
from brim.settings.resolved import Resolved

MARKER = "[CONTEXT_TRUNCATED]"
STEP_MARKER = "... (truncated)"
_EARLY = 10
"""The number of steps from which it is usual that older ones are left out."""
_TINY = 4
"""A pack is tiny if the budget holds this many of it."""
_ENOUGH = 3
"""The least number of packs that shows what is usual."""
_FRAME = 80
"""Characters around the output of a step, about."""
_FILES = "curator.files_budget_chars"
_FAILED = "the curator failed: "


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStep:
    """The fields of a receipt that are checked; missing and invalid ones are empty or 0."""

    flow: str
    step_id: str
    agent: str
    included: int
    total: int
    used: int
    """Characters of the pack, or of the history if that is all that is known."""
    budget: int
    truncated: bool
    steps: Sequence[Mapping[str, Any]]
    """The state of each earlier step."""
    receipt: Mapping[str, Any]

    @property
    def omitted(self) -> int:
        """The number of steps left out."""
        return max(0, self.total - self.included)

    @property
    def name(self) -> str:
        """The step and its agent."""
        return f"{self.step_id}-{self.agent}" if self.agent else self.step_id

    @property
    def curator_failure(self) -> str:
        """Why the curator failed; empty if it did not."""
        reason = str(_mapping(self.receipt.get("curator")).get("reason") or "")
        return reason.removeprefix(_FAILED) if reason.startswith(_FAILED) else ""

    @property
    def needed(self) -> int:
        """The budget with which the pack would have had all steps, about."""
        if not self.steps:
            return rounded(self.budget * self.total // max(self.included, 1), 10_000)
        missing = [_number(step.get("chars")) + _FRAME for step in self.steps if step.get("state") == "omitted"]
        return rounded(self.budget + sum(missing), 10_000)

    def number(self, key: str) -> int:
        """Return a number of the receipt."""
        return _number(self.receipt.get(key))


def run_step(receipt: Mapping[str, Any], flow: str = "") -> RunStep:
    """Return the fields of a receipt; `flow` is used if it names none."""
    history = _mapping(receipt.get("context_truncation"))
    note = receipt.get("note")
    included, total = _number(history.get("steps_included")), _number(history.get("steps_total"))
    return RunStep(
        flow=str(receipt.get("flow") or flow),
        step_id=str(receipt.get("step_id")),
        agent=str(receipt.get("agent") or ""),
        included=included,
        total=total,
        used=_number(receipt.get("used_chars")) or _number(history.get("chars_used")),
        budget=_number(history.get("budget_chars")) or _number(receipt.get("budget_chars")),
        truncated=history.get("truncated") is True or (isinstance(note, str) and MARKER in note) or included < total,
        steps=_rows(receipt.get("steps")),
        receipt=receipt,
    )


class Run:
    """The receipts of a flow, and its settings."""

    def __init__(self, config: Config, profile: str | None, flow: str, steps: Sequence[RunStep]) -> None:
        known = flow in config.flows
        self.steps = steps
        self._ids = {step.id for step in config.flow(flow).steps} if known else set()
        self._resolve = partial(config.resolve, profile=profile, flow=flow if known else None)
        self.settings = self._resolve()

    def scope(self, losing: Iterable[RunStep]) -> Resolved:
        """Return the narrowest settings that mend it: those of a step, if no other step of the run has the symptom."""
        names = {step.step_id for step in losing}
        alone = len(names) == 1 and any(step.step_id not in names for step in self.steps)
        return self._resolve(step=names.pop()) if alone and names <= self._ids else self.settings


def run_findings(run: Run) -> Iterator[Finding]:
    """Yield the findings about the receipts of one flow."""
    for check in (_left_out, _cut, _one_large, _notes, _loader, _tiny, _curator, _ended):
        yield from check(run)


def _left_out(run: Run) -> Iterator[Finding]:
    """Find the marker early in a flow: the total is too small."""
    early = [step for step in run.steps if step.omitted and step.total < _EARLY]
    if not early:
        return
    first, settings = early[0], run.scope(early)
    window, tokens = first.number("window_tokens"), first.number("used_tokens")
    if window and tokens * 10 >= window * 9 and first.used * 10 < first.budget * 9:
        yield Finding(
            check="window is full",
            seen=f"{first.name} left out {first.omitted} of {first.total} steps at {tokens:,} of the window's"
            f" {window:,} tokens",
            do="Use a model with a bigger window, or reduce the sections around the history.",
        )
        return
    now, wanted = settings.value(TOTAL), min(max(step.needed for step in early), LARGEST)
    do = "The budget is at its maximum: let steps write files, list them under artifacts, and shorten their output."
    if wanted > now:
        do = f"Raise context_budget_chars from {now:,} to {wanted:,}."
    yield Finding(
        check="total budget is hit early",
        seen=f"{MARKER} in {len(early)} of {len(run.steps)} packs of the flow {first.flow or '?'} already before step"
        f" {_EARLY}: {first.name} included {first.included} of {first.total} steps within {first.budget:,} chars",
        do=do,
        changes=changes(settings, TOTAL, wanted, narrow=True) if wanted > now else (),
    )


def _one_large(run: Run) -> Iterator[Finding]:
    """Find one step that writes more than all others together."""
    sizes = {str(row.get("step_id")): _number(row.get("chars")) for step in run.steps for row in step.steps}
    if not any(step.truncated for step in run.steps) or len(sizes) < _ENOUGH:
        return
    name, largest = max(sizes.items(), key=lambda item: item[1])
    others = sum(sizes.values()) - largest
    if largest > others:
        yield Finding(
            check="one large step",
            seen=f"step {name} wrote {largest:,} chars, all {len(sizes) - 1} others together {others:,}",
            do=f"Find out why step {name} writes so much; let it write a file and list it under artifacts.",
        )


def _notes(run: Run) -> Iterator[Finding]:
    """Find truncation notes that need a review."""
    noted = [step for step in run.steps if step.omitted]
    if not noted:
        return
    lost = Counter(
        str(row.get("agent"))
        for step in noted
        for row in step.steps
        if row.get("state") == "omitted" and row.get("class") in ("CRITICAL", "HIGH")
    )
    who = ", ".join(f"{name} ({count})" for name, count in lost.most_common(4))
    most = max(step.omitted for step in noted)
    yield Finding(
        check="truncation notes to review",
        level="wrong" if lost else "advice",
        seen=f"{len(noted)} of {len(run.steps)} packs carry {MARKER}, up to {most} steps left out"
        + (f"; of CRITICAL and HIGH agents: {who}" if who else "; late in a long flow that is expected"),
        do=f"Read the receipts of {', '.join(step.name for step in noted[:3])}"
        + (f" and {len(noted) - 3} more" if len(noted) > 3 else "")
        + (", and raise context_budget_chars if the steps mattered." if who else "."),
    )


def _cut(run: Run) -> Iterator[Finding]:
    """Find truncated outputs: the limit of the newest step or of the older ones is too small."""
    older = [(step, row) for step in run.steps for row in step.steps[:-1] if row.get("state") == "cut"]
    newest = _newest_cut(run)
    newest += [(step, {}) for step in run.steps if step.truncated and not step.omitted and not step.steps]
    for key, which, cuts in ((RECENT, "the newest step", newest), (OLDER, "older steps", older)):
        if cuts:
            largest = max(_number(row.get("chars")) for _, row in cuts)
            size = f", the largest output {largest:,} chars" if largest else ""
            seen = f"{STEP_MARKER!r} on {which}: {len(cuts)} times in {len(run.steps)} packs{size}"
            place = run.scope(step for step, _ in cuts)
            yield _raise(place, key, rounded(largest, 1_000), f"{which} cut", seen)


def _newest_cut(run: Run) -> list[tuple[RunStep, Mapping[str, Any]]]:
    """Return the packs whose newest step is truncated, with the state of that step."""
    return [(step, step.steps[-1]) for step in run.steps if step.steps and step.steps[-1].get("state") == "cut"]


def _loader(run: Run) -> Iterator[Finding]:
    """Find a context loader whose files do not arrive."""
    lost = [row for step, row in _newest_cut(run) if "loader" in step.agent or "loader" in str(row.get("agent"))]
    if lost:
        largest = max(_number(row.get("chars")) for row in lost)
        seen = f"the input or output of a context loader was truncated {len(lost)} times, of up to {largest:,} chars"
        yield _raise(run.settings, RECENT, rounded(largest, 1_000), "context loader misses files", seen)
    files = [file for step in run.steps for file in _rows(step.receipt.get("files"))]
    dropped = [file for file in files if file.get("given") in ("dropped", "path")]
    if dropped:
        seen = f"{len(dropped)} times only the path of a chosen file fitted, first {dropped[0].get('path')}"
        yield _raise(run.settings, _FILES, run.settings.value(_FILES) * 2, "files left out", seen)


def _raise(settings: Resolved, key: str, wanted: int, check: str, seen: str) -> Finding:
    """Return the finding that a setting should be raised."""
    now, top = settings.value(key), LARGEST if key == _FILES else settings.value(TOTAL)
    wanted = min(max(wanted, now + now // 2), top)
    if wanted <= now:
        do = f"{name_of(key)} is as large as the whole budget of {top:,}: raise context_budget_chars."
        return Finding(check=check, seen=seen, do=do)
    do = f"Raise {name_of(key)} from {now:,} to {wanted:,}."
    return Finding(check=check, seen=seen, do=do, changes=changes(settings, key, wanted, narrow=True))


def _tiny(run: Run) -> Iterator[Finding]:
    """Find packs that are tiny compared with their budget."""
    steps, now = run.steps, run.settings.value(TOTAL)
    fullest = max(step.used for step in steps)
    wanted = max(rounded(2 * fullest, 10_000), LEAST[TOTAL])
    if len(steps) < _ENOUGH or fullest * _TINY > now or wanted >= now or any(step.truncated for step in steps):
        return
    window = max(step.number("window_tokens") for step in steps)
    holds = f", and a window of {window:,} tokens" if window else ""
    yield Finding(
        check="prompts are tiny",
        level="advice",
        seen=f"the fullest of {len(steps)} packs has {fullest:,} chars (about {fullest // CHARS_A_TOKEN:,} tokens),"
        f" {100 * fullest // now} % of the budget of {now:,}{holds}",
        do=f"Lower context_budget_chars to {wanted:,}.",
        changes=changes(run.settings, TOTAL, wanted),
    )


def _curator(run: Run) -> Iterator[Finding]:
    """Find a curator that fails."""
    failed = [step for step in run.steps if step.curator_failure]
    if not failed:
        return
    slow = any("took longer" in step.curator_failure for step in failed)
    seconds = run.settings.value("timeout_seconds")
    yield Finding(
        check="curator fails",
        level="advice",
        seen=f"the curator failed for {len(failed)} of {len(run.steps)} packs, first for {failed[0].name}:"
        f" {failed[0].curator_failure}",
        do="Give it more time." if slow else "Fix its model, or switch it off.",
        changes=changes(run.settings, *(("timeout_seconds", seconds * 2) if slow else ("curator.enabled", "false"))),
    )


def _ended(run: Run) -> Iterator[Finding]:
    """Find steps that ended at a limit of the model."""
    longer = "Split the step, or use a model with longer answers. Budgets are for input and do not help."
    window = "Set model or window.size to the window that the server really has."
    for check, key, value, do in (
        ("answer cut off", "stop", "length", longer),
        ("prompt refused", "http_status", 400, window),
    ):
        names = [step.name for step in run.steps if step.receipt.get(key) == value]
        if names:
            yield Finding(check=check, seen=f"{len(names)} times, first {names[0]}", do=do)


def _number(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, Iterable) else []
