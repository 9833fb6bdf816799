"""Exports of Langfuse: one observation an element, of which the generations hold an `input` with messages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from brim.audit.formats.traced import traced_ask
from brim.audit.said import loaded
from brim.audit.trace import RecordedRequest, TraceItem, moment, number, text
from brim.wire.overflow import is_overflow

NAME = "langfuse"
_TYPES = (
    *("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"),
)
_SESSION = ("sessionId", "session_id")
_TRACE = ("traceId", "trace_id")
_START = ("startTime", "start_time", "timestamp")
_SETTINGS = ("modelParameters", "model_parameters")
_USAGE = ("usageDetails", "usage_details", "usage")
_INPUTS = ("input", "input_tokens", "promptTokens", "prompt_tokens")
_CACHED = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read")
_WRITTEN = ("cache_creation_input_tokens", "input_cache_creation")


def claims(record: Any) -> bool:
    """Return whether a record is an observation, or a trace with its observations."""
    if not isinstance(record, Mapping):
        return False
    if isinstance(record.get("observations"), list) and "id" in record:
        return True
    return record.get("type") in _TYPES and _first(record, _TRACE) is not None


def items(record: Mapping[str, Any]) -> list[TraceItem]:
    """Return the requests among the observations of a record."""
    found = []
    listed = record.get("observations")
    for each in listed if isinstance(listed, list) else [record]:
        if isinstance(each, Mapping) and each.get("type") == "GENERATION" and ask_of(each) is not None:
            whole = {**record, **each} if each is not record else each
            key = text(_first(whole, _SESSION)) or text(_first(whole, _TRACE)) or text(record.get("id"))
            when = moment(_first(each, _START))
            found.append(TraceItem(key=f"langfuse {key}" if key else "", when=when, make=partial(_made, each)))
    return found


def ask_of(values: Mapping[str, Any]) -> RecordedRequest | None:
    """Return the request of an observation, or nothing where it keeps no messages."""
    held = loaded(_first(values, _SETTINGS))
    settings: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
    model = _first(values, ("model", "providedModelName", "provided_model_name", "internalModel"))
    problem = _first(values, ("statusMessage", "status_message"))
    overflowed = bool(problem) and is_overflow(problem) is not None
    return traced_ask(values.get("input"), model=model, settings=settings, usage=_usage(values), overflowed=overflowed)


def _made(values: Mapping[str, Any]) -> RecordedRequest:
    ask = ask_of(values)
    assert ask is not None
    return ask


def _usage(values: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the tokens of input that were counted; what was in the cache is told apart from them."""
    held = loaded(_first(values, _USAGE))
    usage: Mapping[str, Any] = held if isinstance(held, Mapping) else values
    told = number(_first(usage, _INPUTS))
    if told is None:
        return None
    cached = number(_first(usage, _CACHED)) or 0
    return told + cached + (number(_first(usage, _WRITTEN)) or 0), cached


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)
