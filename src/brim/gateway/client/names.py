"""The names that a request gives to its model and its conversation, as they may be stored and shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from secrets import token_hex
from typing import Any

from brim.errors import InvalidValue
from brim.files.text_digest import text_digest
from brim.gateway.http.key_mask import is_secret
from brim.history.compact.secrets import redact
from brim.sessions.conversations.beginning import fingerprints, leading
from brim.sessions.log.tolerant_store import TolerantStore
from brim.wire.base import MESSAGE_KEYS, value_at

HEADER = "x-brim-session-id"
_SESSION_HEADERS = (
    *("x-claude-code-session-id", "x-qwen-code-session-id", "session_id", "session-id"),  # The latter two: Codex.
    *("x-opencode-session", "x-session-id", "x-session-affinity"),  # opencode, and others.
)
"""Headers in which agents send the id of their session."""
_SESSION_FIELDS = (("prompt_cache_key",), ("metadata", "sessionId"), ("metadata", "user_id"), ("user",))
"""Where bodies have it, or else the user: Codex, LiteLLM, qwen-code, Claude Code, OpenAI's clients."""
_CLAUDE_SESSION = re.compile(r'session(?:_|_id"\s*:\s*")([\w-]{8,64})')
"""The session in Claude Code's `user_id`, which is JSON or joined by underscores."""
_AGENTS = {
    "claude-cli": "claude-code",
    "geminicli": "gemini-cli",
    "qwencode": "qwen-code",
}
"""Names of agents by how their `User-Agent` begins; any other is named as it begins."""
_AGENT = re.compile(r"codex(?=[_-])|[A-Za-z][\w.-]{0,23}(?=[/ ]|$)")
LONGEST = 200
"""Characters of a name that are kept."""
_LOOKED_AT = 1_000
"""Characters of a name that is searched for keys. A longer one counts as one, so only a fingerprint of it is kept."""
_UNUSUAL = re.compile(r"[^\x21-\x7e]")
_SALT = "gateway-owners", "salt"
"""The document with the salt of a store."""


def owner_salt(store: TolerantStore) -> bytes:
    """Return the salt that the processes of one store share, made if it has none; without a store, one of its own."""
    made = token_hex(16)
    saved = store.load(*_SALT)
    if saved is None:  # Another process may be faster: whatever is there in the end is the salt.
        store.save(*_SALT, {"salt": made}, 0)
        saved = store.load(*_SALT)
    return bytes.fromhex(made if saved is None else saved.body["salt"])


def owner_tag(keys: Sequence[str], salt: bytes) -> str:
    """Return the tag of the client that sends these keys, which are not the gateway's; empty if there are none.

    It is part of the names of conversations in the store: a hash by a salt, so it is another one in each store.
    """
    sent = b"\0".join(key.encode("utf-8", "surrogateescape") for key in sorted(set(keys)))
    return blake2b(sent, digest_size=8, key=salt).hexdigest() if keys else ""


def conversation_name(
    headers: Mapping[str, str], values: Mapping[str, Any], owner: str, keys: Sequence[str] = ()
) -> str | None:
    """Return the name of the conversation of a request; `None` if the request names none.

    The header `x-brim-session-id` alone is a name. Conversations may share the session of an agent, as those of its
    subagents do, so such a name begins with a fingerprint of all that tells it from others, the first message after the
    system prompt included; the names of the agent and of its session follow. Clients with different keys share no
    conversation.

    Args:
        headers: the headers, with names in lower case.
        values: the body.
        owner: whose it is: the name of the client's key, the route, and a tag of any other key of the client.
        keys: the keys that must not be part of a name.
    """
    if name := headers.get(HEADER):
        return f"{_fingerprint(owner)}.{cleaned(name, keys)}"
    found = (*map(headers.get, _SESSION_HEADERS), *(value_at(values, path) for path in _SESSION_FIELDS))
    name = next((each for each in found if isinstance(each, str) and each), None)
    if name is None:
        return None
    first = next((values[key] for key in MESSAGE_KEYS if key in values), None)
    if isinstance(first, list):
        first = first[leading(first) :][:1]
        with suppress(InvalidValue):  # Whatever is sent is told apart by itself.
            first = fingerprints(first)
    start = json.dumps([owner, name, values.get("model"), first], ensure_ascii=False, separators=(",", ":"))
    session = _CLAUDE_SESSION.search(name)
    agent = (_AGENT.match(headers.get("user-agent", "")) or [""])[0].lower()
    shown = ".".join(filter(None, (_AGENTS.get(agent, agent), session[1] if session else name)))
    return f"{_fingerprint(start)}.{cleaned(shown, keys)}"


def model_name(model: str, keys: Sequence[str]) -> str:
    """Return the name by which a model is looked up; of one that holds a key, or is too long, a fingerprint."""
    return _fingerprint(model) if len(model) > LONGEST or has_key(model, keys) else model


def cleaned(text: str, keys: Sequence[str]) -> str:
    """Return a name that can be stored and shown, with a fingerprint if it had to be changed.

    Of a name that contains a key, only a fingerprint is kept.
    """
    if has_key(text, keys):
        return _fingerprint(text)
    plain = _UNUSUAL.sub("_", text)[:LONGEST]
    return plain if plain == text else f"{plain}.{_fingerprint(text)}"


def has_key(text: str, keys: Sequence[str]) -> bool:
    """Return whether a name contains one of some keys or anything that looks like a key, or is too long to tell."""
    return len(text) > _LOOKED_AT or any(each in text for each in keys if is_secret(each)) or _is_like_key(text)


@lru_cache(maxsize=256)
def _is_like_key(text: str) -> bool:
    # A key after an underscore is no word of its own, as it is in a text.
    starts = [0, *(i + 1 for i, letter in enumerate(text[:LONGEST]) if letter == "_")]
    return any(redact(part) != part for part in (text[start:] for start in starts))


def _fingerprint(text: str) -> str:
    return text_digest(text, 6)
