"""Events for OpenTelemetry; only this module knows their names there.

The GenAI conventions are not stable and rename attributes, so both generations of names are here and an environment
variable chooses. Names that the conventions do not have begin with `brim.`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from brim.errors import SourceError
from brim.observe.events import Event

SWITCH = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST = "gen_ai_latest_experimental"
"""The word in that variable that selects the newest names."""

_SHARED = {
    "session": "gen_ai.conversation.id",
    "model": "gen_ai.request.model",
    "compacted": "gen_ai.conversation.compacted",
}
RELEASED: Mapping[str, str] = {**_SHARED, "input": "gen_ai.client.token.usage"}
"""The names that instrumentations in use emit."""
NEWEST: Mapping[str, str] = {**_SHARED, "input": "gen_ai.client.inference.operation.input_tokens"}
"""The names of the latest conventions."""
TOKEN_TYPE = ("gen_ai.token.type", "input")
"""The attribute of the released histogram for input tokens."""
_SCALARS = (bool, int, float, str)
OWN = "brim."
"""The prefix of names that the conventions do not have."""


def names() -> Mapping[str, str]:
    """Return the names to use: the released ones, unless the environment selects the newest."""
    return NEWEST if LATEST in os.environ.get(SWITCH, "").split(",") else RELEASED


class OpenTelemetry:
    """Adds each event to the span that is open, or to one of its own, and counts tokens in a histogram."""

    def __init__(self, *, tracer: Any = None, meter: Any = None) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise SourceError("opentelemetry", "it is not installed: pip install 'brim[otel]'") from error
        self._trace = trace
        self._tracer = tracer or trace.get_tracer("brim")
        self._names = names()
        counts = meter or metrics.get_meter("brim")
        self._input = counts.create_histogram(self._names["input"], unit="{token}", description="Tokens of a prompt.")
        self._events = counts.create_counter(f"{OWN}events", description="Events of prompts.")

    def observe(self, event: Event) -> None:
        """Record an event."""
        attributes = self.attributes(event)
        span = self._trace.get_current_span()
        if span.is_recording():
            span.add_event(f"{OWN}{event.name}", attributes)
            if event.name == "compacted":
                span.set_attribute(self._names["compacted"], True)
        else:
            with self._tracer.start_as_current_span(f"{OWN}{event.name}", attributes=attributes):
                pass
        model = {self._names["model"]: event.model} if event.model else {}
        self._events.add(1, {f"{OWN}event": event.name, **model})
        if event.name == "prompt_assembled":
            kind = dict([TOKEN_TYPE]) if self._names is RELEASED else {}
            self._input.record(event.fields.get("used_tokens", 0), {**kind, **model})

    def attributes(self, event: Event) -> dict[str, Any]:
        """Return the fields of an event by their names, as values that a span accepts."""
        known = {"session": event.session, "model": event.model}
        attributes: dict[str, Any] = {self._names[key]: value for key, value in known.items() if value is not None}
        for key, value in event.fields.items():
            inner = {f".{name}": each for name, each in value.items()} if isinstance(value, Mapping) else {"": value}
            attributes |= {f"{OWN}{key}{name}": each for name, each in inner.items() if isinstance(each, _SCALARS)}
            if isinstance(value, list | tuple):
                attributes[f"{OWN}{key}"] = [str(each) for each in value]
        if event.name == "compacted":
            attributes[self._names["compacted"]] = True
        return attributes
