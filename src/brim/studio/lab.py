"""The budget lab: a fit run again at any budget, with every piece, its state, and the budget that brings it back.

Every number comes from the library's own fit. What is the same at any budget is told once, by its key; each later
answer has the states and the numbers alone, so that the page can keep up with a slider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import BrimError, DoesNotFit, InvalidType, InvalidValue
from brim.meter.window import Window
from brim.receipts.receipt import Receipt
from brim.studio import price, source
from brim.studio.desk import Desk
from brim.studio.returning import Search
from brim.studio.source import SAMPLE, LabSource, opened

__all__ = ["SAMPLE", "fitted", "returns", "sources"]

_LARGEST = 100_000_000
_SIZES = (("8k", 8_000), ("32k", 32_000), ("128k", 128_000), ("200k", 200_000), ("1M", 1_000_000))
_MOST_MODELS = 8
_MOST_WARNINGS = 6


def sources(desk: Desk) -> dict[str, Any]:
    """Return what can be opened, and the budgets by name: each model that is in use, and the usual sizes."""
    sizes = [{"name": name, "budget": units, "told": f"{units:,}"} for name, units in _SIZES]
    return {"sources": source.listed(desk), "presets": [*_models(desk), *sizes]}


def _models(desk: Desk) -> list[dict[str, Any]]:
    """Return the budget of each model that the settings or the conversations of the store name."""
    settings = desk.settings().resolve()
    named, own = settings.value("model"), settings.window()
    found = []
    if own is not None and named:
        found.append({"name": named, "budget": own.budget, "told": f"what the settings leave of {own.size:,}"})
    store = desk.store()
    for row in store.sessions(limit=100) if store is not None else ():
        status = row.meta.get("status")
        model = status.get("model") if isinstance(status, Mapping) else None
        if isinstance(model, str) and model not in [each["name"] for each in found]:
            try:
                window = Window.of(model)
            except BrimError:  # Its window is not known, so there is no budget to offer.
                continue
            found.append({"name": model, "budget": window.budget, "told": f"the window of {model}"})
    return found[:_MOST_MODELS]


def fitted(desk: Desk, name: str, budget: object, choices: object, known: str | None = None) -> dict[str, Any]:
    """Return what a budget keeps: the sums, and for each piece, dropped ones included, its state, use and reason.

    `known` is the key of the pieces that the asker has already; they are left out of the answer then.

    Raises:
        UnknownName: no such source.
        InvalidValue: a budget or a choice that cannot be.
    """
    found = opened(desk, name)
    units = found.budget if budget is None else _units(budget)
    asked = _choices(found, choices)
    told: dict[str, Any] = {
        "id": found.id,
        "title": found.title,
        "kind": found.kind,
        "model": found.model,
        "recorded": found.budget,
    }
    found.asked += 1
    try:
        receipt = found.fit(units, asked)
    except DoesNotFit as error:
        lacks = {"needed": error.needed, "parts": error.parts, "problem": str(error)}
        return {**told, "fits": False, "budget": units, **lacks}
    key, pieces = found.pieces(receipt.parts)
    names = ("budget", "used", "unit", "meter", "exact", "joins")
    told |= {"fits": True, **{each: getattr(receipt, each) for each in names}, "key": key}
    if key != known:
        told |= {"pieces": pieces._asdict(), "choices": found.choices}
    return {**told, **_strip(found, receipt), "now": _now(receipt)}


def _now(receipt: Receipt) -> dict[str, Any]:
    """Return what differs from budget to budget, as columns; reasons are told once each."""
    reasons: dict[str, int] = {}
    states: dict[str, int] = {}
    return {
        "used": [part.used for part in receipt.parts],
        "state": [states.setdefault(part.state, len(states)) for part in receipt.parts],
        "reason": [reasons.setdefault(part.reason, len(reasons)) for part in receipt.parts],
        "states": list(states),
        "reasons": list(reasons),
    }


def _strip(found: LabSource, receipt: Receipt) -> dict[str, Any]:
    """Return what stands in one line above the pieces: the sums, the cache, the cost, and what to look out for."""
    dropped = [part for part in receipt.parts if part.state == "dropped"]
    recorded = found.recorded
    prefix = None if recorded is None else kept_prefix(recorded, receipt)
    now = price.cost(found.model, receipt.unit, receipt.used)
    before = None if recorded is None else price.cost(found.model, recorded.unit, recorded.used)
    return {
        "wanted": sum(part.size for part in receipt.parts),
        "dropped": len(dropped),
        "lost": sum(part.size - part.used for part in receipt.parts if part.size > part.used),
        "prefix": prefix,
        "prefix_of": None if recorded is None else recorded.used,
        "cost_usd": now,
        "cost_change_usd": None if now is None or before is None else round(now - before, 8),
        "cost_cached_usd": None if prefix is None else price.cost(found.model, receipt.unit, receipt.used, prefix),
        "warnings": _warnings(receipt),
    }


def kept_prefix(before: Receipt, now: Receipt) -> int | None:
    """Return the units of the leading pieces that stand in both prompts just so: what a cache would still hold.

    It is told by whole pieces, so the bytes that two prompts share may be a few more. Nothing is known of a prompt
    that stands in a template or that tells its own budget.
    """
    options = getattr(now.capture, "options", {})
    if options.get("template") or options.get("show_budget"):
        return None
    units = 0
    notes = [(each.history or {}).get("note") for each in (before, now)]
    for old, new in zip(_in_line(before), _in_line(now), strict=False):
        if not old.used and not new.used and old.name == new.name:
            if notes[0] != notes[1]:  # A note stands where the first turn was left out.
                break
            continue
        if (old.name, old.state, old.used, old.granted) != (new.name, new.state, new.used, new.granted):
            break
        units += new.used
    return units


def _in_line(receipt: Receipt) -> Any:
    return receipt.parts if receipt.order == "given" else sorted(receipt.parts, key=lambda part: part.priority)


def _warnings(receipt: Receipt) -> list[str]:
    """Return what to look out for: essential pieces that lost something, and messages that had to be repaired."""
    found = [
        f"{part.name} is essential, and {part.size - part.used:,} of its {part.size:,} {receipt.unit} are left out"
        for part in receipt.parts
        if part.required and part.size > part.used
    ]
    history = receipt.history or {}
    found += [f"messages[{each['index']}]: {each['reason']}" for each in history.get("repairs", ())]
    found += receipt.stages
    more = len(found) - _MOST_WARNINGS
    return found[:_MOST_WARNINGS] + ([f"and {more:,} more"] if more > 0 else [])


def returns(desk: Desk, name: str, budget: object, choices: object, piece: str | None = None) -> dict[str, Any]:
    """Return for each dropped piece, or for one, the smallest budget found at which it is back.

    What is told was fitted: at that budget the piece is there. `exact` says that at one unit less it is not.

    Raises:
        UnknownName: no such source.
        InvalidValue: a budget or a choice that cannot be.
    """
    found = opened(desk, name)
    units, asked = _units(budget), _choices(found, choices)
    back = Search(found, asked).run(units, piece)
    return {"budget": units, "returns": {part: list(told) for part, told in back.items()}}


def asked_for(desk: Desk, name: str, budget: object, choices: object) -> tuple[LabSource, int, dict[str, Any]]:
    """Return a source, units and choices that can be.

    Raises:
        UnknownName: no such source.
        InvalidValue: a budget or a choice that cannot be.
    """
    found = opened(desk, name)
    return found, _units(budget), _choices(found, choices)


def _units(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise InvalidValue("budget", value, f"a whole number from 0 to {_LARGEST:,}")
    return value


def _choices(found: LabSource, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidType("choices", value, "choices by name")
    for name, chosen in value.items():
        if chosen not in found.choices.get(name, ()):
            told = "; ".join(f"{each}: {', '.join(values)}" for each, values in found.choices.items())
            raise InvalidValue("choices", {name: chosen}, f"one of {told}")
    return dict(value)
