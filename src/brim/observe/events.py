"""What an event is, and which observers get it: those of the process, and those of one session."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from brim.errors import check_choice

NAMES = (
    "prompt_assembled",
    "compacted",
    "warning",
    "sub_tick",
    "overflow",
    "regret",
    "cut",
    "over",
    "refused",
    "window_learned",
    "upstream_error",
    "fault",
)
"""The names of events: a prompt was assembled; older turns became a summary; the warning line was crossed; a loop
continued in a fresh context; a provider refused a prompt as too long; a call was made again because a cut had taken its
result. Of the gateway alone: a conversation was cut; a request over its budget was passed on; a request was refused;
the window of a model became known; the model server had an error, or broke off; brim had an error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One event."""

    name: str
    """One of `NAMES`."""
    at: float
    """The time in seconds since 1970."""
    session: str | None = None
    """The session or loop of the event."""
    model: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Numbers, names and handles; no text of a prompt."""

    def __post_init__(self) -> None:
        check_choice("event name", self.name, NAMES)

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON values."""
        return {"event": self.name, "at": self.at, "session": self.session, "model": self.model, **self.fields}


class Observer(Protocol):
    """Anything that takes events."""

    def observe(self, event: Event) -> None:
        """Take an event."""


_observers: list[Observer] = []
"""The observers of the process."""


def emit(event: Event, observers: Iterable[Observer] = ()) -> None:
    """Pass an event to the observers of the process and to these.

    An observer that fails is logged and skipped: a run must not end because an observer fails.
    """
    for observer in (*_observers, *observers):
        try:
            observer.observe(event)
        except Exception:  # An observer is the caller's own and may raise anything.
            logging.getLogger("brim.observe").exception("%s could not take %r", type(observer).__name__, event.name)


def watch(observer: Observer) -> Callable[[], None]:
    """Pass every event of the process to an observer, and return a function that ends this."""
    _observers.append(observer)

    def end() -> None:
        if observer in _observers:
            _observers.remove(observer)

    return end
