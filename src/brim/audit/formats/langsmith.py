"""Exports of LangSmith: a list of runs; model runs have `inputs` with the messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.fields import mapping, name_in, number, rows, text, usage_in
from brim.audit.formats.tracer import TracedCall, traced_items, traced_request
from brim.audit.trace import RecordedRequest, TraceItem, refused

NAME = "langsmith"


def items(record: Any) -> list[TraceItem] | None:
    """Return the requests of a run and of the runs below it."""
    run = mapping(record)
    if not isinstance(run.get("run_type"), str) or "inputs" not in run:
        return None
    return traced_items(NAME, _calls(run))


def _calls(run: Mapping[str, Any]) -> Iterator[TracedCall]:
    waiting = [run]
    while waiting:
        each = waiting.pop()
        waiting += rows(each.get("child_runs"))
        if each.get("run_type") == "llm":
            thread = name_in(mapping(each.get("extra")).get("metadata"))
            yield _request(each), thread or text(each.get("trace_id")) or text(each.get("id")), each.get("start_time")


def _request(run: Mapping[str, Any]) -> RecordedRequest | None:
    extra = mapping(run.get("extra"))
    settings = mapping(extra.get("invocation_params"))
    model = settings.get("model") or settings.get("model_name") or mapping(extra.get("metadata")).get("ls_model_name")
    inputs = run.get("inputs")
    if isinstance(inputs, Mapping) and "messages" not in inputs and "prompts" in inputs:
        inputs = inputs["prompts"]
    overflowed = refused(run.get("error"))
    return traced_request(inputs, model=model, settings=settings, usage=_usage(run), overflowed=overflowed)


def _usage(run: Mapping[str, Any]) -> tuple[int, int] | None:
    usage = mapping(mapping(run.get("outputs")).get("usage_metadata"))
    counts = {
        "input": number(usage.get("input_tokens")),
        "prompt": run.get("prompt_tokens"),
        "cached": mapping(usage.get("input_token_details")).get("cache_read"),
    }
    return usage_in(counts, ("input", "prompt"), ("cached",))
