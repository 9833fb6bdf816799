"""Emits the events of a session, and notices for the user."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from brim import observe
from brim.errors import InvalidType
from brim.sessions.compaction import NOTICE

_MOST = 100
"""Notices that are kept."""


def checked_observers(observers: Iterable[observe.Observer]) -> tuple[observe.Observer, ...]:
    """Return observers if they are valid.

    Raises:
        InvalidType: one has no method `observe`.
    """
    found = tuple(observers)
    for each in found:
        if not callable(getattr(each, "observe", None)):
            raise InvalidType("observers", each, "objects with a method observe(event)")
    return found


class Notifier:
    """Emits the events of one session."""

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
        self._observers = checked_observers(observers)
        self._on_notice = on_notice
        self.notices: list[str] = []
        """The notices for the user, the newest last."""

    def restore(self, compactions: int) -> None:
        """Restore the notices of logged compactions, without calling `on_notice` again."""
        self.notices = [NOTICE] * min(compactions, _MOST)

    def emit(self, events: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Emit events by name and fields; a compaction also gives the user a notice."""
        at = self.clock()
        for name, fields in events:
            told = observe.Event(name=name, at=at, session=self._session, model=self._model, fields=fields)
            observe.emit(told, self._observers)
            if name == "compacted":
                self.notify(fields["notice"])

    def notify(self, text: str = NOTICE) -> None:
        """Give the user a notice."""
        self.notices = [*self.notices[-_MOST + 1 :], text]
        if self._on_notice is None:
            return
        try:
            self._on_notice(text)
        except Exception:  # The caller's own code; the change is already written.
            logging.getLogger("brim.sessions").exception("on_notice could not take %r", text)
