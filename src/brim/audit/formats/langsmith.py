"""Exports of LangSmith: one run an element, of which those of a model hold `inputs` with messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from brim.audit.formats.traced import traced_ask
from brim.audit.trace import IDS, RecordedRequest, TraceItem, moment, number, text
from brim.wire.overflow import is_overflow

NAME = "langsmith"


def claims(record: Any) -> bool:
    """Return whether a record is a run."""
    return isinstance(record, Mapping) and isinstance(record.get("run_type"), str) and "inputs" in record


def items(record: Mapping[str, Any]) -> list[TraceItem]:
    """Return the requests of a run and of the runs below it."""
    found = []
    for run in _runs(record):
        if run.get("run_type") == "llm" and ask_of(run) is not None:
            thread = next((text(_metadata(run).get(key)) for key in IDS if _metadata(run).get(key)), None)
            key = thread or text(run.get("trace_id")) or text(run.get("id"))
            when = moment(run.get("start_time"))
            found.append(TraceItem(key=f"langsmith {key}" if key else "", when=when, make=partial(_made, run)))
    return found


def ask_of(run: Mapping[str, Any]) -> RecordedRequest | None:
    """Return the request of a run, or nothing where it keeps no messages."""
    extra = run.get("extra")
    held = extra.get("invocation_params") if isinstance(extra, Mapping) else None
    settings: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
    told = _metadata(run)
    model = settings.get("model") or settings.get("model_name") or told.get("ls_model_name")
    inputs = run.get("inputs")
    if isinstance(inputs, Mapping) and "messages" not in inputs and "prompts" in inputs:
        inputs = inputs["prompts"]
    error = run.get("error")
    overflowed = bool(error) and is_overflow(error) is not None
    return traced_ask(inputs, model=model, settings=settings, usage=_usage(run), overflowed=overflowed)


def _made(run: Mapping[str, Any]) -> RecordedRequest:
    ask = ask_of(run)
    assert ask is not None
    return ask


def _runs(run: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [run]
    while waiting:
        each = waiting.pop()
        yield each
        below = each.get("child_runs")
        waiting += [child for child in below if isinstance(child, Mapping)] if isinstance(below, list) else []


def _metadata(run: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = run.get("extra")
    held = extra.get("metadata") if isinstance(extra, Mapping) else None
    return held if isinstance(held, Mapping) else {}


def _usage(run: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the tokens of input that were counted, and how many came from the cache."""
    outputs = run.get("outputs")
    held = outputs.get("usage_metadata") if isinstance(outputs, Mapping) else None
    usage: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
    told = number(usage.get("input_tokens"))
    if told is None:
        told = number(run.get("prompt_tokens"))
    if told is None:
        return None
    details = usage.get("input_token_details")
    read = number(details.get("cache_read")) if isinstance(details, Mapping) else None
    return told, read or 0
