"""A store whose failures are logged while requests continue without it.

The store improves caching and counting, but no request depends on it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from brim.errors import Conflict, StoreError
from brim.store.base import Saved
from brim.store.store import Store, patience

LOG = logging.getLogger("brim.sessions")

T = TypeVar("T")

_ATTEMPTS = 3
"""Number of attempts to read or write a log before a request goes on without it."""
PATIENCE = 1.0
"""Seconds that a request waits for a locked store; after them there is no further attempt."""


def attempts() -> Iterator[int]:
    """Yield the number of each attempt to use a log; the caller stops after a successful one."""
    until = time.monotonic() + PATIENCE
    for number in range(_ATTEMPTS):
        yield number
        if time.monotonic() > until:
            return


class TolerantStore:
    """A store whose failures are counted and logged instead of raised; or no store at all."""

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self.failures = 0
        """How often the store failed."""

    def load(self, kind: str, name: str) -> Saved | None:
        """Return a document; `None` if there is none."""
        return self._try(lambda store: store.load(kind, name))

    def save(self, kind: str, name: str, body: Mapping[str, Any], version: int) -> int | None:
        """Write a document with its last known version, and return the new one; `None` if another writer was faster."""
        return self._try(lambda store: store.save(kind, name, body, version=version))

    def replace(self, kind: str, before: str, name: str, body: Mapping[str, Any]) -> bool:
        """Write a new document instead of another, if there is one; return whether it was written."""

        def write(store: Store) -> bool:
            with store.transaction():
                store.save(kind, name, body, version=0)
                if before:
                    store.forget(kind, before)
            return True

        return bool(self._try(write))

    def forget(self, kind: str, name: str) -> None:
        """Remove a document."""
        self._try(lambda store: store.forget(kind, name))

    def failed(self, error: StoreError) -> None:
        """Count and log a failure."""
        self.failures += 1
        LOG.warning("the store failed (%s); the request goes on without it", error)

    def _try(self, use: Callable[[Store], T]) -> T | None:
        """Return the result of a store operation; `None` without a store, or if it fails or another was faster."""
        try:
            with patience(PATIENCE):
                return None if self.store is None else use(self.store)
        except Conflict:
            return None
        except StoreError as error:
            self.failed(error)
            return None
