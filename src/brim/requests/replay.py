"""Runs a fit again from its receipt, to see what another budget would keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from brim.errors import DoesNotFit, InvalidType, check_choice
from brim.history.options import TurnOptions
from brim.meter import BaseMeter, Meter
from brim.meter.window import Window, budget_of
from brim.receipts.capture import Capture
from brim.receipts.receipt import Part, Receipt, losses
from brim.sections.allocation import Claim, allocate, essential
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt

if TYPE_CHECKING:
    from brim.history.result import Fitted
    from brim.history.stable import Stable
    from brim.requests.request import Request

Result = TypeVar("Result", "Prompt", "Fitted", "Request")


class ReplayOptions(TypedDict, total=False):
    """The options of a replay; see `replay`."""

    budget: int | Window | None
    meter: Meter | str | Callable[[str], int] | None


@overload
def replay(source: Result, **options: Unpack[ReplayOptions]) -> Result: ...


@overload
def replay(source: Receipt | Capture | Mapping[str, Any] | str, **options: Unpack[ReplayOptions]) -> Any: ...


def replay(
    source: Receipt | Capture | Prompt | Fitted | Request | Mapping[str, Any] | str,
    *,
    budget: int | Window | None = None,
    meter: Meter | str | Callable[[str], int] | None = None,
) -> Any:
    """Return the result of the same fit at another budget, or with another meter: a prompt, messages or a request.

    **Sections.** A receipt without texts, such as one read from JSON without a capture, is replayed from the recorded
    sizes: the prompt has no text, and its receipt is marked `planned`. A ceiling that was a percentage of the budget
    stays at its number of tokens, because the receipt does not contain the percentage.

    **Messages** can only be replayed if the receipt has them: sizes do not determine which turns are kept or what is
    cut in them. Stable mode keeps its settings. If the receipt is in memory and the budget is the same, the held cut is
    used again, and the result is identical. Otherwise, the history is cut as in a first fit. A replay has no previous
    prompt, so its `stable_prefix` is 0 unless a held cut is used.

    Args:
        source: a receipt, an object with one, its capture, or the JSON of either.
        budget: tokens, or a window; by default the budget of the fit.
        meter: another meter; for messages, the model's framing and image rules are then not used.

    Raises:
        DoesNotFit: the required parts exceed the budget.
        InvalidValue: `source` is invalid, has no messages, used a function of yours that is not in memory, or a meter
            of yours that is neither in memory nor passed here.
    """
    found = _receipt_or_capture(source)
    tokens = found.budget if budget is None else budget_of(budget)
    recorded = found.capture if isinstance(found, Receipt) else found
    if recorded is not None:
        captured = found.captured if isinstance(found, Receipt) else True
        return _again(recorded, tokens, meter, captured=captured)
    assert isinstance(found, Receipt)
    if found.history:
        raise InvalidType("receipt.capture", None, "the messages of the fit", "fit with capture=True to record them")
    return Prompt("", _planned(found, tokens))


def _receipt_or_capture(source: object) -> Receipt | Capture:
    if isinstance(source, str):
        return Receipt.from_json(source)
    if isinstance(source, Mapping):
        return Receipt.from_dict(source) if "version" in source else Capture.from_dict(source)
    found = getattr(source, "receipt", source)
    if not isinstance(found, Receipt | Capture):
        raise InvalidType("source", source, "a receipt, an object with one, a capture, or the JSON of one")
    return found


def _again(recorded: Capture, budget: int, meter: Any, *, captured: bool) -> Any:
    """Repeat a recorded fit with the same arguments except for the budget and the meter."""
    from brim.history.history import fit_messages
    from brim.requests.fit import fit_request

    function: Any = {"sections": fit, "messages": fit_messages, "request": fit_request}[recorded.kind]
    for name, value in recorded.functions.items():
        if value is None:
            raise InvalidType(f"functions: {name}", None, "in memory: the fit used one, which JSON cannot represent")
    given = {**recorded.options, **recorded.functions}
    known = [*signature(function).parameters, *(() if recorded.messages is None else TurnOptions.__annotations__)]
    for name in given:
        check_choice("capture.options: a key", name, known)
    if recorded.summaries and not given.get("summarise"):
        given["summarise"] = lambda text, _: recorded.summaries.get(text, "")
    if recorded.messages is None:
        given["sections"] = recorded.sections
    else:
        given |= {name: getattr(recorded, name) for name in ("messages", "tools", "fields")}
        given["embed"] = given.get("embed") or None
    if recorded.kind == "messages":
        given |= {"system": recorded.system, "stable": _stable(recorded, same=budget == recorded.budget)}
    elif recorded.kind == "request":
        given |= {"system": recorded.sections[: recorded.leading], "user": recorded.sections[recorded.leading :]}
    return function(**given, **_measure(recorded, meter), budget=budget, capture=captured)


def _measure(recorded: Capture, meter: Any) -> dict[str, Any]:
    """Return the meter or the model of a replay."""
    if meter is not None:
        return {"meter": meter}
    # The name comes first, so that the new receipt has it too.
    if recorded.meter is not None:
        return {"meter": recorded.meter}
    if recorded.model is not None:
        return {"model": recorded.model}
    if isinstance(recorded.measure, BaseMeter):
        return {"meter": recorded.measure}
    raise InvalidType("meter", None, "passed: the fit used a meter of your own, which JSON cannot represent")


def _stable(recorded: Capture, *, same: bool) -> Stable | None:
    """Return the stable mode of the fit, with the held cut if the budget is the same."""
    if recorded.stable is None:
        return None
    from brim.history.stable import Stable

    lines = {name: recorded.stable[name] for name in ("high", "low") if recorded.stable.get(name) is not None}
    return Stable(**lines, held=recorded.held if same else None)


def _planned(receipt: Receipt, budget: int) -> Receipt:
    """Return the receipt that follows from the sizes alone."""
    claims = [_claim(part) for part in receipt.parts]
    joins = max(0, receipt.joins)
    room = budget - joins
    if (needed := essential(claims)) > room:
        raise DoesNotFit(
            f"the required sections need {needed:,} {receipt.unit} and the budget leaves {room:,}",
            needed=needed,
            available=room,
        )
    grants = allocate(claims, room, fill=receipt.fill, policy=receipt.policy)
    parts = tuple(map(_predicted, receipt.parts, claims, grants))
    used = sum(grants) + joins
    return replace(
        receipt,
        budget=budget,
        used=used,
        upper=used,
        joins=joins,
        parts=parts,
        losses=losses(parts),
        planned=True,
        exact=False,
    )


def _claim(part: Part) -> Claim:
    wanted = part.size if part.ceiling is None else min(part.size, part.ceiling)
    needed = wanted if part.required else 0
    return Claim(wanted=wanted, least=needed or 1, reserved=needed, rank=part.priority, required=part.required)


def _predicted(part: Part, claim: Claim, grant: int) -> Part:
    state = part.state
    if state not in ("empty", "disabled"):
        state = "whole" if grant >= part.size else "cut" if grant else "dropped"
    reason = f"{grant:,} of {part.size:,} by size alone"
    return part._replace(
        state=state, wanted=claim.wanted, granted=grant, used=grant, reason=reason, entry_states=(), ids=()
    )
