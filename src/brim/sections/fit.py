"""Sections and a budget in, a prompt and its receipt out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from brim.errors import InvalidType, InvalidValue, check_choice
from brim.meter import DEFAULT, Meter, meter_for, name_of
from brim.meter.window import Window, budget_of
from brim.receipts.section import Section
from brim.sections import budget_section as visibility
from brim.sections.allocation import FILLS, POLICIES
from brim.sections.draft import Summarise
from brim.sections.layout import ORDERS
from brim.sections.section_fit import Prompt, SectionFit
from brim.sections.stages import Stage, staged

DIRECTIONS = ("lower", "higher")


def fit(
    sections: Sequence[Section],
    budget: int | Window | None = None,
    *,
    meter: Meter | str | Callable[[str], int] | None = None,
    model: str | None = None,
    separator: str = "\n\n",
    order: str = "given",
    fill: str = "order",
    policy: str = "truncate_then_continue",
    template: str | None = None,
    show_budget: bool = False,
    direction: str = "lower",
    stages: Sequence[Stage | Mapping[str, Any]] = (),
    hard_marker: str | None = None,
    summarise: Summarise | None = None,
    capture: bool = False,
) -> Prompt:
    """Return a prompt made of the sections that counts at most the budget, and the receipt of how.

    Args:
        sections: the parts of the prompt, in the order in which they stand on the page.
        budget: units, or a window whose budget to take; without it, the window of `model`.
        meter: what measures: a meter, the name of one, or a function from text to units.
        model: the model whose meter to take. Where its count is an estimate, the upper bound is kept to.
        separator: the text between two sections.
        order: `given`, or `priority` for the most essential first.
        fill: whether sections of one priority are served in `order` or in `fair` shares by weight.
        policy: what happens after a section did not fit: one of `truncate_then_continue`,
            `truncate_then_stop`, `skip`, `stop`.
        template: a text with a place `{name}` for each section.
        show_budget: whether the prompt ends with a section that tells its own budget and use.
        direction: whether a `lower` or a `higher` number is the more essential priority.
        stages: what to give up first, in this order, until the prompt fits.
        hard_marker: what stands where text was cut after all stages, instead of the section's own marker.
        summarise: a function from a text and a limit to a shorter text, for sections that ask for it.
        capture: whether the receipt's JSON holds the texts, so that the fit can be replayed from it.

    Raises:
        DoesNotFit: what is required is bigger than the budget.
        InvalidValue: an argument that cannot be; the message names it and its value.
        UnknownName: no such model or meter.
    """
    options: dict[str, Any] = {"separator": separator, "order": order, "fill": fill, "policy": policy}
    options |= {"template": template, "show_budget": show_budget, "direction": direction}
    options |= _in_stages(stages, hard_marker)
    check(sections, options)
    return SectionFit(
        sections=tuple(sections),
        budget=budget_of(budget, model),
        meter=meter_for(meter, model),
        named=_named(meter, model),
        options=options,
        summarise=summarise,
        captured=capture,
    ).prompt()


def _in_stages(stages: Sequence[Stage | Mapping[str, Any]], hard_marker: str | None) -> dict[str, Any]:
    """Return the options of a fit in stages as plain values; none where there are no stages."""
    if not stages and hard_marker is None:
        return {}
    return {"stages": [stage.to_dict() for stage in staged(stages)], "hard_marker": hard_marker}


def _named(meter: object, model: str | None) -> dict[str, str | None]:
    """Return the names that a later replay finds the meter by; an object of the caller's has none."""
    if meter is None and model is None:
        return {"meter": DEFAULT, "model": None}
    return {"meter": name_of(meter), "model": model}


def check(sections: Sequence[Section], options: Mapping[str, Any]) -> None:
    """Pass if a fit can be run with these.

    Raises:
        InvalidValue: it cannot; the message names the place and the value.
    """
    if isinstance(sections, str) or not isinstance(sections, Sequence):
        raise InvalidType("sections", sections, "a list of Section")
    seen: dict[str, int] = {}
    for i, section in enumerate(sections):
        if not isinstance(section, Section):
            raise InvalidType(f"sections[{i}]", section, "a Section")
        first = seen.setdefault(section.name, i)
        if first != i:
            raise InvalidValue(f"sections[{i}] name", section.name, f"unlike that of sections[{first}]")
    if options["show_budget"] and visibility.NAME in seen:
        raise InvalidValue(f"sections[{seen[visibility.NAME]}] name", visibility.NAME, "another: show_budget adds it")
    check_choice("order", options["order"], ORDERS)
    check_choice("fill", options["fill"], FILLS)
    check_choice("policy", options["policy"], POLICIES)
    check_choice("direction", options["direction"], DIRECTIONS)
    staged(options.get("stages", ()))
    for name, optional in (("separator", False), ("template", True), ("hard_marker", True)):
        value = options.get(name)
        if not isinstance(value, str) and not (optional and value is None):
            raise InvalidType(name, value, "a text")
