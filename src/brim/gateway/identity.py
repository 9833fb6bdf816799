"""The name of the conversation that a request belongs to, if its header or its body names one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from brim.errors import InvalidValue
from brim.files.text_digest import text_digest
from brim.gateway.key_mask import is_secret
from brim.history.compact.secrets import redact
from brim.sessions.conversations.beginning import fingerprints, leading
from brim.wire.base import MESSAGE_KEYS

HEADER = "x-brim-session-id"
LONGEST = 200
"""Characters of a name that are kept."""
_LOOKED_AT = 1_000
"""Characters of a name that is searched for keys. A longer one counts as one, so only a fingerprint of it is kept."""
_PLAIN: set[str] = set()
"""Names that were searched and look like no key. One that does is not kept."""
_MOST_PLAIN = 256
_UNUSUAL = re.compile(r"[^\x21-\x7e]")


def named(header: str | None, values: Mapping[str, Any], key: str, shown: Sequence[str] = ()) -> str | None:
    """Return the name of the conversation of a request; `None` if the request names none.

    The header alone is a name. Conversations may share what a body names (`prompt_cache_key`, `metadata.user_id`,
    `user`), so a fingerprint of the first message after the system prompt is added to it. Clients with different keys
    share no conversation.

    A name is kept in the store and shown to others. Of a name that contains a key, only a fingerprint is kept.

    Args:
        header: the header `x-brim-session-id`.
        values: the body.
        key: whose it is: the name of the client's key, the route, and a tag of any other key of the client.
        shown: the keys in the headers of the request.
    """
    if header:
        return f"{_fingerprint(key)}.{cleaned(header, shown)}"
    metadata = values.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    found = (values.get("prompt_cache_key"), user, values.get("user"))
    name = next((each for each in found if isinstance(each, str) and each), None)
    if name is None:
        return None
    first = next((values[key] for key in MESSAGE_KEYS if key in values), None)
    if isinstance(first, list):
        first = first[leading(first) :][:1]
        with suppress(InvalidValue):  # Whatever is sent is told apart by itself.
            first = fingerprints(first)
    start = json.dumps([values.get("model"), first], ensure_ascii=False, separators=(",", ":"))
    return f"{_fingerprint(key)}.{cleaned(name, shown)}.{_fingerprint(start)}"


def names_of(header: str | None, values: Mapping[str, Any]) -> list[str]:
    """Return every name that a request gives to its model, its conversation or its user."""
    metadata = values.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    found = (header, values.get("model"), values.get("prompt_cache_key"), user, values.get("user"))
    return [each for each in found if isinstance(each, str) and each]


def _fingerprint(text: str) -> str:
    return text_digest(text, 6)


def has_key(text: str, shown: Sequence[str]) -> bool:
    """Return whether a name contains a key of the request or anything that looks like a key, or is too long to tell."""
    if len(text) > _LOOKED_AT or any(each in text for each in shown if is_secret(each)):
        return True
    if text in _PLAIN:
        return False
    found = _is_like_key(text)
    if not found:
        if len(_PLAIN) >= _MOST_PLAIN:
            _PLAIN.clear()
        _PLAIN.add(text)
    return found


def _is_like_key(text: str) -> bool:
    # A key after an underscore is no word of its own, as it is in a text.
    starts = [0, *(i + 1 for i, letter in enumerate(text[:LONGEST]) if letter == "_")]
    return any(redact(part) != part for part in (text[start:] for start in starts))


def cleaned(text: str, shown: Sequence[str]) -> str:
    """Return a name that can be stored and logged, with a fingerprint if it had to be changed."""
    if has_key(text, shown):
        return _fingerprint(text)
    plain = _UNUSUAL.sub("_", text)[:LONGEST]
    return plain if plain == text else f"{plain}.{_fingerprint(text)}"
