"""Which conversation a request belongs to: by what the client says, or by how its messages begin."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from brim.history.compact.secrets import redact

HEADER = "x-brim-session-id"
_LONGEST = 200
_SHORTEST = 4
"""Characters of a key that is looked for in a name."""
_PLAIN = re.compile(r"[^\x21-\x7e]")


def named(header: str | None, values: Mapping[str, Any], key: str, shown: Sequence[str] = ()) -> str | None:
    """Return the conversation that a request names; nothing where it names none.

    The header names it alone. What a body names (`prompt_cache_key`, `metadata.user_id`, `user`) may be shared by
    conversations, so that the first message is part of the name there. Clients with different keys share nothing.

    A name lasts in the store and is seen by others, so that one which holds a key, or one of those that the request
    has `shown`, is kept as its fingerprint alone.
    """
    if header:
        return f"{_tag(key)}.{_clean(header, shown)}"
    metadata = values.get("metadata")
    found = [values.get("prompt_cache_key"), metadata.get("user_id") if isinstance(metadata, Mapping) else None]
    told = next((each for each in (*found, values.get("user")) if isinstance(each, str) and each), None)
    if told is None:
        return None
    first = values.get("messages", values.get("input"))
    first = first[:1] if isinstance(first, list) else first
    return f"{_tag(key)}.{_clean(told, shown)}.{_tag(_json([values.get('model'), first]))}"


def digests(messages: Sequence[Any], beside: Sequence[Any]) -> list[str]:
    """Return a fingerprint for each beginning of a conversation: its first message, its first two, and so on.

    `beside` tells conversations apart that begin alike: the client, the model, the route.
    """
    running = blake2b(_json(list(beside)).encode("utf-8", "surrogatepass"), digest_size=16)
    found = []
    for message in messages:
        running.update(_json(message).encode("utf-8", "surrogatepass"))
        running.update(b"\0")
        found.append(running.copy().hexdigest())
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _tag(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _clean(text: str, shown: Sequence[str]) -> str:
    """Return a name that a store can hold and a log can show; one that had to be changed keeps its fingerprint."""
    if any(each in text for each in shown if len(each) >= _SHORTEST) or redact(text) != text:
        return _tag(text)
    plain = _PLAIN.sub("_", text)[:_LONGEST]
    return plain if plain == text else f"{plain}.{_tag(text)}"
