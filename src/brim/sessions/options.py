"""The options of sessions, each declared once: its type, its key in `brim.yaml`, its default, what it means.

Signatures take them by `Unpack`, so editors and type checkers know them; settings, their schema and the reference pages
read the rest from `OPTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, get_type_hints

from brim.amounts import fraction, units, units_or_share
from brim.errors import InvalidType, InvalidValue, nearest
from brim.meter import Meter
from brim.meter.calibration import Calibration
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions.compaction import Summariser
from brim.sessions.learning.windows import WindowLimits
from brim.wire.base import Format

_ARGUMENTS = ("window", "model", "meter", "store", "id", "summarise")
"""The arguments with names of their own, which the message about an unknown option suggests too."""
LINES = ("cap", "warning", "never")
"""Where compaction begins: when a prompt would be over the budget, at the warning line, or never."""


class Option(NamedTuple):
    """One option of sessions."""

    key: str
    """Its place in `brim.yaml`."""
    default: Any
    doc: str
    check: Callable[[str, Any], object] | None = None
    """Raises `InvalidValue` for a value that is not accepted; `None` for one that the log does not keep."""


def _line(name: str, value: Any) -> None:
    """Check where compaction begins."""
    if value in LINES:
        return
    try:
        fraction(name, value)
    except InvalidValue as error:
        expected = f"one of {', '.join(map(repr, LINES))}, or a share of the budget"
        raise type(error)(name, value, expected) from error


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise InvalidType(name, value, "True or False")


def _texts(name: str, value: Any) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise InvalidType(name, value, "a list of texts")


class SessionOptions(TypedDict, total=False):
    """How the sessions of a program keep within their window."""

    keep_turns: Annotated[
        int,
        Option(
            "compaction.keep_turns",
            3,
            "Newest turns that a summary leaves as they are, at the least.",
            lambda name, value: units(name, value, least=1),
        ),
    ]
    summary_share: Annotated[
        float, Option("compaction.summary_share", 0.25, "The share of the room that a summary may take.", fraction)
    ]
    compact_at: Annotated[
        Literal["cap", "warning", "never"] | float,
        Option(
            "compaction.at",
            "cap",
            "When a session is compacted: over budget (`cap`), at the `warning` line, at a share, or `never`.",
            _line,
        ),
    ]
    pin: Annotated[
        Sequence[str],
        Option(
            "history.pin",
            (),
            "Texts of messages that stay whole, within half of the room, through cuts and summaries.",
            _texts,
        ),
    ]
    stable: Annotated[
        bool,
        Option(
            "session.stable", True, "Whether a session keeps the start of its prompts the same for the cache.", _flag
        ),
    ]
    tool_limit: Annotated[
        int | str,
        Option(
            "session.tool_limit",
            "100%",
            "The most tokens of one tool result, or a share of the budget.",
            units_or_share,
        ),
    ]
    memory_limit: Annotated[
        int, Option("session.memory_limit", 50_000, "The most tokens of memory in a session's prompt.", units)
    ]
    capture: Annotated[
        bool, Option("session.capture", False, "Whether the store keeps what is needed to replay each prompt.")
    ]
    format: Format | None
    """The format of the messages; without it, it is detected."""
    clock: Callable[[], float]
    """Returns the time in seconds."""


OPTIONS: Mapping[str, Option] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(SessionOptions, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}
"""The options that `brim.yaml` can set, by name."""


class OpenOptions(SessionOptions, total=False):
    """What may be changed when a session is opened, and the other arguments of a new one."""

    window: Window | int | None
    model: str | None
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
        InvalidValue: one is unknown; the message lists the options and suggests the nearest.
    """
    names = sorted(known.__annotations__)
    for name in given:
        if name not in names:
            likely = nearest(name, [*names, *_ARGUMENTS], most=1)
            hint = f" (did you mean {likely[0]!r}?)" if likely else ""
            raise InvalidValue("option", name, f"one of {', '.join(names)}{hint}")
