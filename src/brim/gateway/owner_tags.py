"""Which clients are told apart by keys that are not the gateway's: a tag for each, made of what it sends.

A tag is part of the names of conversations in the store, so it must not help to find the key. It is a slow hash with a
random salt that the processes of one store share; without a store, a hash by a random key that no other process knows.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b, scrypt
from secrets import token_bytes, token_hex

from brim.sessions.log.tolerant_store import TolerantStore

KIND, ID = "gateway-owners", "salt"
"""The document with the salt of a store."""
_COST, _BLOCK = 2**14, 8
"""Parameters of the slow hash: 16 MiB and some 50 milliseconds for each client, once in a process."""
_BYTES = 8
_MOST = 1_024
"""Tags that are remembered."""


class OwnerTags:
    """The tags of clients. Safe for threads."""

    def __init__(self, store: TolerantStore) -> None:
        self._store = store
        self._own = token_bytes(32)
        self._salt: bytes | None = None
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, str] = OrderedDict()
        """Tags by a hash of the keys, so that no key is kept."""

    def local(self, keys: Sequence[str]) -> str:
        """Return a tag that holds for this process; empty if there are no keys."""
        return blake2b(_joined(keys), digest_size=_BYTES, key=self._own).hexdigest() if keys else ""

    def known(self, keys: Sequence[str]) -> str | None:
        """Return the tag of a client if it needs no slow hash; `None` if it does."""
        if not keys:
            return ""
        if self._store.store is None:
            return self.local(keys)
        return self._known.get(blake2b(_joined(keys), key=self._own).digest())

    def tag(self, keys: Sequence[str]) -> str:
        """Return the tag of the client that sends these keys; empty if there are none."""
        if not keys:
            return ""
        told = _joined(keys)
        with self._lock:
            salt = self._stored_salt()
            if salt is None:  # Also while the store fails: the client then begins another conversation.
                return self.local(keys)
            mark = blake2b(told, key=self._own).digest()
            found = self._known.get(mark)
        if found is None:
            found = scrypt(told, salt=salt, n=_COST, r=_BLOCK, p=1, dklen=_BYTES).hex()
        with self._lock:
            self._known[mark] = found
            self._known.move_to_end(mark)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return found

    def _stored_salt(self) -> bytes | None:
        """Return the salt of the store, made if it has none; `None` without a store, or while it fails."""
        if self._salt is None and self._store.store is not None:
            saved = self._store.load(KIND, ID)
            if saved is None:  # Another process may be faster: whatever is there in the end is the salt.
                self._store.save(KIND, ID, {"salt": token_hex(16)}, 0)
                saved = self._store.load(KIND, ID)
            self._salt = bytes.fromhex(saved.body["salt"]) if saved is not None else None
        return self._salt


def _joined(keys: Sequence[str]) -> bytes:
    return b"\0".join(key.encode("utf-8", "surrogateescape") for key in sorted(set(keys)))
