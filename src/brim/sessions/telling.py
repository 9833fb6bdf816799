"""Tells of what happens in a session: events to those who watch, and the notice to the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from brim import observe
from brim.sessions.shrinking import NOTICE

_MOST = 100
"""Notices that are remembered."""


class Telling:
    """Who is told what happens in one session."""

    def __init__(
        self,
        session: str,
        model: str | None,
        clock: Callable[[], float],
        observers: Iterable[observe.Observer],
        on_notice: Callable[[str], Any] | None,
    ) -> None:
        self._session = session
        self._model = model
        self.clock = clock
        self._observers = tuple(observers)
        self._on_notice = on_notice
        self.notices: list[str] = []
        """What the user should have been told, the newest last."""

    def tell(self, events: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Tell of events by name and fields, all at this moment; a compaction is told to the user as well."""
        at = self.clock()
        for name, fields in events:
            told = observe.Event(name=name, at=at, session=self._session, model=self._model, fields=fields)
            observe.emit(told, self._observers)
            if name == "compacted" and "notice" in fields:
                self.notify(fields["notice"])

    def notify(self, text: str = NOTICE) -> None:
        """Tell the user."""
        self.notices = [*self.notices[-_MOST + 1 :], text]
        if self._on_notice is not None:
            self._on_notice(text)
