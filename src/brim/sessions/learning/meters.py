"""Chooses the meter that counts the requests to a model, and counts a request before it is cut."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from brim.meter import BaseMeter, meter, meter_for, upper_bound
from brim.meter.adapters import UpperBound
from brim.meter.chat import request_counts
from brim.meter.estimate import OTHER
from brim.sessions.learning.models import MOST_NAMES, known
from brim.sessions.learning.request_input import RequestInput
from brim.wire import format_of, wire


class RequestSize(NamedTuple):
    """The tokens of a request before it is cut."""

    tokens: int
    exact: bool


@lru_cache(maxsize=MOST_NAMES)
def request_meter(model: str, chosen: Any = None) -> BaseMeter:
    """Return the meter that counts requests to a model; an estimate counts its upper bound.

    Args:
        model: the model; for one that is not in the catalogue, the bound holds for any model.
        chosen: a meter, or its name, to use instead of the model's own.

    Raises:
        UnknownName: there is no meter of that name.
    """
    own = chosen if chosen is not None else None if known(model) is not None else OTHER
    made = meter_for(own, model if own is None else None)
    made.count("ready")  # A vocabulary is loaded with its first count.
    return upper_bound(made) if made.slack and not made.overhead else made


def count_request(request: RequestInput, scale: BaseMeter) -> RequestSize:
    """Count a request by itself, before it is cut.

    Raises:
        InvalidValue: a message or a tool is invalid.
    """
    format = wire(request.format or format_of(request.messages) or "openai")
    counter, apart = scale.counter(format.provider), request.system if format.name != "openai" else None
    sent = request.messages, request.tools
    tokens = request_counts(lambda _: counter, *sent, system=apart, fields=request.fields, format=format.name)
    exact = counter.tools(request.tools, system=True).exact and counter.fields(request.fields)[1]
    return RequestSize(tokens, exact and scale.exact and not counter.estimated)


def looseness(request: RequestInput, scale: BaseMeter) -> float:
    """Return the upper bound of a request divided by its estimate; 1 for a meter that counts no bound.

    Raises:
        InvalidValue: a message or a tool is invalid.
    """
    if not isinstance(scale, UpperBound):
        return 1.0
    return count_request(request, scale).tokens / max(1, count_request(request, scale.inner).tokens)


def warm() -> None:
    """Load what counting needs, so that the first request need not wait for it."""
    for name in ("gpt-5", OTHER):
        meter(name).count("ready")
