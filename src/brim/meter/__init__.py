"""Meters by name: a model, a vocabulary, a unit, or a tokenizer file.

The same name returns the same meter each time, so that all parts of a program share its cached counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from brim.errors import InvalidType, UnknownName
from brim.meter.adapters import AssumedMeter, CallerMeter, TunedMeter, UpperBound
from brim.meter.base import BaseMeter, Meter
from brim.meter.estimate import FAMILIES, OTHER, Estimate
from brim.meter.units import UNITS
from brim.meter.vocabularies import VOCABULARIES, file_vocabulary, vocabulary

__all__ = ["DEFAULT", "BaseMeter", "Meter", "meter", "meter_for", "upper_bound"]

DEFAULT = "o200k_base"


def meter(name: str | Meter | Callable[[str], int]) -> BaseMeter:
    """Return the meter with a name, or wrap a caller's own meter or function.

    A name is the name of a model (`gpt-5`), a vocabulary (`o200k_base`), a unit (`chars`, `chars/4`, `chars/4+1`),
    or the path of a `tokenizer.json`.

    Raises:
        UnknownName: no such model, vocabulary or unit; the message lists the nearest names.
        SourceError: a tokenizer file cannot be read.
        InvalidValue: the meter counts nothing.
        MeterError: the caller's meter fails.
    """
    if isinstance(name, BaseMeter):
        return name
    if isinstance(name, str):
        return _named(name)
    # The `count` of a list does not count text.
    if not isinstance(name, Sequence) and (callable(getattr(name, "count", None)) or callable(name)):
        return CallerMeter(name)
    raise InvalidType("meter", name, "the name of a model, vocabulary or unit, a meter, or a function")


def meter_for(given: str | Meter | Callable[[str], int] | None, model: str | None) -> BaseMeter:
    """Return the meter for a fit: `given`, or the model's meter. If that estimates, it counts upper bounds.

    Without both, the count of the default vocabulary is an estimate, which is logged once. The meter `other` is meant
    for unknown models, so it counts upper bounds too.

    Raises:
        UnknownName: no such model, vocabulary or unit.
        InvalidType: both arguments are set.
    """
    if given is not None and model is not None:
        raise InvalidType("model", model, "omitted if a meter is set")
    if given is not None and given != OTHER:
        return meter(given)
    if given is None and model is None:
        assumed = _assumed()
        assumed.warn()
        return assumed
    chosen = meter(OTHER) if model is None else _of_model(model) or meter(model)
    return chosen if chosen.exact else upper_bound(chosen)


@cache
def _assumed() -> AssumedMeter:
    made = AssumedMeter(meter(DEFAULT))
    made.source = (meter_for, (None, None))
    return made


def name_of(given: object) -> str | None:
    """Return the name of this meter, as `meter` accepts it, or `None` for a caller's own meter."""
    if isinstance(given, str):
        return given
    if not isinstance(given, BaseMeter):
        return None
    if given.model is not None and _of_model(given.model) is given:
        return given.model
    return given.name if _built_in(given.name) is given or isinstance(given, AssumedMeter) else None


@cache
def upper_bound(inner: BaseMeter) -> BaseMeter:
    """Return the meter that counts the upper bounds of an estimate."""
    made = UpperBound(inner)
    made.source = (upper_bound, (inner,))
    return made


@cache
def _built_in(name: str) -> BaseMeter | None:
    if name in UNITS or name in FAMILIES:
        made = UNITS[name]() if name in UNITS else Estimate(name)
        made.source = (meter, (name,))
        return made
    return vocabulary(name) if name in VOCABULARIES else None


def is_file(name: str) -> bool:
    """Return whether the name of a meter is the path of a tokenizer file; other files are never opened."""
    return name.endswith(".json")


def _named(name: str) -> BaseMeter:
    if built_in := _built_in(name):
        return built_in
    if is_file(name):
        return file_vocabulary(name)
    if of_model := _of_model(name):
        return of_model
    from brim.meter import catalogue

    known = [*UNITS, *VOCABULARIES, *FAMILIES, *catalogue.known_names()]
    raise UnknownName("model, vocabulary or unit", name, known, catalogue.ADVICE)


def _of_model(name: str) -> BaseMeter | None:
    """Return the meter of a model, or `None` if the name is neither in the catalogue nor a known name of Ollama."""
    from brim.meter import catalogue

    model = catalogue.lookup(name)
    known = catalogue.family_vocabulary(name) if model is None else model.vocabulary or OTHER
    return None if known is None else _for_model(known, name)


@cache
def _for_model(vocabulary: str, model: str) -> BaseMeter:
    made = TunedMeter(_named(vocabulary), model)
    made.source = (_for_model, (vocabulary, model))
    return made
