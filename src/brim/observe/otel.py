"""Events for OpenTelemetry, with the names of its GenAI conventions.

Names that are not in the conventions begin with `brim.`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import SourceError
from brim.observe.events import Event

_SESSION, _MODEL = "gen_ai.conversation.id", "gen_ai.request.model"
_COMPACTED = "gen_ai.conversation.compacted"
_INPUT = "gen_ai.client.token.usage"
_TOKEN_TYPE = {"gen_ai.token.type": "input"}
_SCALARS = (bool, int, float, str)
OWN = "brim."
"""The prefix of names that are not in the conventions."""


class OpenTelemetry:
    """Adds each event to the current span or to a new one, and records tokens in a histogram."""

    def __init__(self, *, tracer: Any = None, meter: Any = None) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise SourceError("opentelemetry", "the package is not installed: pip install 'brim[otel]'") from error
        self._trace = trace
        self._tracer = tracer or trace.get_tracer("brim")
        counts = meter or metrics.get_meter("brim")
        self._input = counts.create_histogram(_INPUT, unit="{token}", description="Tokens of a prompt.")
        self._events = counts.create_counter(f"{OWN}events", description="Events of prompts.")

    def observe(self, event: Event) -> None:
        """Record an event."""
        attributes = self.attributes(event)
        span = self._trace.get_current_span()
        if span.is_recording():
            span.add_event(f"{OWN}{event.name}", attributes)
            if event.name == "compacted":
                span.set_attribute(_COMPACTED, True)
        else:
            with self._tracer.start_as_current_span(f"{OWN}{event.name}", attributes=attributes):
                pass
        model = {_MODEL: event.model} if event.model else {}
        self._events.add(1, {f"{OWN}event": event.name, **model})
        if event.name == "prompt_assembled":
            self._input.record(event.fields.get("used_tokens", 0), {**_TOKEN_TYPE, **model})

    def attributes(self, event: Event) -> dict[str, Any]:
        """Return the fields of an event as attributes of a span."""
        known = {_SESSION: event.session, _MODEL: event.model}
        attributes: dict[str, Any] = {name: value for name, value in known.items() if value is not None}
        for key, value in event.fields.items():
            inner = {f".{name}": each for name, each in value.items()} if isinstance(value, Mapping) else {"": value}
            attributes |= {f"{OWN}{key}{name}": each for name, each in inner.items() if isinstance(each, _SCALARS)}
            if isinstance(value, list | tuple):
                attributes[f"{OWN}{key}"] = [str(each) for each in value]
        if event.name == "compacted":
            attributes[_COMPACTED] = True
        return attributes
