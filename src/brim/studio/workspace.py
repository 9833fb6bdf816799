"""What the studio works on: a store, opened files, and the settings of a project.

The recorded demo is a workspace in a temporary directory, so changes in it never affect the user's files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, TypeVar
from uuid import uuid4

from brim.errors import SourceError, UnknownName
from brim.settings.changes import SettingChange
from brim.settings.config import Config
from brim.settings.loader import load
from brim.store import Store, open_store
from brim.studio.opened_files import OpenedFiles
from brim.studio.prompt_index import SessionPrompts, prompts_of
from brim.studio.session_list import SessionList

Cached = TypeVar("Cached")
FILE = "sqlite:///"
_MOST_CACHED = 16
"""Prompts and sources of the lab that stay in memory."""


@dataclass(slots=True, kw_only=True)
class Workspace:
    """A store and a project."""

    url: str
    """The address of the store."""
    config: str | None = None
    """A settings file or its directory; `None` for the nearest above the current directory."""
    lock: RLock = field(default_factory=RLock, repr=False)
    files: OpenedFiles = field(default_factory=OpenedFiles, repr=False)
    """Files that were opened, with a temporary store."""
    sessions: SessionList = field(init=False, repr=False)
    _prompts: dict[str, SessionPrompts] = field(default_factory=dict, repr=False)
    _cache: dict[tuple[str, str, int], Any] = field(default_factory=dict, repr=False)
    _store: Store | None = field(default=None, repr=False)
    _plans: dict[str, SettingChange] = field(default_factory=dict, repr=False)
    _saved: list[SettingChange] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.sessions = SessionList(self.stores)

    def find_store(self) -> Store | None:
        """Return the store, or `None` if its file does not exist; the studio never creates one.

        Raises:
            StoreError: the store cannot be opened.
        """
        with self.lock:
            if self._store is None:
                if self.url.startswith(FILE) and not os.path.isfile(self.url.removeprefix(FILE)):
                    return None
                self._store = open_store(self.url)
            return self._store

    def store(self) -> Store:
        """Return the store.

        Raises:
            SourceError: it does not exist.
            StoreError: it cannot be opened.
        """
        found = self.find_store()
        if found is None:
            problem = "this store does not exist yet: brim.Session(store=...) creates one, and the demo has one"
            raise SourceError(self.url.removeprefix(FILE), problem)
        return found

    def stores(self) -> list[Store]:
        """Return the stores with sessions: that of the opened files, and the user's.

        Raises:
            StoreError: a store cannot be opened.
        """
        return [store for store in (self.files.store, self.find_store()) if store is not None]

    def store_of(self, session: str) -> Store:
        """Return the store that has a session: that of the opened files, or else the user's.

        Raises:
            SourceError: there is no store.
        """
        return self.files.store_of(session) or self.store()

    def prompts(self, session: str) -> SessionPrompts:
        """Return the prompts of a session as they are now.

        Raises:
            SourceError: there is no store.
        """
        return prompts_of(self._prompts, self.store_of(session), session)

    def settings(self, replaced: Mapping[str, str] | None = None) -> Config:
        """Return the settings, read from the files as they are now.

        Args:
            replaced: texts by path, read instead of the files.

        Raises:
            SourceError: a file is invalid.
        """
        return load(self.config, os.environ, {}, replaced)

    def cached(self, name: str, session: str, make: Callable[[], Cached]) -> Cached:
        """Return a value that is made anew only after an entry was added to the session, or if it was long unused."""
        newest = self.store_of(session).entries(session, newest=True, limit=1)
        key = (name, session, newest[0].number if newest else 0)
        with self.lock:
            known = self._cache.pop(key, None)
        value: Cached = make() if known is None else known
        with self.lock:
            self._cache[key] = value
            if len(self._cache) > _MOST_CACHED:
                del self._cache[next(iter(self._cache))]
        return value

    def plan(self, change: SettingChange) -> str:
        """Keep a change until it is saved, and return its id."""
        plan = uuid4().hex
        self._plans[plan] = change
        return plan

    def save(self, plan: str) -> SettingChange:
        """Write a planned change.

        Raises:
            UnknownName: there is no such plan, or it was saved already.
            SourceError: the file cannot be written, or was changed since the plan was made.
        """
        with self.lock:
            if plan not in self._plans:
                raise UnknownName("planned change", plan, [], "Show the change again, then save it")
            change = self._plans[plan]
            change.make()
            del self._plans[plan]
            self._saved.append(change)
        return change

    def undo(self) -> SettingChange:
        """Revert the last change that was saved here.

        Raises:
            UnknownName: there is none.
            SourceError: the file was changed since.
        """
        with self.lock:
            if not self._saved:
                raise UnknownName("saved change", "the last one", [], "Nothing was saved since the studio started")
            last = self._saved[-1]
            reverted = replace(last, before=last.after, after=last.before)
            reverted.make()
            self._saved.pop()
        return reverted

    @property
    def saved(self) -> int:
        """The number of changes that can be undone."""
        return len(self._saved)

    def close(self) -> None:
        """Close the stores."""
        self.files.close()
        with self.lock:
            if self._store is not None:
                self._store.close()
                self._store = None
