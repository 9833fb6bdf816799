"""Events, and the observers of the process and of a session that get them."""

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
"""The names of events, in this order: a prompt was assembled; older turns were compacted; the warning line was crossed;
a loop continued in a fresh context; a provider refused a prompt as too long; a call was repeated because a cut had
removed its result. Only from the gateway: a conversation was cut; a request over its budget was passed on; a request
was refused; a window was learned; the model server had an error or disconnected; brim failed to read
or to fit a request."""


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
    """Receives events."""

    def observe(self, event: Event) -> None:
        """Receive an event."""


_observers: list[Observer] = []
"""The observers of the process."""


def emit(event: Event, observers: Iterable[Observer] = ()) -> None:
    """Pass an event to the observers of the process and to these.

    If an observer fails, the error is logged and the run continues.
    """
    for observer in (*_observers, *observers):
        try:
            observer.observe(event)
        except Exception:  # The caller's code may raise anything.
            logging.getLogger("brim.observe").exception(
                "%s failed on the event %r", type(observer).__name__, event.name
            )


def watch(observer: Observer) -> Callable[[], None]:
    """Pass every event of the process to an observer, and return a function that stops it."""
    _observers.append(observer)

    def end() -> None:
        if observer in _observers:
            _observers.remove(observer)

    return end
