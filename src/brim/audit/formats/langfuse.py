"""Exports of Langfuse: a list of observations; generations have an `input` with the messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.fields import first, loaded, mapping, rows, text, usage_in
from brim.audit.formats.tracer import TracedCall, traced_items, traced_request
from brim.audit.trace import TraceItem, refused

NAME = "langfuse"
_TYPES = (
    *("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"),
)
_TRACE = ("traceId", "trace_id")
_MODEL = ("model", "providedModelName", "provided_model_name", "internalModel")
_INPUTS = ("input", "input_tokens", "promptTokens", "prompt_tokens")
_CACHED = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read")
_WRITTEN = ("cache_creation_input_tokens", "input_cache_creation")


def items(record: Any) -> list[TraceItem] | None:
    """Return the requests of an observation, or of a trace with its observations."""
    trace = mapping(record)
    nested = isinstance(trace.get("observations"), list)
    if not (nested and "id" in trace) and not (trace.get("type") in _TYPES and first(trace, _TRACE) is not None):
        return None
    return traced_items(NAME, _calls(trace, rows(trace["observations"]) if nested else [trace]))


def _calls(trace: Mapping[str, Any], observations: list[Mapping[str, Any]]) -> Iterator[TracedCall]:
    for each in observations:
        if each.get("type") == "GENERATION":
            request = traced_request(
                each.get("input"),
                model=first(each, _MODEL),
                settings=mapping(loaded(first(each, ("modelParameters", "model_parameters")))),
                usage=_usage(each),
                overflowed=refused(first(each, ("statusMessage", "status_message"))),
            )
            both = {**trace, **each}
            session = text(first(both, ("sessionId", "session_id"))) or text(first(both, _TRACE))
            start = first(each, ("startTime", "start_time", "timestamp"))
            yield request, session or text(trace.get("id")), start


def _usage(observation: Mapping[str, Any]) -> tuple[int, int] | None:
    held = loaded(first(observation, ("usageDetails", "usage_details", "usage")))
    return usage_in(held if isinstance(held, Mapping) else observation, _INPUTS, _CACHED, _WRITTEN)
