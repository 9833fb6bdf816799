"""The diagnosis of a project: every check of its settings and of the receipts of its runs.

Settings may not suit the window, each other, or the agents of a flow. Receipts show steps that were truncated or left
out, and budgets that were never used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from shlex import quote
from typing import Any, Literal

from brim.history.note import NOTE_MARK
from brim.settings.budgets import (
    CHARS_A_TOKEN,
    LARGEST,
    LEAST,
    OLDER,
    PRESETS,
    RECENT,
    TOTAL,
    Budgets,
    bounded,
    scaled,
)
from brim.settings.config import Config
from brim.settings.flow import FlowStep
from brim.settings.keys import BARE, SETTINGS, name_of
from brim.settings.resolved import Resolved
from brim.settings.values import Value

CHECKS = {
    "setting out of bounds": "Runs use the bound instead of the value in the file.",
    "unknown key": "Whoever set it may expect it to have an effect.",
    "budget close to the window": "Instructions usually take a fifth of it, notes a twentieth, and the answer half.",
    "small model": "The window is full before the budget is used up, and quality drops earlier.",
    "same budgets for all flows": "A flow that writes code needs more history than one that deploys it.",
    "total budget is hit early": "Early in a flow every step matters, and the model does not see the omitted ones.",
    "one large step": "Its output displaces other steps, or is truncated.",
    "truncation notes to review": "The omitted steps may have mattered, and only this note reports them.",
    "the newest step cut": "The end of a truncated output is lost for all later steps.",
    "older steps cut": "The end of a truncated output is lost for all later steps.",
    "context loader misses files": "The step's model, which costs more, has to find the same files again.",
    "prompts are tiny": "If the budget is far larger than needed, one long output can cost much more than it should.",
}
"""Every check by its name, and why its finding matters; some need receipts."""

_BUDGETS = (TOTAL, RECENT, OLDER)
_SMALL = 131_072
"""The largest window that counts as small, in tokens."""
_LEAST_LEAN = 100_000
"""The smallest window for the lean preset, in tokens."""
_CUT_MARK = "... (truncated)"
_EARLY = 10
"""From this number of steps on, it is usual that older ones are left out."""
_TINY = 4
"""A pack is tiny if the budget is this many times as large."""
_ENOUGH = 3
"""The fewest packs from which a check generalises."""
_FRAME = 80
"""About the characters around the output of a step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedChange:
    """A change of a setting that fixes a finding."""

    key: str
    value: str
    place: tuple[tuple[str, str], ...] = ()
    """Where it is written: the `flow`, the `step`, the `profile` or the `file`; empty for the project."""
    variable: str = ""
    """The environment variable that decides the setting; then no file is changed."""

    @property
    def command(self) -> str:
        """The command that makes it."""
        if self.variable:
            return f"export {self.variable}={quote(self.value)}"
        place = "".join(f" --{name} {quote(text)}" for name, text in self.place)
        return f"brim config set {name_of(self.key)} {quote(self.value)}{place}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One problem, or one piece of advice."""

    check: str
    """The name of the check."""
    level: Literal["wrong", "advice"] = "wrong"
    """`wrong` if something is lost or has no effect; `advice` if it could be better or cheaper."""
    seen: str
    """The observation, with its numbers."""
    do: str
    """What to do."""
    changes: tuple[ProposedChange, ...] = ()
    """The changes of settings for it; empty if no setting helps."""

    @property
    def why(self) -> str:
        """Why it matters."""
        return CHECKS[self.check]

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that make the changes."""
        return tuple(change.command for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        texts = {name: getattr(self, name) for name in ("check", "level", "seen", "do", "why")}
        return {**texts, "commands": list(self.commands)}


def diagnose(
    config: Config,
    receipts: Iterable[tuple[str, Mapping[str, Any]]] = (),
    profile: str | None = None,
) -> list[Finding]:
    """Return the findings: first what is wrong, then advice.

    Args:
        config: the settings.
        receipts: the receipts of a run, each with the name of the directory of its flow.
        profile: the profile; without it, the active one.

    Raises:
        BrimError: the settings cannot be resolved.
    """
    runs: dict[str, list[_RunStep]] = {}
    for flow, receipt in receipts:
        step = _run_step(receipt, flow)
        runs.setdefault(step.flow, []).append(step)
    found = list(_settings_findings(config, profile, runs))
    for flow, steps in runs.items():
        run = _Run(config, profile, flow, sorted(steps, key=lambda step: step.total))
        for check in (_left_out, _cut, _one_large, _notes, _loader, _tiny):
            found += check(run)
    return sorted(dict.fromkeys(found), key=lambda finding: finding.level != "wrong")


def _settings_findings(
    config: Config, profile: str | None, runs: Mapping[str, Sequence[_RunStep]]
) -> Iterator[Finding]:
    """Yield the findings about settings; `runs` has the receipts by flow."""
    seen: set[str] = set()
    for settings in config.places(profile):
        window = _window(settings) if config.flows or settings.limits_history() else ()
        for finding in chain(_out_of_bounds(settings), window):
            if finding.seen not in seen:
                seen.add(finding.seen)
                yield finding
    for ignored in config.ignored:
        do = "Leave it if another program reads it; otherwise remove it."
        yield Finding(check="unknown key", level="advice", seen=ignored, do=do)
    flows = {name: config.resolve(profile=profile, flow=name) for name in config.flows}
    if len(flows) > 1:
        yield from _same_budgets(flows, {name: config.flow(name).steps for name in flows}, runs)


def _out_of_bounds(settings: Resolved) -> Iterator[Finding]:
    for key, warning in settings.moved:
        value = settings.value(key)
        yield Finding(
            check="setting out of bounds",
            level="advice" if settings[key].origin == "defaults" else "wrong",
            seen=warning,
            do=f"Set a value within the bounds, such as {value:,}.",
            changes=_changes(settings, key, value),
        )


def _window(settings: Resolved) -> Iterator[Finding]:
    """Find budgets that are about as big as the window, or too big for a small one."""
    window, total = settings.window(), settings[TOTAL]
    if window is None:
        return
    size, usual = window.size, _within_bounds(settings, scaled(window.size))
    if warning := settings.too_wide():
        fits = 2 * usual[TOTAL] <= CHARS_A_TOKEN * size
        yield Finding(
            check="budget close to the window",
            seen=warning,
            do=f"About a quarter of the window is usual: {usual[TOTAL]:,} chars."
            if fits
            else f"Use a model with a bigger window: the least budget is {LEAST[TOTAL]:,} chars.",
            changes=_set_all(settings, usual) if fits else (),
        )
    elif size <= _SMALL and total.value > PRESETS["lean"].context_budget_chars:
        lean = size >= _LEAST_LEAN
        where = total.where or total.origin
        yield Finding(
            check="small model",
            level="advice",
            seen=f"the window has {size:,} tokens, and {where} sets budgets of {total.value:,} chars for a bigger one",
            do="Use the lean preset." if lean else f"Use {usual[TOTAL]:,} chars in total.",
            changes=_set_lean(settings) if lean else _set_all(settings, usual),
        )


def _within_bounds(settings: Resolved, budgets: Budgets) -> dict[str, int]:
    """Return budgets by key within the bounds of the settings."""
    total, recent, older = (Value(size, "") for _, size in budgets.items())
    return {key: value.value for key, value in bounded(total, recent, older, settings.value("bounds"))[0].items()}


def _set_all(settings: Resolved, budgets: Mapping[str, int]) -> tuple[ProposedChange, ...]:
    return tuple(change for key, value in budgets.items() for change in _changes(settings, key, value))


def _set_lean(settings: Resolved) -> tuple[ProposedChange, ...]:
    """Return the changes to the lean preset: the preset alone, unless a single budget overrides it."""
    lean = _within_bounds(settings, PRESETS["lean"])
    preset = settings["budgets.preset"].where
    single = any(settings.is_set(key) and settings[key].where != preset for key in _BUDGETS)
    is_moved = lean != {key: getattr(PRESETS["lean"], name_of(key)) for key in lean}
    return _set_all(settings, lean) if single or is_moved else _changes(settings, "budgets.preset", "lean")


def _same_budgets(
    flows: Mapping[str, Resolved], steps: Mapping[str, Sequence[FlowStep]], runs: Mapping[str, Sequence[_RunStep]]
) -> Iterator[Finding]:
    """Find flows of different needs with the same budgets."""
    budgets = {tuple(settings.value(key) for key in _BUDGETS) for settings in flows.values()}
    own = (key for each in steps.values() for step in each for key in step.settings)
    if len(budgets) > 1 or any(key.startswith("budgets.") for key in own):
        return
    total, recent, older = budgets.pop()
    losing = sorted(name for name, run in runs.items() if name in flows and any(step.truncated for step in run))
    others = sorted(name for name in runs if name in flows and name not in losing)
    names = list(flows)
    name, known = (losing or names)[0], bool(losing and others)
    yield Finding(
        check="same budgets for all flows",
        level="wrong" if known else "advice",
        seen=f"all {len(names)} flows ({', '.join(names[:4])}{', ...' if len(names) > 4 else ''}) have"
        f" {total:,}/{recent:,}/{older:,} chars"
        + (f"; {', '.join(losing)} loses history and {', '.join(others)} does not" if known else ""),
        do=f"Give flows budgets of their own, such as {total * 5 // 4:,} for {name}.",
        changes=_changes(flows[name], TOTAL, total * 5 // 4) if total * 5 // 4 <= LARGEST else (),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _RunStep:
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
    def needed(self) -> int:
        """About the budget with which the pack would have included all steps."""
        if not self.steps:
            return _rounded(self.budget * self.total // max(self.included, 1), 10_000)
        missing = [_number(step.get("chars")) + _FRAME for step in self.steps if step.get("state") == "omitted"]
        return _rounded(self.budget + sum(missing), 10_000)

    @property
    def fills_window(self) -> bool:
        """Whether the tokens of the window ran out before the budget."""
        window = self.number("window_tokens")
        return bool(window) and self.number("used_tokens") * 10 >= window * 9 and self.used * 10 < self.budget * 9

    def number(self, key: str) -> int:
        """Return a number of the receipt."""
        return _number(self.receipt.get(key))


def _run_step(receipt: Mapping[str, Any], flow: str = "") -> _RunStep:
    """Return the fields of a receipt; `flow` is used if it names none."""
    history = _mapping(receipt.get("context_truncation"))
    note = receipt.get("note")
    included, total = _number(history.get("steps_included")), _number(history.get("steps_total"))
    return _RunStep(
        flow=str(receipt.get("flow") or flow),
        step_id=str(receipt.get("step_id")),
        agent=str(receipt.get("agent") or ""),
        included=included,
        total=total,
        used=_number(history.get("chars_used")) or _number(receipt.get("used_chars")),
        budget=_number(history.get("budget_chars")) or _number(receipt.get("budget_chars")),
        truncated=history.get("truncated") is True or (isinstance(note, str) and NOTE_MARK in note) or included < total,
        steps=_rows(receipt.get("steps")),
        receipt=receipt,
    )


class _Run:
    """The receipts of a flow, and its settings."""

    def __init__(self, config: Config, profile: str | None, flow: str, steps: Sequence[_RunStep]) -> None:
        known = flow in config.flows
        self.steps = steps
        self._ids = {step.id for step in config.flow(flow).steps} if known else set()
        self._resolve = partial(config.resolve, profile=profile, flow=flow if known else None)
        self.settings = self._resolve()

    def scope(self, losing: Iterable[_RunStep]) -> Resolved:
        """Return the narrowest settings for a fix: those of a step, if no other step of the run has the symptom."""
        names = {step.step_id for step in losing}
        alone = len(names) == 1 and any(step.step_id not in names for step in self.steps)
        return self._resolve(step=names.pop()) if alone and names <= self._ids else self.settings


def _left_out(run: _Run) -> Iterator[Finding]:
    """Find truncation notes early in a flow: the total is too small."""
    early = [step for step in run.steps if step.omitted and step.total < _EARLY]
    if not early:
        return
    first, settings = early[0], run.scope(early)
    now, wanted = settings.value(TOTAL), min(max(step.needed for step in early), LARGEST)
    do = "The budget is at its maximum: let steps write files, list them under artifacts, and shorten their output."
    if first.fills_window:
        do, wanted = "The window is full: use a model with a bigger one, or reduce the sections around the history.", 0
    elif wanted > now:
        do = f"Raise context_budget_chars from {now:,} to {wanted:,}."
    yield Finding(
        check="total budget is hit early",
        seen=f"{NOTE_MARK} in {len(early)} of {len(run.steps)} packs of the flow {first.flow or '?'} already before"
        f" step {_EARLY}: {first.name} included {first.included} of {first.total} steps within {first.budget:,} chars",
        do=do,
        changes=_changes(settings, TOTAL, wanted, narrow=True) if wanted > now else (),
    )


def _one_large(run: _Run) -> Iterator[Finding]:
    """Find one step that writes more than all others together."""
    sizes = {str(row.get("step_id")): _number(row.get("chars")) for step in run.steps for row in step.steps}
    if not any(step.truncated for step in run.steps) or len(sizes) < _ENOUGH:
        return
    name, largest = max(sizes.items(), key=lambda item: item[1])
    others = sum(sizes.values()) - largest
    if largest > others:
        yield Finding(
            check="one large step",
            seen=f"step {name} wrote {largest:,} chars, and the {len(sizes) - 1} others together {others:,}",
            do=f"Find out why step {name} writes so much; let it write a file and list it under artifacts.",
        )


def _notes(run: _Run) -> Iterator[Finding]:
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
        seen=f"{len(noted)} of {len(run.steps)} packs contain {NOTE_MARK}; up to {most} steps were left out"
        + (f", also of CRITICAL and HIGH agents: {who}" if who else ", as expected late in a long flow"),
        do=f"Read the receipts of {', '.join(step.name for step in noted[:3])}"
        + (f" and {len(noted) - 3} more" if len(noted) > 3 else "")
        + (", and raise context_budget_chars if the steps mattered." if who else "."),
    )


def _cut(run: _Run) -> Iterator[Finding]:
    """Find truncated outputs: the limit of the newest step or of the older ones is too small."""
    older = [(step, row) for step in run.steps for row in step.steps[:-1] if row.get("state") == "cut"]
    newest = _newest_cut(run)
    newest += [(step, {}) for step in run.steps if step.truncated and not step.omitted and not step.steps]
    # Longer older steps take the room of others: where steps are left out, they would cost some of those that stay.
    crowded = any(step.omitted for step in run.steps)
    for key, which, cuts in ((RECENT, "the newest step", newest), (OLDER, "older steps", older)):
        if cuts and not (crowded and key == OLDER):
            largest = max(_number(row.get("chars")) for _, row in cuts)
            size = f"; the largest output has {largest:,} chars" if largest else ""
            seen = f"{_CUT_MARK!r} on {which}: {len(cuts)} times in {len(run.steps)} packs{size}"
            place = run.scope(step for step, _ in cuts)
            yield _raise(place, key, _rounded(largest, 1_000), f"{which} cut", seen)


def _newest_cut(run: _Run) -> list[tuple[_RunStep, Mapping[str, Any]]]:
    """Return the packs whose newest step is truncated, with the state of that step."""
    return [(step, step.steps[-1]) for step in run.steps if step.steps and step.steps[-1].get("state") == "cut"]


def _loader(run: _Run) -> Iterator[Finding]:
    """Find a context loader whose files do not arrive."""
    lost = [row for step, row in _newest_cut(run) if "loader" in step.agent or "loader" in str(row.get("agent"))]
    if lost:
        largest = max(_number(row.get("chars")) for row in lost)
        seen = f"a context loader's input or output was truncated {len(lost)} times; the largest has {largest:,} chars"
        yield _raise(run.settings, RECENT, _rounded(largest, 1_000), "context loader misses files", seen)


def _raise(settings: Resolved, key: str, wanted: int, check: str, seen: str) -> Finding:
    """Return the finding that a setting should be raised."""
    now, top = settings.value(key), settings.value(TOTAL)
    wanted = min(max(wanted, now + now // 2), top)
    if wanted <= now:
        do = f"{name_of(key)} is as large as the whole budget of {top:,}: raise context_budget_chars."
        return Finding(check=check, seen=seen, do=do)
    do = f"Raise {name_of(key)} from {now:,} to {wanted:,}."
    return Finding(check=check, seen=seen, do=do, changes=_changes(settings, key, wanted, narrow=True))


def _tiny(run: _Run) -> Iterator[Finding]:
    """Find packs that are tiny compared with their budget."""
    steps, now = run.steps, run.settings.value(TOTAL)
    fullest = max(step.used for step in steps)
    wanted = max(_rounded(2 * fullest, 10_000), LEAST[TOTAL])
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
        changes=_changes(run.settings, TOTAL, wanted)
        + tuple(
            change
            for key in (RECENT, OLDER)
            if run.settings.is_set(key) and run.settings.value(key) > wanted
            for change in _changes(run.settings, key, wanted)
        ),
    )


def _changes(settings: Resolved, key: str, value: object, *, narrow: bool = False) -> tuple[ProposedChange, ...]:
    """Return the change of a setting in the layer that decides it.

    With `narrow` it is set for the step of the settings alone, whichever layer decides it now.
    """
    key = BARE.get(key, key)
    known, text = settings[key], str(value)
    if known.origin in ("env", "flags"):
        return (ProposedChange(key=key, value=text, variable=SETTINGS[key].variable),)
    place: dict[str, str] = {}
    if settings.flow is not None:
        place["flow"] = settings.flow
        if settings.step is not None and (narrow or known.origin == "step"):
            place["step"] = str(settings.step)
    elif known.origin == "user":
        place["file"] = known.where.rpartition(":")[0]
    elif known.origin == "profile":
        place["profile"] = settings.profile or settings.value("profile")
    return (ProposedChange(key=key, value=text, place=tuple(place.items())),)


def _rounded(number: int, unit: int) -> int:
    """Return the next multiple of a unit that is not less."""
    return -(-number // unit) * unit


def _number(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, Iterable) else []
