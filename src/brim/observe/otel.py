"""Events for OpenTelemetry: what each is called there stands in the tables of this module, and nowhere else.

The GenAI conventions are not stable and rename what they have, so the names of a release stand side by side and a
variable of the environment chooses. What the conventions have no word for is under `brim.`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from brim.errors import SourceError
from brim.observe.event import Event

SWITCH = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST = "gen_ai_latest_experimental"
"""The word in that variable that asks for the newest names."""

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
"""What the released histogram is told apart by."""
OWN = "brim."
"""What stands before names that the conventions do not have."""


def names() -> Mapping[str, str]:
    """Return the names to use: the released ones, unless the environment asks for the newest."""
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
        self._events = counts.create_counter(f"{OWN}events", description="What happened to prompts.")

    def observe(self, event: Event) -> None:
        """Take note of an event."""
        told = self.attributes(event)
        span = self._trace.get_current_span()
        if span.is_recording():
            span.add_event(f"{OWN}{event.name}", told)
            if event.name == "compacted":
                span.set_attribute(self._names["compacted"], True)
        else:
            with self._tracer.start_as_current_span(f"{OWN}{event.name}", attributes=told):
                pass
        model = {self._names["model"]: event.model} if event.model else {}
        self._events.add(1, {f"{OWN}event": event.name, **model})
        if event.name == "prompt_assembled":
            kind = dict([TOKEN_TYPE]) if self._names is RELEASED else {}
            self._input.record(event.fields.get("used_tokens", 0), {**kind, **model})

    def attributes(self, event: Event) -> dict[str, Any]:
        """Return the fields of an event under their names, as the kinds of values that a span takes."""
        known = {"session": event.session, "model": event.model}
        told: dict[str, Any] = {self._names[key]: value for key, value in known.items() if value is not None}
        for key, value in event.fields.items():
            if isinstance(value, bool | int | float | str):
                told[f"{OWN}{key}"] = value
            elif isinstance(value, Mapping):
                told |= {
                    f"{OWN}{key}.{name}": v for name, v in value.items() if isinstance(v, bool | int | float | str)
                }
            elif isinstance(value, list | tuple):
                told[f"{OWN}{key}"] = [str(each) for each in value]
        if event.name == "compacted":
            told[self._names["compacted"]] = True
        return told
