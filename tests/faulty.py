"""A store whose calls fail when they are told to: before they are done, or after."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from brim.errors import StoreError

_NAMES = "append entries sessions session text search save load ids forget purge"
CALLS = frozenset(_NAMES.split())
"""The calls that are counted and may fail; entering and leaving a transaction are two more."""
BEFORE, AFTER = "before", "after"
"""When a call fails: before it is done, or after, so that only the answer is lost."""


class FaultyStore:
    """A real store behind calls that are counted, from 1; those of `faults` fail."""

    def __init__(self, store: Any, faults: Mapping[int, str] | None = None) -> None:
        self.store = store
        self.url = store.url
        self.faults = dict(faults or {})
        self.calls = 0
        self.names: list[str] = []
        """The name of each call."""
        self.raised = 0
        """How often a call failed."""
        self._lock = threading.Lock()

    def fail_next(self, when: str = BEFORE, calls: int = 1, skip: int = 0) -> None:
        """Let the next calls fail, after `skip` that do not."""
        self.faults |= dict.fromkeys(range(self.calls + skip + 1, self.calls + skip + calls + 1), when)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name not in CALLS:
            return found

        def call(*args: Any, **options: Any) -> Any:
            fault = self._next(name)
            if fault == BEFORE:
                raise self._error(name, fault)
            result = found(*args, **options)
            if fault == AFTER:
                raise self._error(name, fault)
            return result

        return call

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._next("begin"):  # Nothing is done before it begins.
            raise self._error("begin", BEFORE)
        with self.store.transaction():
            yield
            fault = self._next("commit")
            if fault == BEFORE:
                raise self._error("commit", fault)
        if fault == AFTER:
            raise self._error("commit", fault)

    def _next(self, name: str) -> str | None:
        with self._lock:
            self.calls += 1
            self.names.append(name)
            return self.faults.get(self.calls)

    def _error(self, name: str, when: str) -> StoreError:
        self.raised += 1
        return StoreError(self.url, f"a fault {when} {name}, on purpose")
