"""Look at settings, and at the receipts of a run if there are any, and say what to put right.

Each check is one piece of advice that people were given after things went wrong: budgets as big as the window, the same
budgets for flows of different needs, a marker that nobody read. What is told are numbers that were seen and the command
that changes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from brim.doctor.finding import ADVICE, WRONG, Finding, command
from brim.doctor.symptoms import Seen, seen, symptoms
from brim.errors import UnknownName
from brim.history.priority import DEFAULT, Class
from brim.settings import project
from brim.settings.guard import LARGEST, OLDER, RECENT, TOTAL
from brim.settings.keys import name_of
from brim.settings.presets import CHARS_A_TOKEN, PRESETS, Budgets, scaled

if TYPE_CHECKING:
    from brim.settings.config import Config
    from brim.settings.resolved import Resolved

CHECKS = (
    "setting out of bounds",
    "setting without effect",
    "budget about the window",
    "small model",
    "same budgets for all flows",
    "agent without a class",
    "total budget is hit early",
    "window is full",
    "one large step",
    "truncation notes to review",
    "the newest step cut",
    "older steps cut",
    "context loader misses files",
    "files left out",
    "prompts are tiny",
    "curator fails",
    "answer cut off",
    "prompt refused",
)
"""Every check by its name; those from the seventh on need receipts."""

_CLASSES = ("critical", "high", "medium", "low")
_SMALL = 131_072
"""Tokens of a window that counts as small."""
_LARGEST_LEAN = 100_000
"""Tokens of a window below which not even the lean preset is small enough."""


def examined(
    config: Config, receipts: Iterable[tuple[str, Mapping[str, Any]]] = (), profile: str | None = None
) -> list[Finding]:
    """Return what is found: first what is wrong, then what is advised.

    Args:
        config: the settings.
        receipts: the receipts of a run, each with the flow that it was found under.
        profile: the profile that holds; without it, the active one.

    Raises:
        BrimError: settings that cannot be resolved.
    """
    runs: dict[str, list[Seen]] = {}
    for flow, receipt in receipts:
        each = seen(receipt, flow)
        runs.setdefault(each.flow, []).append(each)
    found = list(_settings(config, profile, runs))
    for flow, run in runs.items():
        run.sort(key=lambda each: each.total)
        found += symptoms(_resolved(config, profile, flow), run)
    return sorted(dict.fromkeys(found), key=lambda finding: finding.level != WRONG)


def _resolved(config: Config, profile: str | None, flow: str) -> Resolved:
    try:
        return config.resolve(profile=profile, flow=flow or None)
    except UnknownName:
        if flow in config.flows:
            raise
        return config.resolve(profile=profile)


def _settings(config: Config, profile: str | None, runs: Mapping[str, Sequence[Seen]]) -> Iterator[Finding]:
    places = list(_places(config, profile))
    told: set[str] = set()
    for settings in places:
        for finding in (*_out_of_bounds(settings), *_window(settings, any_flow=bool(config.flows))):
            if finding.seen not in told:
                told.add(finding.seen)
                yield finding
    yield from _shadowed(places[0])
    yield from _same(config, profile, runs)
    yield from _unclassed(config, profile)


def _places(config: Config, profile: str | None) -> Iterator[Resolved]:
    """Yield the settings of the project, of each flow, and of each step that has its own."""
    yield config.resolve(profile=profile)
    for name in config.flows:
        yield config.resolve(profile=profile, flow=name)
        for step in config.flow(name).steps:
            if step.settings:
                yield config.resolve(profile=profile, flow=name, step=step.id)


def _out_of_bounds(settings: Resolved) -> Iterator[Finding]:
    """Find what the guardrails moved."""
    for warning in settings.warnings:
        key = next((each for each in (TOTAL, RECENT, OLDER) if f": {name_of(each)} of " in warning), "")
        if not key or not any(moved in warning for moved in ("was lowered to it", "was raised to it")):
            continue
        value = settings.value(key)
        yield Finding(
            check="setting out of bounds",
            level=ADVICE if settings[key].origin == "defaults" else WRONG,
            seen=warning,
            why=f"The run goes on with {value:,}, which nobody wrote.",
            do=f"Write the value that is meant, such as {value:,}.",
            commands=_told(settings, key, value),
        )


def _window(settings: Resolved, *, any_flow: bool) -> Iterator[Finding]:
    """Find budgets that are about as big as the window, or those of a big model for a small one."""
    window = settings.window()
    counts = any_flow or any(settings.is_set(key) for key in (TOTAL, RECENT, OLDER))
    if window is None or not counts:
        return
    total, size = settings[TOTAL], window.size
    tokens, usual = total.value // CHARS_A_TOKEN, scaled(size)
    where = total.where or total.origin
    if 2 * tokens > size:
        yield Finding(
            check="budget about the window",
            level=WRONG,
            seen=f"{where}: context_budget_chars of {total.value:,} is about {tokens:,} tokens,"
            f" {100 * tokens // size} % of the window of {size:,}",
            why="Instructions take a fifth of a window, notes a twentieth, and the answer needs half of it.",
            do=f"About a quarter of the window is usual: {usual.context_budget_chars:,} chars.",
            commands=_all(settings, usual),
        )
    elif size <= _SMALL and total.value > PRESETS["lean"].context_budget_chars:
        lean = size >= _LARGEST_LEAN
        yield Finding(
            check="small model",
            level=ADVICE,
            seen=f"the window has {size:,} tokens, and {where} sets budgets of {total.value:,} chars for a bigger one",
            why="A small window is full sooner than the budget says, and quality falls before that.",
            do="Use the lean preset." if lean else f"Use {usual.context_budget_chars:,} chars in all.",
            commands=_preset(settings) if lean else _all(settings, usual),
        )


def _all(settings: Resolved, budgets: Budgets) -> tuple[str, ...]:
    return tuple(told for name, value in budgets.items() for told in _told(settings, name, value))


def _preset(settings: Resolved) -> tuple[str, ...]:
    """Return what makes the budgets lean: the preset alone, where no single budget stands above it."""
    single = any(settings.is_set(key) and not _from_preset(settings, key) for key in (TOTAL, RECENT, OLDER))
    return _all(settings, PRESETS["lean"]) if single else _told(settings, "budgets.preset", "lean")


def _from_preset(settings: Resolved, key: str) -> bool:
    return settings[key].where == settings["budgets.preset"].where


def _shadowed(settings: Resolved) -> Iterator[Finding]:
    """Find what the project sets and a profile of brim's sets too: the profile stands above."""
    shipped = os.path.dirname(project.shipped(""))
    for key in settings:
        above, below = settings[key], settings.below(key)
        if not above.where.startswith(shipped) or below is None or below.origin != "project":
            continue
        if below.value == above.value:
            continue
        told = command(settings, key, below.value)
        active = settings.profile or settings.value("profile")
        yield Finding(
            check="setting without effect",
            level=WRONG,
            seen=f"{below.where}: {key} of {below.value} has no effect: the profile {active} sets {above.value}",
            why="A profile stands above the project's own settings.",
            do="Put the setting into the profile." if told else f"Put it into a profile that extends {active}.",
            commands=(told,) if told else (),
        )


def _same(config: Config, profile: str | None, runs: Mapping[str, Sequence[Seen]]) -> Iterator[Finding]:
    """Find flows of different needs with the same budgets."""
    flows = config.flows
    places = {name: config.resolve(profile=profile, flow=name) for name in flows}
    budgets = {tuple(place.value(key) for key in (TOTAL, RECENT, OLDER)) for place in places.values()}
    own = any(config.flow(name).steps and _step_budgets(config, name) for name in flows)
    if len(flows) < 2 or len(budgets) > 1 or own:
        return
    total, recent, older = budgets.pop()
    binding = sorted(name for name, run in runs.items() if name in places and any(each.truncated for each in run))
    free = sorted(name for name, run in runs.items() if name in places and name not in binding)
    name = binding[0] if binding else next(iter(flows))
    known = bool(binding and free)
    yield Finding(
        check="same budgets for all flows",
        level=WRONG if known else ADVICE,
        seen=f"all {len(flows)} flows ({', '.join(flows[:4])}{', ...' if len(flows) > 4 else ''}) have"
        f" {total:,}/{recent:,}/{older:,} chars"
        + (f"; {', '.join(binding)} loses history and {', '.join(free)} does not" if known else ""),
        why="A flow that builds needs more history than one that deploys.",
        do=f"Give flows budgets of their own, such as {total * 5 // 4:,} for {name}.",
        commands=_told(places[name], TOTAL, min(total * 5 // 4, LARGEST)),
    )


def _unclassed(config: Config, profile: str | None) -> Iterator[Finding]:
    """Find agents of whose worth nothing is known where steps are kept by the worth of their agents."""
    for name in config.flows:
        settings = config.resolve(profile=profile, flow=name)
        listed = [agent for each in _CLASSES for agent in settings.value(f"history.classes.{each}")]
        agents = {step.agent: step.id for step in config.flow(name).steps if step.agent and step.agent not in listed}
        low, high = (replace(DEFAULT, otherwise=kind) for kind in (Class.LOW, Class.CRITICAL))
        unknown = [agent for agent, step in agents.items() if low.of(agent, step) != high.of(agent, step)]
        if not unknown or "priority" not in settings.value("history.selection"):
            continue
        names = ", ".join([*settings.value("history.classes.medium"), *unknown])
        yield Finding(
            check="agent without a class",
            level=ADVICE,
            seen=f"{len(unknown)} of the {len(agents) + len(listed)} agents of the flow {name} have no class:"
            f" {', '.join(unknown[:6])}{', ...' if len(unknown) > 6 else ''}",
            why="Their steps count as MEDIUM unless a word of their output says otherwise, whatever they are worth.",
            do="List them by what they are worth: critical, high, medium or low.",
            commands=_told(settings, "history.classes.medium", quote(f"[{names}]")),
        )


def _told(settings: Resolved, key: str, value: object) -> tuple[str, ...]:
    return tuple(filter(None, (command(settings, key, value),)))


def _step_budgets(config: Config, flow: str) -> bool:
    return any(key.startswith("budgets.") for step in config.flow(flow).steps for key in step.settings)
