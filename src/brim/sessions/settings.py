"""The settings of a session, and the options that set them, each declared once.

Settings are logged, so they need not be passed to open a session. Signatures take options as `Unpack`, so editors and
type checkers know them; `brim.yaml`, its schema and the reference pages take the rest from `OPTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, cast, get_type_hints

from brim.amounts import fraction, part_of, units, units_or_share
from brim.errors import BrimError, InvalidType, InvalidValue, did_you_mean, nearest
from brim.history.stable import Stable
from brim.meter import Meter
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions.compaction import Summariser
from brim.sessions.learning.windows import WindowLimits
from brim.wire.base import Format

_ARGUMENTS = ("window", "model", "meter", "store", "id", "summarise")
"""Other arguments, which the error about an unknown option lists too."""
LINES = ("cap", "warning", "never")
"""When compaction starts: over the budget, at the warning line, or never."""


class Option(NamedTuple):
    """One option of sessions."""

    key: str
    """Its place in `brim.yaml`."""
    default: Any
    doc: str
    check: Callable[[str, Any], object] | None = None
    """Raises `InvalidValue` for an invalid value; `None` if the option is not logged."""


def _line(name: str, value: Any) -> None:
    """Check the value that says when compaction starts."""
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


def _limit(name: str, value: Any) -> int | Fraction | None:
    return None if value is None else units_or_share(name, value)


def _texts(name: str, value: Any) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise InvalidType(name, value, "a list of texts")


class SessionOptions(TypedDict, total=False):
    """How the sessions of a program stay within their window."""

    keep_turns: Annotated[
        int,
        Option(
            "compaction.keep_turns",
            3,
            "The smallest number of newest turns that a summary leaves unchanged.",
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
        int | str | None,
        Option(
            "session.tool_limit",
            None,
            "The most tokens of each text of a tool result, at least 64, or a share of the budget.",
            _limit,
        ),
    ]
    memory_limit: Annotated[
        int, Option("session.memory_limit", 50_000, "The most tokens of memory in a session's prompt.", units)
    ]
    capture: Annotated[
        bool, Option("session.capture", False, "Whether the store keeps what is needed to replay each prompt.")
    ]
    format: Format | None
    """The format of the messages; by default it is detected."""
    clock: Callable[[], float]
    """Returns the time in seconds."""


OPTIONS: Mapping[str, Option] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(SessionOptions, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}
"""The options that `brim.yaml` can set, by name."""


class OpenOptions(SessionOptions, total=False):
    """Settings that may be changed when a session is opened, and the other arguments of a new one."""

    window: Window | int | None
    model: str | None


class ConversationOptions(SessionOptions, total=False):
    """The arguments of `brim.Conversations` that `brim.wrap` passes on."""

    model: str | None
    meter: Meter | str | Callable[[str], int] | None
    summarise: Summariser | None
    observers: Iterable[Observer]
    on_notice: Callable[[str], Any] | None
    most: int | None
    memory: int | None
    log: bool
    limits: WindowLimits | None
    margin: float | str


def check_options(given: Mapping[str, Any], known: type) -> None:
    """Check the names of options.

    Raises:
        InvalidValue: one is unknown; the message lists the options and suggests the nearest.
    """
    names = sorted(known.__annotations__)
    for name in given:
        if name not in names:
            listed = sorted({*names, *_ARGUMENTS})
            raise InvalidValue(
                "option", name, f"one of {', '.join(listed)}", did_you_mean(nearest(name, listed, most=1))
            )


_MEMORY_SHARE = 4
"""Memory may take a quarter of the budget."""
_BELOW_WARNING = 0.95
"""A cut reduces the prompt to this share of the warning line."""
_LEAST_RESULT = 64
"""The lowest limit of a tool result in tokens."""
_KEPT = {name: option for name, option in OPTIONS.items() if option.check is not None}
"""The options that are logged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSettings:
    """How a session stays within its window."""

    window: Window
    model: str | None = None
    meter: str | None = None
    """The name of the meter, if one was chosen by name."""
    own_meter: bool = False
    """Whether the meter is the caller's own, so it must be passed again."""
    format: Format | None = None
    """The format of the messages; by default it is detected."""
    options: SessionOptions = field(default_factory=SessionOptions)
    """All logged options."""

    def __post_init__(self) -> None:
        if not isinstance(self.window, Window):
            raise InvalidType("window", self.window, "a Window or its size, or omitted if there is a model")
        given: Mapping[str, Any] = self.options
        made = {name: given.get(name, option.default) for name, option in _KEPT.items()}
        for name, value in made.items():
            if (check := _KEPT[name].check) is not None:
                check(name, value)
        object.__setattr__(self, "options", made)

    @classmethod
    def of(
        cls,
        window: Window | int | None,
        model: str | None = None,
        *,
        meter: str | None = None,
        own_meter: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> SessionSettings:
        """Return the settings for a window, for its size, or for the window of a model.

        Raises:
            InvalidValue: there is neither a window nor a model, or a setting is invalid.
            UnknownName: there is no such model.
        """
        if window is None and model is None:
            raise InvalidType("window", window, "a Window or its size", "pass window= or model=")
        if window is None and model is not None:
            window = Window.of(model)
        elif isinstance(window, int) and not isinstance(window, bool):
            window = Window(window)
        given: dict[str, Any] = {"window": window, "model": model, "meter": meter, "own_meter": own_meter}
        told = dict(options or {})
        return cls(**given, format=told.get("format"), options=cast("SessionOptions", told))

    def changed(self, given: Mapping[str, Any]) -> SessionSettings:
        """Return the settings with some of them replaced; the format stays.

        If the window is that of the model, changing the model also changes the window.

        Raises:
            InvalidValue: a setting is invalid.
            UnknownName: there is no such model.
        """
        told = {name: given[name] for name in ("window", "model") if given.get(name) is not None}
        more = {name: value for name, value in given.items() if name in _KEPT and value is not None}
        if type(told.get("window")) is int:
            told["window"] = Window(told["window"])
        other = told.get("model", self.model) != self.model
        if other and "window" not in told and self._has_window_of_model():
            told["window"] = Window.of(told["model"])
        return replace(self, **told, options=cast("SessionOptions", {**self.options, **more}))

    def _has_window_of_model(self) -> bool:
        try:
            return self.model is not None and self.window == Window.of(self.model)
        except BrimError:  # It has left the catalogue.
            return False

    @property
    def budget(self) -> int:
        """Tokens that a prompt may take."""
        return self.window.budget

    def line(self, budget: int) -> int | None:
        """Return the size at which the history is compacted, for a prompt with this budget."""
        at = self.options["compact_at"]
        if at == "never":
            return None
        if at == "cap":
            return budget + 1
        if at == "warning":
            return min(self.window.warning, budget + 1)
        return part_of(fraction("compact_at", at), budget)

    @property
    def high(self) -> float:
        """The share of the budget above which the history is cut."""
        line = self.line(self.budget)
        return 1.0 if line is None else min(1.0, line / max(1, self.budget))

    @property
    def low(self) -> float:
        """The share of the budget to which a cut reduces the prompt; it is below the warning line."""
        return min(Stable().low * self.high, _BELOW_WARNING * self.window.warning / max(1, self.budget))

    @property
    def longest_result(self) -> int | None:
        """The most tokens of one tool result; `None` without a limit."""
        amount = _limit("tool_limit", self.options["tool_limit"])
        if amount is None:
            return None
        return max(_LEAST_RESULT, part_of(amount, self.budget) if isinstance(amount, Fraction) else amount)

    @property
    def most_memory(self) -> int:
        """The most tokens of memory in a prompt."""
        return min(self.options["memory_limit"], self.budget // _MEMORY_SHARE)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        told: dict[str, Any] = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        told["window"] = {slot.name: getattr(self.window, slot.name) for slot in fields(Window)}
        return told

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SessionSettings:
        """Return the settings from the result of `to_dict`; unknown fields are ignored."""
        known = {slot.name for slot in fields(cls)}
        told = {name: value for name, value in values.items() if name in known}
        return cls(**{**told, "window": Window(**values["window"])})
