"""Receipts read back from files that anybody may have written."""

from __future__ import annotations

from types import UnionType
from typing import Any, get_type_hints

from brim.allocate.solver import FILLS, POLICIES
from brim.config.files import text_of
from brim.errors import InvalidType, InvalidValue, SourceError
from brim.fit import DIRECTIONS
from brim.receipt import STATES, Capture, Loss, Part, Receipt
from brim.render import ORDERS
from brim.section import check_choice

_MOST_BYTES = 500_000_000
_FACTS: dict[str, type | UnionType] = {
    "budget": int,
    "used": int,
    "upper": int,
    "stable_prefix": int,
    "unit": str,
    "meter": str,
    "exact": bool,
    "planned": bool,
    "captured": bool,
}
_OPTIONS: dict[str, type | UnionType] = {"separator": str, "template": str | None, "show_budget": bool}


def read_receipt(path: str) -> Receipt:
    """Return the receipt that a file holds, every value of the kind that it has to be.

    Raises:
        SourceError: the file cannot be read, or holds no receipt.
    """
    text = text_of(path, _MOST_BYTES)
    try:
        receipt = Receipt.from_json(text)
        _check(receipt)
    except InvalidValue as error:
        raise SourceError(path, f"not a receipt: {error}") from error
    return receipt


def _check(receipt: Receipt) -> None:
    _check_kinds("receipt", {name: getattr(receipt, name) for name in _FACTS}, _FACTS)
    if type(receipt.joins) is not int:
        raise InvalidType("receipt joins", receipt.joins, "a whole number")
    for name, choices in (("policy", POLICIES), ("fill", FILLS), ("order", ORDERS)):
        check_choice(f"receipt {name}", getattr(receipt, name), choices)
    for i, part in enumerate(receipt.parts):
        _check_kinds(f"parts[{i}]", part._asdict(), get_type_hints(Part))
        check_choice(f"parts[{i}] state", part.state, STATES)
    for i, loss in enumerate(receipt.losses):
        _check_kinds(f"losses[{i}]", loss._asdict(), get_type_hints(Loss))
    if receipt.capture is not None:
        _check_capture(receipt.capture)


def _check_capture(capture: Capture) -> None:
    given = {"budget": capture.budget, "meter": capture.meter, "model": capture.model}
    _check_kinds("capture", given, {"budget": int, "meter": str | None, "model": str | None})
    for name, value in (("options", capture.options), ("summaries", capture.summaries)):
        if not isinstance(value, dict):
            raise InvalidType(f"capture {name}", value, "an object")
    options = {name: capture.options.get(name) for name in _OPTIONS}
    _check_kinds("capture options", options, _OPTIONS)
    choices = {"order": ORDERS, "fill": FILLS, "policy": POLICIES, "direction": DIRECTIONS}
    for name, known in choices.items():
        check_choice(f"capture options {name}", capture.options.get(name), known)
    _check_kinds("capture summaries", dict(capture.summaries), dict.fromkeys(capture.summaries, str))


def _check_kinds(where: str, values: dict[str, Any], kinds: dict[str, Any]) -> None:
    for name, value in values.items():
        kind = kinds[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            expected = {int: "a whole number", str: "a text", bool: "true or false"}.get(kind, "a text or nothing")
            raise InvalidType(f"{where} {name}", value, expected)
        if kind is int and value < 0 and name != "priority":
            raise InvalidValue(f"{where} {name}", value, "at least 0")
