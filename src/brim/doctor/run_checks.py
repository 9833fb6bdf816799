"""The checks of a run's receipts: steps that were truncated or left out, and budgets that were never used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brim.doctor.finding import Finding, commands, rounded
from brim.settings.budgets import CHARS_A_TOKEN, LARGEST, LEAST, OLDER, RECENT, TOTAL
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


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStep:
    """The fields of a receipt that are checked; missing ones are empty or `None`."""

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
    files: Sequence[Mapping[str, Any]]
    window: int | None
    tokens: int | None
    curator: str
    status: int | None
    stop: str

    @property
    def omitted(self) -> int:
        """The number of steps left out."""
        return max(0, self.total - self.included)

    @property
    def name(self) -> str:
        """The step and its agent."""
        return f"{self.step_id}-{self.agent}" if self.agent else self.step_id

    @property
    def by_window(self) -> bool:
        """Whether the model's window was full, and not the budget."""
        full = self.window is not None and self.tokens is not None and self.tokens * 10 >= self.window * 9
        return full and self.used * 10 < self.budget * 9

    @property
    def needed(self) -> int:
        """The budget with which the pack would have had all steps, about."""
        if not self.steps:
            return rounded(self.budget * self.total // max(self.included, 1), 10_000)
        missing = [_number(step.get("chars")) + _FRAME for step in self.steps if step.get("state") == "omitted"]
        return rounded(self.budget + sum(missing), 10_000)


def run_step(receipt: Mapping[str, Any], flow: str = "") -> RunStep:
    """Return the fields of a receipt; `flow` is used if it names none."""
    history = _mapping(receipt.get("context_truncation"))
    note = receipt.get("note")
    included, total = _number(history.get("steps_included")), _number(history.get("steps_total"))
    reason = str(_mapping(receipt.get("curator")).get("reason") or "")
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
        files=_rows(receipt.get("files")),
        window=_number(receipt.get("window_tokens")) or None,
        tokens=_number(receipt.get("used_tokens")) or None,
        curator=reason if reason.startswith("the curator failed") else "",
        status=_number(receipt.get("http_status")) or None,
        stop=str(receipt.get("stop") or ""),
    )


At = Callable[[str], Resolved | None]
"""Returns the settings of a step; `None` if the flow has no such step."""


def run_findings(settings: Resolved, run: Sequence[RunStep], at: At = lambda _: None) -> Iterator[Finding]:
    """Yield the findings about the receipts of one flow, given its settings and those of its steps."""
    yield from _left_out(settings, run, at)
    yield from _cut(settings, run, at)
    for check in (_one_large, _notes, _loader, _tiny, _curator, _ended):
        yield from check(settings, run)


def _scope(settings: Resolved, losing: Sequence[RunStep], run: Sequence[RunStep], at: At) -> Resolved:
    """Return the narrowest settings that mend it: those of a step, if no other step of the run has the symptom."""
    names = {step.step_id for step in losing}
    alone = len(names) == 1 and any(step.step_id not in names for step in run)
    return (at(names.pop()) if alone else None) or settings


def _left_out(settings: Resolved, run: Sequence[RunStep], at: At) -> Iterator[Finding]:
    """Find the marker early in a flow: the total is too small."""
    early = [step for step in run if step.omitted and step.total < _EARLY]
    if not early:
        return
    first, settings = early[0], _scope(settings, early, run, at)
    if first.by_window:
        yield Finding(
            check="window is full",
            seen=f"{first.name} left out {first.omitted} of {first.total} steps at {first.tokens:,} of the window's"
            f" {first.window:,} tokens",
            do="Use a model with a bigger window, or reduce the sections around the history.",
        )
        return
    now, wanted = settings.value(TOTAL), min(max(step.needed for step in early), LARGEST)
    do = "The budget is at its maximum: let steps write files, list them under artifacts, and shorten their output."
    if wanted > now:
        do = f"Raise context_budget_chars from {now:,} to {wanted:,}."
    yield Finding(
        check="total budget is hit early",
        seen=f"{MARKER} in {len(early)} of {len(run)} packs of the flow {first.flow or '?'} already before step"
        f" {_EARLY}: {first.name} included {first.included} of {first.total} steps within {first.budget:,} chars",
        do=do,
        commands=commands(settings, TOTAL, wanted, narrow=True) if wanted > now else (),
    )


def _one_large(_: Resolved, run: Sequence[RunStep]) -> Iterator[Finding]:
    """Find one step that writes more than all others together."""
    sizes = {str(row.get("step_id")): _number(row.get("chars")) for step in run for row in step.steps}
    if not any(step.truncated for step in run) or len(sizes) < _ENOUGH:
        return
    name, largest = max(sizes.items(), key=lambda item: item[1])
    others = sum(sizes.values()) - largest
    if largest > others:
        yield Finding(
            check="one large step",
            seen=f"step {name} wrote {largest:,} chars, all {len(sizes) - 1} others together {others:,}",
            do=f"Find out why step {name} writes so much; let it write a file and list it under artifacts.",
        )


def _notes(_: Resolved, run: Sequence[RunStep]) -> Iterator[Finding]:
    """Find truncation notes that need a review."""
    noted = [step for step in run if step.omitted]
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
        seen=f"{len(noted)} of {len(run)} packs carry {MARKER}, up to {most} steps left out"
        + (f"; of CRITICAL and HIGH agents: {who}" if who else "; late in a long flow that is expected"),
        do=f"Read the receipts of {', '.join(step.name for step in noted[:3])}"
        + (f" and {len(noted) - 3} more" if len(noted) > 3 else "")
        + (", and raise context_budget_chars if the steps mattered." if who else "."),
    )


def _cut(settings: Resolved, run: Sequence[RunStep], at: At) -> Iterator[Finding]:
    """Find truncated outputs: the limit of the newest step or of the older ones is too small."""
    newest = [(step, step.steps[-1]) for step in run if step.steps and step.steps[-1].get("state") == "cut"]
    older = [(step, row) for step in run for row in step.steps[:-1] if row.get("state") == "cut"]
    unlisted = [step for step in run if step.truncated and not step.omitted and not step.steps]
    for key, which, cuts, unknown in ((RECENT, "the newest step", newest, unlisted), (OLDER, "older steps", older, [])):
        rows, more = [row for _, row in cuts], len(unknown)
        if rows or more:
            place = _scope(settings, [*(step for step, _ in cuts), *unknown], run, at)
            largest = max((_number(row.get("chars")) for row in rows), default=0)
            size = f", the largest output {largest:,} chars" if largest else ""
            seen = f"{STEP_MARKER!r} on {which}: {len(rows) + more} times in {len(run)} packs{size}"
            yield _raise(place, key, rounded(largest, 1_000), f"{which} cut", seen)


def _loader(settings: Resolved, run: Sequence[RunStep]) -> Iterator[Finding]:
    """Find a context loader whose files do not arrive."""

    def loads(agent: object) -> bool:
        return "loader" in str(agent)

    newest = [(step.agent, step.steps[-1]) for step in run if step.steps and step.steps[-1].get("state") == "cut"]
    lost = [row for agent, row in newest if loads(agent) or loads(row.get("agent"))]
    if lost:
        largest = max(_number(row.get("chars")) for row in lost)
        seen = f"the input or output of a context loader was truncated {len(lost)} times, of up to {largest:,} chars"
        yield _raise(settings, RECENT, rounded(largest, 1_000), "context loader misses files", seen)
    dropped = [file for step in run for file in step.files if file.get("given") in ("dropped", "path")]
    if dropped:
        seen = f"{len(dropped)} times only the path of a chosen file fitted, first {dropped[0].get('path')}"
        yield _raise(settings, _FILES, settings.value(_FILES) * 2, "files left out", seen)


def _raise(settings: Resolved, key: str, wanted: int, check: str, seen: str) -> Finding:
    """Return the finding that a setting should be raised."""
    now, top = settings.value(key), LARGEST if key == _FILES else settings.value(TOTAL)
    wanted = min(max(wanted, now + now // 2), top)
    if wanted <= now:
        do = f"{name_of(key)} is as large as the whole budget of {top:,}: raise context_budget_chars."
        return Finding(check=check, seen=seen, do=do)
    do = f"Raise {name_of(key)} from {now:,} to {wanted:,}."
    return Finding(check=check, seen=seen, do=do, commands=commands(settings, key, wanted, narrow=True))


def _tiny(settings: Resolved, run: Sequence[RunStep]) -> Iterator[Finding]:
    """Find packs that are tiny compared with their budget."""
    fullest = max((step.used for step in run), default=0)
    now = settings.value(TOTAL)
    wanted = max(rounded(2 * fullest, 10_000), LEAST[TOTAL])
    if len(run) < _ENOUGH or fullest * _TINY > now or wanted >= now or any(step.truncated for step in run):
        return
    window = max((step.window or 0 for step in run), default=0)
    holds = f", and a window of {window:,} tokens" if window else ""
    yield Finding(
        check="prompts are tiny",
        level="advice",
        seen=f"the fullest of {len(run)} packs has {fullest:,} chars (about {fullest // CHARS_A_TOKEN:,} tokens),"
        f" {100 * fullest // now} % of the budget of {now:,}{holds}",
        do=f"Lower context_budget_chars to {wanted:,}.",
        commands=commands(settings, TOTAL, wanted),
    )


def _curator(settings: Resolved, run: Sequence[RunStep]) -> Iterator[Finding]:
    """Find a curator that fails."""
    failed = [step for step in run if step.curator]
    if not failed:
        return
    slow = any("took longer" in step.curator for step in failed)
    key, value = ("timeout_seconds", settings.value("timeout_seconds") * 2) if slow else ("curator.enabled", "false")
    yield Finding(
        check="curator fails",
        level="advice",
        seen=f"the curator failed for {len(failed)} of {len(run)} packs, first for {failed[0].name}:"
        f" {failed[0].curator.removeprefix('the curator failed: ')}",
        do="Give it more time." if slow else "Fix its model, or switch it off.",
        commands=commands(settings, key, value),
    )


def _ended(_: Resolved, run: Sequence[RunStep]) -> Iterator[Finding]:
    """Find steps that ended at a limit of the model."""
    longer = "Split the step, or use a model with longer answers. Budgets are for input and do not help."
    window = "Set model or window.size to the window that the server really has."
    for check, names, do in (
        ("answer cut off", [step.name for step in run if step.stop == "length"], longer),
        ("prompt refused", [step.name for step in run if step.status == 400], window),
    ):
        if names:
            yield Finding(check=check, seen=f"{len(names)} times, first {names[0]}", do=do)


def _number(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, Iterable) else []
