"""What another budget would have kept: a fit run again from its receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from brim.errors import DoesNotFit, InvalidType, check_choice
from brim.meter import BaseMeter, Meter, meter_for
from brim.meter.window import Window, budget_of
from brim.receipts.history_input import HistoryInput
from brim.receipts.receipt import Capture, Part, Receipt, losses
from brim.sections.allocation import allocate, essential
from brim.sections.allocation import Claim
from brim.sections.fit import check
from brim.sections.section_fit import Prompt, SectionFit

if TYPE_CHECKING:
    from brim.history.result import Fitted
    from brim.history.stable import Stable

Measure = Meter | str | Callable[[str], int]
Functions = Mapping[str, Callable[..., Any]]


@overload
def replay(
    source: Capture | Prompt,
    *,
    budget: int | Window | None = None,
    meter: Measure | None = None,
    functions: Functions | None = None,
) -> Prompt: ...


@overload
def replay(
    source: HistoryInput | Fitted,
    *,
    budget: int | Window | None = None,
    meter: Measure | None = None,
    functions: Functions | None = None,
) -> Fitted: ...


@overload
def replay(
    source: Receipt | Mapping[str, Any] | str,
    *,
    budget: int | Window | None = None,
    meter: Measure | None = None,
    functions: Functions | None = None,
) -> Prompt | Fitted: ...


def replay(
    source: Receipt | Capture | HistoryInput | Prompt | Fitted | Mapping[str, Any] | str,
    *,
    budget: int | Window | None = None,
    meter: Measure | None = None,
    functions: Functions | None = None,
) -> Prompt | Fitted:
    """Return what the same fit would have given, at another budget if one is named: a prompt, or fitted messages.

    **Sections.** A receipt that holds no texts, such as one read back from JSON without a capture, is replayed from
    its sizes: the prompt's text is then empty, and its receipt says `planned`. A ceiling that was a percentage of the
    budget cannot be known from there; its units stay as they were.

    **Messages** are replayed from the messages alone: which turns are kept, and what is cut inside them, cannot be told
    from sizes. In stable mode the lines hold again. As long as the receipt is in memory and the budget is its own, the
    cut that was held is held again too, and the result is the same to the byte. At another budget, or from JSON, the
    history is cut afresh where it is over the high line: what the first cut at that budget would leave. A replay
    follows no prompt, so but for a cut that is held its `stable_prefix` is 0.

    Args:
        source: a receipt, what holds one, the capture or transcript in it, or the JSON of either.
        budget: units, or a window whose budget to take; without it, the budget of the fit.
        meter: what measures instead; of messages, the model's framing and rules for images are left out then too.
        functions: the functions of the caller's that JSON could not hold, by the argument of the fit that they were.

    Raises:
        DoesNotFit: what is required is bigger than the budget.
        InvalidValue: `source` is none of these, holds no messages, or was fitted with a meter or a function of the
            caller's that is neither in memory nor given here.
    """
    found = _found(source)
    if isinstance(found, Capture | HistoryInput):
        given, captured = found, True
    elif found.capture is not None:
        given, captured = found.capture, found.captured
    elif found.history is not None:
        expected = "the messages of the fit, kept by capture=True: what to keep of them cannot be told from sizes"
        raise InvalidType("receipt.capture", None, expected)
    else:
        return Prompt("", _planned(found, found.budget if budget is None else budget_of(budget)))
    if isinstance(given, HistoryInput):
        return _messages(given, budget, meter, functions or {}, captured=captured)
    return _sections(given, budget, meter, captured=captured)


def _sections(given: Capture, budget: int | Window | None, meter: Measure | None, *, captured: bool) -> Prompt:
    check(given.sections, given.options)
    recorded = given.summaries
    return SectionFit(
        sections=given.sections,
        budget=given.budget if budget is None else budget_of(budget),
        meter=_meter(given) if meter is None else meter_for(meter, None),
        named={"meter": given.meter, "model": given.model},
        options=dict(given.options),
        summarise=(lambda text, _: recorded.get(text, "")) if recorded else None,
        captured=captured,
    ).prompt()


def _messages(
    given: HistoryInput, budget: int | Window | None, meter: Measure | None, functions: Functions, *, captured: bool
) -> Fitted:
    from brim.history.history import fit_messages

    units = given.budget if budget is None else budget_of(budget)
    asked = {**given.options, **_functions(given, functions)}
    if asked["embed"] is False:
        asked["embed"] = None
    measured: dict[str, Any] = {"model": given.model}
    if meter is not None or given.model is None:
        # By its name, so that the replay's own receipt has the name too; the same name gives the same meter.
        measured = {"meter": meter if meter is not None else given.meter or _meter(given)}
    return fit_messages(
        given.messages,
        units,
        **measured,
        tools=given.tools,
        system=given.system,
        stable=_stable(given, same=units == given.budget),
        capture=captured,
        **asked,
    )


def _functions(given: HistoryInput, functions: Functions) -> dict[str, Any]:
    """Return the functions of the fit: those given now, or the objects themselves while they are in memory."""
    for name in functions:
        check_choice("functions: a key", name, ("pin", "summarise", "classify", "embed"))
    told = {**given.functions, **functions}
    for name, value in told.items():
        if value is None:
            raise InvalidType(f"functions: {name}", None, "given: the fit had one, which JSON cannot hold")
    return told


def _stable(given: HistoryInput, *, same: bool) -> Stable | None:
    """Return the stable mode of the fit, with the cut that was held if the budget is the same."""
    if given.stable is None:
        return None
    from brim.history.stable import CachePrices, Stable

    lines = dict(given.stable)
    prices = lines.pop("prices", {})
    for key in lines:
        check_choice("stable: a key", key, ("high", "low", "anchor", "fill"))
    if not isinstance(prices, Mapping):
        raise InvalidType("stable: prices", prices, "an object with read and write")
    for key in prices:
        check_choice("stable: prices: a key", key, ("read", "write"))
    return Stable(**lines, prices=CachePrices(**prices), held=given.held if same else None)


def _meter(given: Capture | HistoryInput) -> BaseMeter:
    """Return the meter of the captured fit: the object itself while it is in memory, else by its name."""
    if isinstance(given.measure, BaseMeter):
        return given.measure
    if given.meter is None and given.model is None:
        raise InvalidType("meter", None, "given: the fit was measured by a caller's own, which JSON cannot hold")
    return meter_for(given.meter, given.model)


def _found(source: object) -> Receipt | Capture | HistoryInput:
    if isinstance(source, Receipt | Capture | HistoryInput):
        return source
    held = getattr(source, "receipt", None)
    if isinstance(held, Receipt):
        return held
    if isinstance(source, str):
        return Receipt.from_json(source)
    if isinstance(source, Mapping):
        if "version" in source:
            return Receipt.from_dict(source)
        return HistoryInput.from_dict(source) if "messages" in source else Capture.from_dict(source)
    raise InvalidType("source", source, "a receipt, what holds one, a capture or a transcript, or the JSON of one")


def _planned(receipt: Receipt, budget: int) -> Receipt:
    """Return the receipt that sizes alone foretell.

    A ceiling stays at the units that it came to: a receipt does not tell whether it was given as a percentage.
    """
    claims = [_claim(part) for part in receipt.parts]
    room = budget - max(0, receipt.joins)
    if (needed := essential(claims)) > room:
        raise DoesNotFit(
            f"the required sections need {needed:,} {receipt.unit} and there are {room:,}",
            needed=needed,
            available=room,
        )
    grants = allocate(claims, room, fill=receipt.fill, policy=receipt.policy)
    parts = tuple(map(_foretold, receipt.parts, claims, grants))
    used = sum(grants) + max(0, receipt.joins)
    return replace(
        receipt,
        budget=budget,
        used=used,
        upper=used,
        joins=max(0, receipt.joins),
        parts=parts,
        losses=losses(parts),
        planned=True,
    )


def _claim(part: Part) -> Claim:
    wanted = part.size if part.ceiling is None else min(part.size, part.ceiling)
    return Claim(
        wanted=wanted,
        least=wanted if part.required else 1,
        reserved=wanted if part.required else 0,
        rank=part.priority,
        required=part.required,
    )


def _foretold(part: Part, claim: Claim, grant: int) -> Part:
    state = (
        part.state
        if part.state in ("empty", "disabled")
        else "whole"
        if grant >= part.size
        else "cut"
        if grant
        else "dropped"
    )
    reason = f"{grant:,} of {part.size:,} by size alone"
    return part._replace(state=state, wanted=claim.wanted, granted=grant, used=grant, reason=reason)
