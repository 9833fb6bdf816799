"""The store as the gateway uses it: where it fails, requests go on without it, and the log and the metrics say so.

What is kept there makes prompts kinder to the cache and counts better; no request is wrong without it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from brim.errors import Conflict, StoreError
from brim.store.base import Saved, Store

LOG = logging.getLogger("brim.gateway")


class Keeping:
    """A store that may fail, or be none at all."""

    def __init__(self, store: Store | None) -> None:
        self.store = store
        """The store itself; `None` without one."""
        self.failed = 0
        """How often it failed."""

    def load(self, kind: str, name: str) -> Saved | None:
        """Return a document, if there is one."""
        if self.store is None:
            return None
        try:
            return self.store.load(kind, name)
        except StoreError as error:
            self._fail(error)
            return None

    def save(self, kind: str, name: str, body: Mapping[str, Any], version: int) -> int | None:
        """Write a document that was at a version, and return its new one; nothing where another was faster."""
        if self.store is None:
            return None
        try:
            return self.store.save(kind, name, body, version=version)
        except Conflict:
            return None
        except StoreError as error:
            self._fail(error)
            return None

    def forget(self, kind: str, name: str) -> None:
        """Remove a document."""
        if self.store is not None:
            try:
                self.store.forget(kind, name)
            except StoreError as error:
                self._fail(error)

    def write(self, session: str, lines: list[tuple[str, Mapping[str, Any]]], texts: Mapping[str, str]) -> None:
        """Write to the log of a conversation, and keep texts that left it."""
        if self.store is None:
            return
        try:
            if texts:
                self.store.keep(session, texts)
                lines = [*lines, ("note", {"kept": list(texts)})]
            self.store.append(session, lines)
        except StoreError as error:
            self._fail(error)

    def _fail(self, error: StoreError) -> None:
        self.failed += 1
        LOG.warning("the store failed (%s); the request goes on without it", type(error).__name__)
