"""Which clients are told apart by keys that are not the gateway's: a tag for each, made of what it sends.

A tag is part of the names of conversations in the store. It is a hash by a random salt that the processes of one store
share, so it is another one in each store. Without a store, no other process knows the salt.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from hashlib import blake2b
from secrets import token_bytes, token_hex

from brim.sessions.log.tolerant_store import TolerantStore

KIND, ID = "gateway-owners", "salt"
"""The document with the salt of a store."""
_BYTES = 8


class OwnerTags:
    """The tags of clients. Safe for threads."""

    def __init__(self, store: TolerantStore) -> None:
        self._store = store
        self._own = token_bytes(16)
        self._salt: bytes | None = None
        self._lock = threading.Lock()

    def tag(self, keys: Sequence[str]) -> str:
        """Return the tag of the client that sends these keys; empty if there are none."""
        if not keys:
            return ""
        told = b"\0".join(key.encode("utf-8", "surrogateescape") for key in sorted(set(keys)))
        with self._lock:  # While the store fails, the client begins another conversation.
            salt = self._stored_salt() or self._own
        return blake2b(told, digest_size=_BYTES, key=salt).hexdigest()

    def _stored_salt(self) -> bytes | None:
        """Return the salt of the store, made if it has none; `None` without a store, or while it fails."""
        if self._salt is None and self._store.store is not None:
            saved = self._store.load(KIND, ID)
            if saved is None:  # Another process may be faster: whatever is there in the end is the salt.
                self._store.save(KIND, ID, {"salt": token_hex(16)}, 0)
                saved = self._store.load(KIND, ID)
            self._salt = bytes.fromhex(saved.body["salt"]) if saved is not None else None
        return self._salt
