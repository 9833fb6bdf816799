"""`brim models`: what is known about each model."""

from __future__ import annotations

from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Annotated

import typer

from brim.cli import options
from brim.cli.output import console, emit, fields, show, table, told
from brim.errors import UnknownName
from brim.meter import catalogue
from brim.meter.model import Model

_FOOT = "Prices are US dollars for a million tokens; - is not known."


def run(
    *,
    pattern: Annotated[
        str | None,
        typer.Argument(metavar="[PATTERN]", help="A model by its name, or a part of names; * stands for anything."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every column.")] = False,
    json: options.Json = False,
) -> None:
    """List the models that brim knows, or tell all about one.

    Windows, vocabularies and prices come with the day on which they were taken. Names with providers and dates lead
    to their model: openai/gpt-5-2025-08-07. Another model is declared in brim.models.yaml.

    Example: brim models "claude-*"
    """
    one = None if pattern is None else _named(pattern)
    found = [one] if one else _matching(pattern)
    if json:
        emit({"models": [asdict(model) for model in found]})
    elif one:
        _detail(one)
    else:
        _list(found, every=every)


def _named(name: str) -> Model | None:
    try:
        return catalogue.find(name)
    except UnknownName:
        return None


def _matching(pattern: str | None) -> list[Model]:
    """Return the models whose names hold the pattern.

    Raises:
        UnknownName: there is none.
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
    return found or [catalogue.find(pattern)]


def _list(found: list[Model], *, every: bool) -> None:
    numbers = ("window", "max in", "max out", "$ in", "$ out")
    more = ("cached", "provider", "source", "date") if every else ()
    made = table(
        "model",
        *numbers[:3],
        "vocabulary",
        *numbers[3:],
        *more,
        numbers=(*numbers, "cached"),
        wide=("source", "model"),
    )
    for model in found:
        prices = model.prices
        extra = (_price(prices.cached_read if prices else None), model.provider or "", model.source, model.date or "")
        made.add_row(
            model.id,
            model.window_text,
            _units(model.max_input),
            _units(model.max_output),
            model.vocabulary or "-",
            _price(prices.input if prices else None),
            _price(prices.output if prices else None),
            *(extra if every else ()),
        )
    out = console()
    show(out, made)
    dates = sorted({model.date for model in found if model.date})
    day = f", as of {dates[-1]}" if dates else ""
    out.print(f"\n{told(len(found), 'model')}{day}.")
    out.print(_FOOT, style="dim")


def _detail(model: Model) -> None:
    cache, prices = model.cache, model.prices
    rows = {
        "model": model.id,
        "provider": model.provider or "-",
        "window": model.window_text,
        "longest prompt": _units(model.max_input),
        "longest answer": _units(model.max_output),
        "prompt and answer": {True: "share the window", False: "are limited apart", None: "-"}[model.shared],
        "vocabulary": model.vocabulary or "-",
        "price of input": _price(prices.input if prices else None),
        "price of output": _price(prices.output if prices else None),
        "price of cached input": _price(prices.cached_read if prices else None),
        "price of caching": _price(prices.cache_write if prices else None),
        "cached from": f"{cache.minimum:,} tokens" if cache and cache.minimum else "-",
        "other names": ", ".join(model.aliases) or "-",
        "source": model.source or "-",
        "date": model.date or "-",
    }
    out = console()
    show(out, fields(rows))
    out.print("\n" + _FOOT, style="dim")


def _units(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _price(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if round(value, 2) == value else f"{value:,.4f}".rstrip("0")
