"""The names of a request's model and conversation, in a form that may be stored and shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from secrets import token_hex
from typing import Any

from brim.files.text_digest import text_digest
from brim.gateway.http.key_mask import is_secret
from brim.redaction import redact
from brim.sessions.conversations.identity import NAME_HEADER, fingerprints, leading
from brim.sessions.learning.models import known
from brim.sessions.log.tolerant_store import TolerantStore
from brim.wire.base import MESSAGE_KEYS, value_at

_SESSION_HEADERS = (
    *("x-claude-code-session-id", "x-qwen-code-session-id", "session_id", "session-id"),  # The latter two: Codex.
    *("x-opencode-session", "x-session-id", "x-session-affinity"),  # opencode, and others.
)
"""Headers in which agents send the id of their session."""
_SESSION_FIELDS = (("prompt_cache_key",), ("metadata", "sessionId"), ("metadata", "user_id"), ("user",))
"""Fields of a body that contain the session or else the user, for Codex, LiteLLM, qwen-code, Claude Code and OpenAI's
clients.
"""
_CLAUDE_SESSION = re.compile(r'session(?:_|_id"\s*:\s*")([\w-]{8,64})')
"""The session in Claude Code's `user_id`, which is JSON or a string joined by underscores."""
_AGENTS = {
    "claude-cli": "claude-code",
    "geminicli": "gemini-cli",
    "qwencode": "qwen-code",
}
"""Names of agents by the start of their `User-Agent`; any other agent is called by that start."""
_AGENT = re.compile(r"codex(?=[_-])|[A-Za-z][\w.-]{0,23}(?=[/ ]|$)")
LONGEST = 200
"""Characters of the longest name that is kept; names of models have up to about 150. Longer names become
fingerprints.
"""
_UNUSUAL = re.compile(r"[^\x21-\x7e]")
_SALT = "gateway-owners", "salt"
"""The kind and id of the document that holds the salt."""


def owner_salt(store: TolerantStore) -> bytes:
    """Return the salt that all processes of a store share; it is created on first use."""
    made = token_hex(16)
    saved = store.load(*_SALT)
    if saved is None:  # Another process may be faster; then its salt is used.
        store.save(*_SALT, {"salt": made}, 0)
        saved = store.load(*_SALT)
    return bytes.fromhex(made if saved is None else saved.body["salt"])


def owner_tag(keys: Sequence[str], salt: bytes) -> str:
    """Return a tag for the client that sends these keys, which exclude the gateway's; empty without keys.

    The tag is part of the names of conversations in the store. It is a salted hash, so it differs from store to store.
    """
    sent = b"\0".join(key.encode("utf-8", "surrogateescape") for key in sorted(set(keys)))
    return blake2b(sent, digest_size=8, key=salt).hexdigest() if keys else ""


def conversation_name(
    headers: Mapping[str, str], values: Mapping[str, Any], owner: str, keys: Sequence[str] = ()
) -> str | None:
    """Return the name of the conversation of a request; `None` if the request states none.

    The header `x-brim-session-id` is such a name. Subagents share the session id of their agent, so the name begins
    with a fingerprint of the owner, the session, the model and the first message after the system prompt. Clients with
    different keys never share a conversation.

    Args:
        headers: the headers, with names in lower case.
        values: the body.
        owner: the name of the client's key, the route, and a tag of any other key of the client.
        keys: the keys that must not be part of a name.
    """
    if name := headers.get(NAME_HEADER):
        return f"{_fingerprint(owner)}.{cleaned(name, keys)}"
    found = (*map(headers.get, _SESSION_HEADERS), *(value_at(values, path) for path in _SESSION_FIELDS))
    name = next((each for each in found if isinstance(each, str) and each), None)
    if name is None:
        return None
    first = next((values[key] for key in MESSAGE_KEYS if key in values), None)
    if isinstance(first, list):
        first = fingerprints(first[leading(first) :][:1])
    start = json.dumps([owner, name, values.get("model"), first], ensure_ascii=False, separators=(",", ":"))
    session = _CLAUDE_SESSION.search(name)
    agent = (_AGENT.match(headers.get("user-agent", "")) or [""])[0].lower()
    shown = ".".join(filter(None, (_AGENTS.get(agent, agent), session[1] if session else name)))
    return f"{_fingerprint(start)}.{cleaned(shown, keys)}"


def model_names(model: str, keys: Sequence[str]) -> tuple[str, str]:
    """Return the name to look a model up by, and the name that may be shown."""
    if len(model) <= LONGEST and known(model) is not None:  # A public name is not a secret, whatever the keys are.
        return model, model
    shown = cleaned(model, keys)
    return (shown if has_key(model, keys) else model), shown


def cleaned(text: str, keys: Sequence[str]) -> str:
    """Return a name that can be stored and shown: printable, with a fingerprint if it was changed.

    A name that contains a key, or is too long, becomes a fingerprint alone.
    """
    if has_key(text, keys):
        return _fingerprint(text)
    plain = _UNUSUAL.sub("_", text)
    return plain if plain == text else f"{plain}.{_fingerprint(text)}"


def has_key(text: str, keys: Sequence[str]) -> bool:
    """Return whether a name contains one of the keys, looks like a key, or is too long to check."""
    return len(text) > LONGEST or any(each in text for each in keys if is_secret(each)) or _is_like_key(text)


@lru_cache(maxsize=256)
def _is_like_key(text: str) -> bool:
    # In a name, a key may follow an underscore; `redact` looks for whole words.
    starts = [0, *(i + 1 for i, letter in enumerate(text) if letter == "_")]
    return any(redact(part) != part for part in (text[start:] for start in starts))


def _fingerprint(text: str) -> str:
    return text_digest(text, 6)
