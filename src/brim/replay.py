"""What another budget would have kept: a fit run again from its receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from brim.allocate.claim import Claim
from brim.allocate.solver import allocate, essential
from brim.errors import DoesNotFit, InvalidType
from brim.fit import budget_of, check
from brim.fitting import Fitting, Prompt
from brim.meter import Meter, Scale, meter_for
from brim.receipt import Capture, Part, Receipt, losses
from brim.window import Window


def replay(
    source: Receipt | Capture | Prompt | Mapping[str, Any] | str,
    *,
    budget: int | Window | None = None,
    meter: Meter | str | Callable[[str], int] | None = None,
) -> Prompt:
    """Return what the same fit would have given, at another budget if one is named.

    A receipt that holds no texts, such as one read back from JSON without a capture, is replayed from its sizes:
    the prompt's text is then empty, and its receipt says `planned`. A ceiling that was a percentage of the budget
    cannot be known from there; its units stay as they were.

    Raises:
        DoesNotFit: what is required is bigger than the budget.
        InvalidValue: `source` is not a receipt or a capture.
    """
    receipt = _receipt(source)
    if isinstance(receipt, Capture):
        given, captured = receipt, True
    elif receipt.capture is None:
        return Prompt("", _planned(receipt, receipt.budget if budget is None else budget_of(budget)))
    else:
        given, captured = receipt.capture, receipt.captured
    check(given.sections, given.options)
    recorded = given.summaries
    return Fitting(
        sections=given.sections,
        budget=given.budget if budget is None else budget_of(budget),
        meter=_meter(given) if meter is None else meter_for(meter, None),
        named={"meter": given.meter, "model": given.model},
        options=dict(given.options),
        summarise=(lambda text, _: recorded.get(text, "")) if recorded else None,
        captured=captured,
    ).prompt()


def _meter(given: Capture) -> Scale:
    """Return the meter of the captured fit: the object itself while it is in memory, else by its name."""
    if isinstance(given.measure, Scale):
        return given.measure
    if given.meter is None and given.model is None:
        raise InvalidType("meter", None, "given: the fit was measured by a caller's own, which JSON cannot hold")
    return meter_for(given.meter, given.model)


def _receipt(source: object) -> Receipt | Capture:
    if isinstance(source, Prompt):
        return source.receipt
    if isinstance(source, Receipt | Capture):
        return source
    if isinstance(source, str):
        return Receipt.from_json(source)
    if isinstance(source, Mapping):
        return Receipt.from_dict(source) if "version" in source else Capture.from_dict(source)
    raise InvalidType("source", source, "a receipt, a capture, or the JSON of one")


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
        held=wanted if part.required else 0,
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
