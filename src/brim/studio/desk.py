"""What the studio looks at: a store, the settings of a project, and the receipts of its runs.

A studio has two desks: the user's own, and a recorded demo in a folder of its own. What is tried out in the demo never
touches what is the user's.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from brim.errors import SourceError, UnknownName
from brim.studio.index import ReceiptIndex

if TYPE_CHECKING:
    from brim.settings.change import SettingChange
    from brim.settings.config import Config
    from brim.store import Store

FILE = "sqlite:///"
_MOST_PLANS = 50
"""Changes that wait to be saved; older ones are forgotten."""
_MOST_KEPT = 16
"""Things that were opened for the budget lab and are kept in memory."""


@dataclass(slots=True, kw_only=True)
class Desk:
    """One place that the studio looks at."""

    name: str
    """`mine` or `demo`."""
    url: str
    """The address of the store."""
    config: str | None = None
    """A file of settings or its directory; without it, the nearest above where the studio was started."""
    runs: str = "runs"
    """The directory of the receipts of flows."""
    lock: RLock = field(default_factory=RLock, repr=False)
    kept: OrderedDict[str, Any] = field(default_factory=OrderedDict, repr=False)
    """What was read and need not be read again, by name."""
    index: ReceiptIndex = field(init=False, repr=False)
    """The receipts that it has."""
    _store: Store | None = field(default=None, repr=False)
    _plans: OrderedDict[str, SettingChange] = field(default_factory=OrderedDict, repr=False)
    _made: list[SettingChange] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.index = ReceiptIndex(self.runs)

    def store(self) -> Store | None:
        """Return the store; nothing as long as there is none, since looking at a store does not make one.

        Raises:
            StoreError: it cannot be opened.
        """
        from brim.store import open_store

        with self.lock:
            if self._store is None:
                path = self.url.removeprefix(FILE)
                if self.url.startswith(FILE) and not os.path.isfile(path):
                    return None
                self._store = open_store(self.url)
            return self._store

    def needed(self) -> Store:
        """Return the store.

        Raises:
            SourceError: there is none.
        """
        found = self.store()
        if found is None:
            told = "there is no such store yet: brim.Session(store=...) writes one, and the demo has one"
            raise SourceError(self.url.removeprefix(FILE), told)
        return found

    def settings(self, instead: Mapping[str, str] | None = None) -> Config:
        """Return the settings as the files have them now, or would have them with other texts by their paths.

        Raises:
            SourceError: a file cannot be understood.
        """
        from brim.settings.config import load

        return load(self.config, os.environ, {}, instead)

    def keep(self, name: str, value: Any) -> Any:
        """Keep something that was opened, let go of the one longest unused, and return it."""
        with self.lock:
            self.kept[name] = value
            self.kept.move_to_end(name)
            while len(self.kept) > _MOST_KEPT:
                self.kept.popitem(last=False)
        return value

    def known(self, name: str) -> Any:
        """Return what is kept under a name; nothing where nothing is."""
        with self.lock:
            if name in self.kept:
                self.kept.move_to_end(name)
            return self.kept.get(name)

    def plan(self, change: SettingChange) -> str:
        """Take a change that may be saved, and return its id."""
        made = uuid4().hex
        with self.lock:
            self._plans[made] = change
            while len(self._plans) > _MOST_PLANS:
                self._plans.popitem(last=False)
        return made

    def planned(self, plan: str) -> SettingChange:
        """Return a change that waits to be saved.

        Raises:
            UnknownName: no such plan, or it was saved already.
        """
        with self.lock:
            if plan not in self._plans:
                raise UnknownName("planned change", plan, [], "Look at the diff again, then save it")
            return self._plans[plan]

    def save(self, plan: str) -> SettingChange:
        """Make a change that was planned.

        Raises:
            UnknownName: no such plan, or it was saved already.
            SourceError: the file cannot be written, or was changed since the plan was made.
        """
        with self.lock:
            change = self.planned(plan)
            change.make()
            del self._plans[plan]
            self._made.append(change)
        return change

    def undo(self) -> SettingChange:
        """Take back the last change that was saved here.

        Raises:
            UnknownName: there is none.
            SourceError: the file was changed since.
        """
        from dataclasses import replace

        with self.lock:
            if not self._made:
                raise UnknownName("saved change", "the last one", [], "Nothing was saved since the studio started")
            last = self._made[-1]
            back = replace(last, before=last.after, after=last.before)
            back.make()
            self._made.pop()
        return back

    @property
    def saved(self) -> int:
        """How many changes could be taken back."""
        return len(self._made)

    def close(self) -> None:
        """Let go of the store."""
        with self.lock:
            if self._store is not None:
                self._store.close()
                self._store = None
