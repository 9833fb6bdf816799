"""The checks of settings: budgets that do not suit the window, each other, or the agents of a flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from brim.doctor.finding import Finding, ProposedChange, changes
from brim.doctor.run_checks import RunStep
from brim.errors import BrimError
from brim.history.priority import StepClass
from brim.meter import catalogue, meter
from brim.settings.budgets import CHARS_A_TOKEN, LARGEST, OLDER, PRESETS, RECENT, TOTAL, Budgets, scaled
from brim.settings.config import Config
from brim.settings.flow import FlowStep
from brim.settings.keys import name_of
from brim.settings.resolved import Resolved

_BUDGETS = (TOTAL, RECENT, OLDER)
_CLASSES = ("critical", "high", "medium", "low")
_SMALL = 131_072
"""Tokens of a window that counts as small."""
_LEAST_LEAN = 100_000
"""Tokens of a window below which even the lean preset is too big."""


def settings_findings(config: Config, profile: str | None, runs: Mapping[str, Sequence[RunStep]]) -> Iterator[Finding]:
    """Yield the findings about settings; `runs` has the receipts by flow."""
    seen: set[str] = set()
    for settings in config.places(profile):
        window = _window(settings) if config.flows or settings.limits_history() else ()
        for finding in chain(_out_of_bounds(settings), window, _margin(settings), _cache(settings)):
            if finding.seen not in seen:
                seen.add(finding.seen)
                yield finding
    for ignored in config.ignored:
        do = "Leave it if another program reads it; otherwise remove it."
        yield Finding(check="key without meaning", level="advice", seen=ignored, do=do)
    flows = {name: config.resolve(profile=profile, flow=name) for name in config.flows}
    steps = {name: config.flow(name).steps for name in flows}
    for name, settings in flows.items():
        yield from _by_recency(name, settings, steps[name])
    if len(flows) > 1:
        yield from _same_budgets(flows, steps, runs)
    for name, settings in flows.items():
        yield from _without_class(name, settings, steps[name])


def _out_of_bounds(settings: Resolved) -> Iterator[Finding]:
    for warning in settings.warnings:
        key = next((each for each in _BUDGETS if f": {name_of(each)} of " in warning), "")
        if key and any(moved in warning for moved in ("was lowered to it", "was raised to it")):
            value = settings.value(key)
            yield Finding(
                check="setting out of bounds",
                level="advice" if settings[key].origin == "defaults" else "wrong",
                seen=warning,
                do=f"Set a value within the bounds, such as {value:,}.",
                changes=changes(settings, key, value),
            )


def _window(settings: Resolved) -> Iterator[Finding]:
    """Find budgets that are about as big as the window, or too big for a small one."""
    window, total = settings.window(), settings[TOTAL]
    if window is None:
        return
    size, tokens, where = window.size, total.value // CHARS_A_TOKEN, total.where or total.origin
    usual = scaled(size)
    if 2 * tokens > size:
        yield Finding(
            check="budget about the window",
            seen=f"{where}: context_budget_chars of {total.value:,} is about {tokens:,} tokens,"
            f" {100 * tokens // size} % of the window of {size:,}",
            do=f"About a quarter of the window is usual: {usual.context_budget_chars:,} chars.",
            changes=_set_all(settings, usual),
        )
    elif size <= _SMALL and total.value > PRESETS["lean"].context_budget_chars:
        lean = size >= _LEAST_LEAN
        yield Finding(
            check="small model",
            level="advice",
            seen=f"the window has {size:,} tokens, and {where} sets budgets of {total.value:,} chars for a bigger one",
            do="Use the lean preset." if lean else f"Use {usual.context_budget_chars:,} chars in total.",
            changes=_set_lean(settings) if lean else _set_all(settings, usual),
        )


def _margin(settings: Resolved) -> Iterator[Finding]:
    """Find a margin for estimates where counts are exact."""
    margin, model = settings["safety_margin"], settings.value("meter") or settings.value("model")
    try:
        exact = bool(margin.value) and model is not None and meter(model).exact
    except BrimError:
        return
    if exact:
        yield Finding(
            check="margin on exact counts",
            level="advice",
            seen=f"{margin.where or margin.origin}: safety_margin is {margin.value}, and {model} is counted exactly",
            do="Remove the margin.",
            changes=changes(settings, "safety_margin", 0),
        )


def _cache(settings: Resolved) -> Iterator[Finding]:
    """Find a session that was told to keep no stable prefix, with a model whose cached tokens cost less."""
    stable, model = settings["session.stable"], settings.value("model")
    known = catalogue.lookup(model)
    cheaper = known is not None and known.prices is not None and known.prices.cached_read is not None
    if stable.value is False and cheaper:
        yield Finding(
            check="cache not used",
            level="advice",
            seen=f"{stable.where or stable.origin}: session.stable is false, and {model} reads cached tokens for less",
            do="Keep the start of prompts the same.",
            changes=changes(settings, "session.stable", "true"),
        )


def _set_all(settings: Resolved, budgets: Budgets) -> tuple[ProposedChange, ...]:
    return tuple(change for name, value in budgets.items() for change in changes(settings, name, value))


def _set_lean(settings: Resolved) -> tuple[ProposedChange, ...]:
    """Return the changes to the lean preset: the preset alone, unless a single budget overrides it."""
    preset = settings["budgets.preset"].where
    single = any(settings.is_set(key) and settings[key].where != preset for key in _BUDGETS)
    return _set_all(settings, PRESETS["lean"]) if single else changes(settings, "budgets.preset", "lean")


def _by_recency(name: str, settings: Resolved, steps: Sequence[FlowStep]) -> Iterator[Finding]:
    """Find a flow whose history is not selected by the class of its agents."""
    way, classes = settings.value("history.selection"), settings.classes()
    critical = [step.agent for step in steps if step.agent and classes.of(step.agent, step.id) == StepClass.CRITICAL]
    if critical and "priority" not in way:
        yield Finding(
            check="history without priority",
            level="advice",
            seen=f"{settings['history.selection'].where or 'the default'}: the flow {name} selects history by {way},"
            f" and {', '.join(critical[:4])} count as CRITICAL",
            do="Select by priority, so that decisions and reviews stay before reports.",
            changes=changes(settings, "history.selection", "priority"),
        )


def _without_class(name: str, settings: Resolved, steps: Sequence[FlowStep]) -> Iterator[Finding]:
    """Find agents without a class in a flow whose history is selected by class."""
    listed = [agent for each in _CLASSES for agent in settings.value(f"history.classes.{each}")]
    agents = {step.agent: step.id for step in steps if step.agent and step.agent not in listed}
    low, high = (replace(settings.classes(), otherwise=kind) for kind in (StepClass.LOW, StepClass.CRITICAL))
    unknown = [agent for agent, step in agents.items() if low.of(agent, step) != high.of(agent, step)]
    if unknown and "priority" in settings.value("history.selection"):
        names = ", ".join([*settings.value("history.classes.medium"), *unknown])
        yield Finding(
            check="agent without a class",
            level="advice",
            seen=f"{len(unknown)} of the {len(agents) + len(listed)} agents of the flow {name} have no class:"
            f" {', '.join(unknown[:6])}{', ...' if len(unknown) > 6 else ''}",
            do="List them by their class: critical, high, medium or low.",
            changes=changes(settings, "history.classes.medium", f"[{names}]"),
        )


def _same_budgets(
    flows: Mapping[str, Resolved], steps: Mapping[str, Sequence[FlowStep]], runs: Mapping[str, Sequence[RunStep]]
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
        changes=changes(flows[name], TOTAL, min(total * 5 // 4, LARGEST)),
    )
