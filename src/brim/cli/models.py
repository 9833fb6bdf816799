"""`brim models`: the models that brim knows."""

from __future__ import annotations

from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Annotated

import typer

from brim.amounts import counted
from brim.cli import options
from brim.cli.output import console, emit, fields, show, table
from brim.errors import BrimError, shown
from brim.meter import catalogue
from brim.meter.catalogue import Model, Prices

_FOOT = "Prices are in US dollars per million tokens; - means unknown."


def run(
    *,
    pattern: Annotated[
        str | None,
        typer.Argument(metavar="PATTERN", help="A name or a part of it; * matches anything."),
    ] = None,
    json: options.Json = False,
) -> None:
    """List the models that brim knows, or show one in detail.

    Windows, vocabularies and prices are shown with the date on which they were recorded. Names may have a provider and
    a date, such as openai/gpt-5-2025-08-07. Declare other models in brim.models.yaml.

    Example: brim models "claude-*"
    """
    one = catalogue.lookup(pattern)
    found = [one] if one else _matching(pattern)
    if json:
        emit({"models": [asdict(model) for model in found]})
    elif one:
        _detail(one)
    else:
        _list(found)


def _matching(pattern: str | None) -> list[Model]:
    """Return the models whose names match the pattern.

    Raises:
        BrimError: no model matches the pattern.
        UnknownName: no model has that name.
    """
    models = catalogue.models()
    if pattern is None:
        return models
    folded = pattern.casefold()
    wild = folded if "*" in folded or "?" in folded else f"*{folded}*"
    found = [
        model
        for model in models
        if any(fnmatchcase(name.casefold(), wild) for name in (model.id, *model.aliases, model.provider or ""))
    ]
    if not found and wild == folded:
        raise BrimError(f"no model matches the pattern {shown(pattern)}; brim models lists all")
    return found or [catalogue.find(pattern)]


def _list(found: list[Model]) -> None:
    numbers = ("window", "max in", "max out", "$ in", "$ out")
    made = table("model", *numbers[:3], "vocabulary", *numbers[3:], numbers=numbers, wide=("model",))
    for model in found:
        prices = model.prices or Prices()
        made.add_row(
            *(model.id, model.window_text, _number(model.max_input), _number(model.max_output)),
            *(model.vocabulary or "-", _price(prices.input), _price(prices.output)),
        )
    out = console()
    show(out, made)
    dates = sorted({model.date for model in found if model.date})
    day = f", as of {dates[-1]}" if dates else ""
    out.print(f"\n{counted(len(found), 'model')}{day}.")
    out.print(_FOOT, style="dim")


def _detail(model: Model) -> None:
    cache, prices = model.cache, model.prices or Prices()
    rows = {
        "model": model.id,
        "provider": model.provider or "-",
        "window": model.window_text,
        "longest prompt": _number(model.max_input),
        "longest answer": _number(model.max_output),
        "prompt and answer": {True: "share the window", False: "have separate limits", None: "-"}[model.shared],
        "vocabulary": model.vocabulary or "-",
        "price of input": _price(prices.input),
        "price of output": _price(prices.output),
        "price of cached input": _price(prices.cached_read),
        "price of caching": _price(prices.cache_write),
        "cached from": f"{cache.minimum:,} tokens" if cache and cache.minimum else "-",
        "other names": ", ".join(model.aliases) or "-",
        "source": model.source or "-",
        "date": model.date or "-",
    }
    out = console()
    show(out, fields(rows))
    out.print("\n" + _FOOT, style="dim")


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _price(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if round(value, 2) == value else f"{value:,.4f}".rstrip("0")
