"""Another run of a fit from its receipt, to see what another budget would keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from brim.errors import DoesNotFit, InvalidType, check_choice
from brim.meter import BaseMeter, Meter, meter_for
from brim.meter.window import Window, budget_of
from brim.receipts.capture import Capture
from brim.receipts.history_input import HistoryInput
from brim.receipts.receipt import Part, Receipt, capture_of, losses
from brim.receipts.request_capture import RequestCapture
from brim.sections.allocation import Claim, allocate, essential
from brim.sections.fit import check
from brim.sections.section_fit import Prompt, SectionFit

if TYPE_CHECKING:
    from brim.history.result import Fitted
    from brim.history.stable import Stable
    from brim.requests.request import Request

Measure = Meter | str | Callable[[str], int]
Functions = Mapping[str, Callable[..., Any]]


class ReplayOptions(TypedDict, total=False):
    """The options of a replay; see `replay`."""

    budget: int | Window | None
    meter: Measure | None
    functions: Functions | None


@overload
def replay(source: Capture | Prompt, **options: Unpack[ReplayOptions]) -> Prompt: ...


@overload
def replay(source: HistoryInput | Fitted, **options: Unpack[ReplayOptions]) -> Fitted: ...


@overload
def replay(source: RequestCapture | Request, **options: Unpack[ReplayOptions]) -> Request: ...


@overload
def replay(
    source: Receipt | Mapping[str, Any] | str, **options: Unpack[ReplayOptions]
) -> Prompt | Fitted | Request: ...


def replay(
    source: Receipt | Capture | HistoryInput | RequestCapture | Prompt | Fitted | Request | Mapping[str, Any] | str,
    *,
    budget: int | Window | None = None,
    meter: Measure | None = None,
    functions: Functions | None = None,
) -> Prompt | Fitted | Request:
    """Return what the same fit would return at another budget, or with another meter: a prompt, messages or a request.

    **Sections.** A receipt without texts, such as one read from JSON without a capture, is replayed from its sizes: the
    text of the prompt is empty, and its receipt says `planned`. A ceiling that was a percentage of the budget keeps its
    number of tokens, because the receipt does not have the percentage.

    **Messages** are replayed only from the messages: which turns are kept, and what is cut inside them, does not follow
    from sizes. Stable mode keeps its settings. With the receipt in memory and the same budget, the held cut is held
    again, and the result is identical. At another budget, or from JSON, the history is cut as by a first fit at that
    budget. A replay follows no prompt, so its `stable_prefix` is 0 unless a cut is held.

    Args:
        source: a receipt, an object with one, its capture, or the JSON of either.
        budget: tokens, or a window with a budget; by default the budget of the fit.
        meter: what counts instead; for messages, the model's framing and image rules are not used then.
        functions: the functions that JSON cannot represent, by the name of the argument of the fit.

    Raises:
        DoesNotFit: what is required is bigger than the budget.
        InvalidValue: `source` is invalid, has no messages, or used a meter or function of the caller that is neither in
            memory nor an argument here.
    """
    source = _receipt_or_input(source)
    if isinstance(source, Receipt):
        recorded, captured = source.capture, source.captured
    else:
        recorded, captured = source, True
    tokens = source.budget if budget is None else budget_of(budget)
    if isinstance(recorded, RequestCapture):
        return _request(recorded, tokens, meter, functions or {}, captured=captured)
    if isinstance(recorded, HistoryInput):
        return _messages(recorded, tokens, meter, functions or {}, captured=captured)
    if recorded is not None:
        return _sections(recorded, tokens, meter, captured=captured)
    if isinstance(source, Receipt) and not source.history:
        return Prompt("", _planned(source, tokens))
    raise InvalidType("receipt.capture", None, "the messages of the fit, kept by capture=True: sizes are not enough")


def _receipt_or_input(source: object) -> Receipt | Capture | HistoryInput | RequestCapture:
    if isinstance(source, str):
        return Receipt.from_json(source)
    if isinstance(source, Mapping):
        return Receipt.from_dict(source) if "version" in source else capture_of(source)
    found = getattr(source, "receipt", source)
    if not isinstance(found, Receipt | Capture | HistoryInput | RequestCapture):
        raise InvalidType("source", source, "a receipt, an object with one, a capture, or the JSON of one")
    return found


def _sections(recorded: Capture, budget: int, meter: Measure | None, *, captured: bool) -> Prompt:
    check(recorded.sections, recorded.options)
    summaries = recorded.summaries
    return SectionFit(
        sections=recorded.sections,
        budget=budget,
        meter=_meter(recorded) if meter is None else meter_for(meter, None),
        named={"meter": recorded.meter, "model": recorded.model},
        options=dict(recorded.options),
        summarise=(lambda text, _: summaries.get(text, "")) if summaries else None,
        captured=captured,
    ).prompt()


def _messages(
    recorded: HistoryInput, budget: int, meter: Measure | None, functions: Functions, *, captured: bool
) -> Fitted:
    from brim.history.history import fit_messages

    return fit_messages(
        recorded.messages,
        budget,
        **_measure(recorded, meter),
        tools=recorded.tools,
        system=recorded.system,
        fields=recorded.fields,
        stable=_stable(recorded, same=budget == recorded.budget),
        capture=captured,
        **_options(recorded, functions),
    )


def _request(
    recorded: RequestCapture, budget: int, meter: Measure | None, functions: Functions, *, captured: bool
) -> Request:
    from brim.requests.fit import fit_request

    own, history, summaries = recorded.sections, recorded.history, recorded.sections.summaries
    options = _options(history, functions)
    known = options.pop("summarise", None)
    sections = [*own.sections]
    return fit_request(
        system=sections[: recorded.leading],
        messages=history.messages,
        user=sections[recorded.leading :],
        tools=history.tools,
        fields=history.fields,
        budget=budget,
        **{**_measure(own, meter), "model": recorded.model},
        summarise=known or ((lambda text, _: summaries.get(text, "")) if summaries else None),
        separator=own.options["separator"],
        fill=own.options["fill"],
        policy=own.options["policy"],
        capture=captured,
        **recorded.terms,
        **options,
    )


def _options(recorded: HistoryInput, functions: Functions) -> dict[str, Any]:
    """Return the options of the history, with the functions of the caller."""
    options = {**recorded.options, **_functions(recorded, functions)}
    options["embed"] = options["embed"] or None
    return options


def _measure(recorded: Capture | HistoryInput, meter: Measure | None) -> dict[str, Any]:
    """Return the meter and the model of a replay."""
    if meter is not None or recorded.model is None:
        # By its name, so that the new receipt has the name too; the same name is the same meter.
        return {"meter": meter if meter is not None else recorded.meter or _meter(recorded)}
    return {"model": recorded.model}


def _functions(recorded: HistoryInput, functions: Functions) -> dict[str, Any]:
    """Return the functions of the fit: the arguments of the replay, or the objects that are in memory."""
    for name in functions:
        check_choice("functions: a key", name, ("pin", "summarise", "classify", "embed"))
    known = {**recorded.functions, **functions}
    for name, value in known.items():
        if value is None:
            raise InvalidType(f"functions: {name}", None, "given: the fit had one, which JSON cannot represent")
    return known


def _stable(recorded: HistoryInput, *, same: bool) -> Stable | None:
    """Return the stable mode of the fit, with the cut that was held if the budget is the same."""
    if recorded.stable is None:
        return None
    from brim.history.stable import Stable

    lines = {name: recorded.stable[name] for name in ("high", "low") if recorded.stable.get(name) is not None}
    return Stable(**lines, held=recorded.held if same else None)


def _meter(recorded: Capture | HistoryInput) -> BaseMeter:
    """Return the meter of the fit: the object that is in memory, or the one of its name."""
    if isinstance(recorded.measure, BaseMeter):
        return recorded.measure
    if recorded.meter is None and recorded.model is None:
        raise InvalidType("meter", None, "given: the fit had a meter of the caller's, which JSON cannot represent")
    return meter_for(recorded.meter, recorded.model)


def _planned(receipt: Receipt, budget: int) -> Receipt:
    """Return the receipt that follows from the sizes alone."""
    claims = [_claim(part) for part in receipt.parts]
    joins = max(0, receipt.joins)
    room = budget - joins
    if (needed := essential(claims)) > room:
        raise DoesNotFit(
            f"the required sections need {needed:,} {receipt.unit} and there are {room:,}",
            needed=needed,
            available=room,
        )
    grants = allocate(claims, room, fill=receipt.fill, policy=receipt.policy)
    parts = tuple(map(_predicted, receipt.parts, claims, grants))
    used = sum(grants) + joins
    return replace(
        receipt, budget=budget, used=used, upper=used, joins=joins, parts=parts, losses=losses(parts), planned=True
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
    return part._replace(state=state, wanted=claim.wanted, granted=grant, used=grant, reason=reason)
