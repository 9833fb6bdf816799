"""The options that sessions are opened with, as types for editors and type checkers, and checked by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict

from brim.errors import InvalidValue, nearest
from brim.meter import Meter
from brim.meter.calibration import Calibration
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions.compaction import Summariser
from brim.sessions.windows import WindowLimits
from brim.wire.base import Format


class SessionOptions(TypedDict, total=False):
    """How the sessions of a program keep within their window; see `brim.Session`."""

    keep_turns: int
    stable: bool
    compact_at: Literal["cap", "warning", "never"] | float
    summary_share: float
    tool_limit: int | str
    memory_limit: int
    format: Format | None
    clock: Callable[[], float]
    capture: bool


class OpenOptions(TypedDict, total=False):
    """What may be changed when a session is opened, and the other arguments of a new one; see `brim.Session`."""

    window: Window | int | None
    model: str | None
    keep_turns: int
    stable: bool
    compact_at: Literal["cap", "warning", "never"] | float
    summary_share: float
    tool_limit: int | str
    memory_limit: int
    format: Format | None
    calibration: Calibration | None
    also: Any


class ConversationOptions(SessionOptions, total=False):
    """The arguments of `brim.Conversations` that `brim.wrap` passes on."""

    model: str | None
    meter: Meter | str | Callable[[str], int] | None
    summarise: Summariser | None
    observers: Iterable[Observer]
    on_notice: Callable[[str], Any] | None
    most: int
    memory: int | None
    log: bool
    limits: WindowLimits | None
    margin: float | str
    lower_answer: bool


def check_options(given: Mapping[str, Any], known: type) -> None:
    """Check the names of options that came as keyword arguments.

    Raises:
        InvalidValue: one is unknown; the message lists the nearest, or all if none is near.
    """
    for name in given:
        names = sorted(known.__annotations__)
        if name not in names:
            listed = nearest(name, names) or names
            raise InvalidValue("an option", name, f"one that exists, such as {', '.join(listed)}")
