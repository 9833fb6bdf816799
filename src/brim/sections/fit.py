"""Fits sections into a budget: the function `fit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from brim.errors import InvalidType, InvalidValue, check_choice
from brim.meter import DEFAULT, Meter, meter_for, name_of
from brim.meter.window import Window, budget_of
from brim.receipts.receipt import FILLS, ORDERS, POLICIES, Fill, Order, Policy
from brim.receipts.section import Section, Summarise
from brim.sections import budget_section
from brim.sections.draft import Summaries
from brim.sections.prompt_fit import Prompt, PromptFit
from brim.sections.stages import Stage, staged

Direction = Literal["lower", "higher"]
DIRECTIONS: tuple[str, ...] = get_args(Direction)
_CHOICES = {"order": ORDERS, "fill": FILLS, "policy": POLICIES, "direction": DIRECTIONS}


def fit(
    sections: Sequence[Section],
    budget: int | Window | None = None,
    *,
    meter: Meter | str | Callable[[str], int] | None = None,
    model: str | None = None,
    separator: str = "\n\n",
    order: Order = "given",
    fill: Fill = "order",
    policy: Policy = "truncate_then_continue",
    template: str | None = None,
    show_budget: bool = False,
    direction: Direction = "lower",
    stages: Sequence[Stage | Mapping[str, Any]] = (),
    hard_marker: str | None = None,
    summarise: Summarise | None = None,
    capture: bool = False,
) -> Prompt:
    """Return a prompt of the sections, within the budget, with its receipt.

    Args:
        sections: the parts of the prompt, in the order of the page.
        budget: tokens, or a window; by default the window of `model`.
        meter: a meter, the name of one, or a function from text to a number.
        model: the model whose meter is used. If that meter estimates, its upper bound is kept within the budget.
        separator: the text between two sections.
        order: the order on the page: `given`, or `priority` for the most essential first.
        fill: whether sections of one priority are served in `order` or in `fair` shares by weight.
        policy: what happens if a section does not fit: it is cut and the others are served
            (`truncate_then_continue`), it is cut and the prompt ends (`truncate_then_stop`), it is left out (`skip`),
            or the prompt ends before it (`stop`).
        template: a text with a placeholder `{name}` for each section.
        show_budget: whether the prompt ends with a section that shows its budget and use.
        direction: whether a `lower` or a `higher` number is the more essential priority.
        stages: what to shorten first, in order, until the prompt fits.
        hard_marker: the marker for cuts after all stages, instead of the section's own.
        summarise: a function from a text and a limit to a shorter text, for sections with `overflow="summarise"`.
        capture: whether the receipt's JSON contains the texts, so that the fit can be replayed from it.

    Raises:
        DoesNotFit: the required sections exceed the budget.
        InvalidValue: an argument is invalid; the message has its name and value.
        UnknownName: there is no such model or meter.
    """
    options: dict[str, Any] = {"separator": separator, "order": order, "fill": fill, "policy": policy}
    options |= {"template": template, "show_budget": show_budget, "direction": direction}
    if stages or hard_marker is not None:
        options |= {"stages": [stage.to_dict() for stage in staged(stages)], "hard_marker": hard_marker}
    check(sections, options)
    return PromptFit(
        sections=tuple(sections),
        budget=budget_of(budget, model),
        meter=meter_for(meter, model),
        meter_name=DEFAULT if meter is None and model is None else name_of(meter),
        model=model,
        options=options,
        summaries=Summaries(summarise),
        captured=capture,
    ).prompt()


def check(sections: Sequence[Section], options: Mapping[str, Any]) -> None:
    """Check the sections and the options of a fit.

    Raises:
        InvalidValue: one is invalid; the message has its place and value.
    """
    if isinstance(sections, str) or not isinstance(sections, Sequence):
        raise InvalidType("sections", sections, "a list of Section")
    seen: dict[str, int] = {}
    for i, section in enumerate(sections):
        if not isinstance(section, Section):
            raise InvalidType(f"sections[{i}]", section, "a Section")
        first = seen.setdefault(section.name, i)
        if first != i:
            raise InvalidValue(f"sections[{i}] name", section.name, f"different from that of sections[{first}]")
    if options.get("show_budget") and (i := seen.get(budget_section.NAME, -1)) >= 0:
        raise InvalidValue(f"sections[{i}] name", budget_section.NAME, "another name: show_budget adds this section")
    for name, choices in _CHOICES.items():
        if name in options:
            check_choice(name, options[name], choices)
    if "stages" in options:
        staged(options["stages"])
    for name, optional in (("separator", False), ("template", True), ("hard_marker", True)):
        value = options.get(name)
        if not isinstance(value, str) and not (optional and value is None):
            raise InvalidType(name, value, "a string")
