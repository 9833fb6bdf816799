"""What a tracer kept of one call: a body in a provider's own words, or messages in the tracer's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.audit.formats import bodies
from brim.audit.said import chats, loaded, tools_of
from brim.audit.trace import RecordedRequest, number, text

_PROVIDERS = ("user", "assistant", "system", "developer", "tool")
_THEIRS = ("parts", "kwargs", "data", "additional_kwargs")


def traced_ask(
    inputs: Any,
    *,
    model: Any,
    settings: Mapping[str, Any],
    usage: tuple[int, int] | None,
    overflowed: bool,
) -> RecordedRequest | None:
    """Return the request of what a tracer kept of its input, or nothing where that holds no messages."""
    held = loaded(inputs)
    body = held if isinstance(held, Mapping) else {"messages": held} if isinstance(held, list) else {}
    named = text(body.get("model")) or text(model)
    if bodies.body_in(body) is not None and _native(body):
        return _told(bodies.ask_of({**settings, **body, "model": named or ""}, {}), named, usage, overflowed=overflowed)
    messages = chats(held)
    if not messages:
        return None
    tools = tools_of(body.get("tools") or settings.get("tools") or settings.get("functions"))
    answer = number(settings.get("max_tokens")) or number(settings.get("max_completion_tokens")) or 0
    ask = RecordedRequest(messages=messages, format="openai", model=named, tools=tools, answer=answer)
    return _told(ask, named, usage, overflowed=overflowed)


def _native(body: Mapping[str, Any]) -> bool:
    """Return whether the messages are in a provider's own words."""
    said = body.get("messages") or body.get("input")
    if not isinstance(said, list):
        return isinstance(said, str)
    return all(
        isinstance(raw, Mapping)
        and (raw.get("role") in _PROVIDERS or ("role" not in raw and "type" in raw))
        and not any(key in raw for key in _THEIRS)
        for raw in said
    ) and any(isinstance(raw, Mapping) and "role" in raw for raw in said)


def _told(
    ask: RecordedRequest, model: str | None, usage: tuple[int, int] | None, *, overflowed: bool
) -> RecordedRequest:
    from dataclasses import replace

    reported, cached = usage if usage is not None else (None, None)
    return replace(ask, model=model, reported=reported, cached=cached, overflowed=overflowed, whole=False)
