"""Who is told of events: those that watch the whole process, and those that one session was given."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from brim.observe.event import Event

_WATCHING: list[Observer] = []
"""Those that are told of every event of the process."""


class Observer(Protocol):
    """Anything that wants to be told."""

    def observe(self, event: Event) -> None:
        """Take note of an event."""


def emit(event: Event, observers: Iterable[Observer] = ()) -> None:
    """Tell of an event: those who watch the process, and these.

    An observer that fails is logged and passed over: a run must not end because nobody could be told of it.
    """
    for observer in (*_WATCHING, *observers):
        try:
            observer.observe(event)
        except Exception:  # An observer is the caller's own and may raise anything.
            logging.getLogger("brim.observe").exception("%s could not take %r", type(observer).__name__, event.name)


def watch(observer: Observer) -> Callable[[], None]:
    """Have an observer told of every event of the process, and return what ends that."""
    _WATCHING.append(observer)

    def end() -> None:
        if observer in _WATCHING:
            _WATCHING.remove(observer)

    return end
