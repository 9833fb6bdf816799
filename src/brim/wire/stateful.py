"""Requests of which the provider keeps a part: the body does not contain it, so it cannot be counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.wire.values import plain

_NAMED = ("previous_response_id", "conversation", "cachedContent", "cached_content", "promptVariables")
_KEYS = frozenset((*_NAMED, "prompt", "thread"))


def is_stateful(values: Mapping[str, Any]) -> bool:
    """Return whether a body continues a response, a conversation, a prompt or a thread that the provider keeps."""
    if _KEYS.isdisjoint(values):
        return False
    if any(values.get(key) for key in _NAMED):
        return True
    prompt, thread = plain(values.get("prompt")), plain(values.get("thread"))
    return isinstance(prompt, Mapping) or (isinstance(thread, Mapping) and thread.get("type") == "continue")
