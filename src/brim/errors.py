"""Every error that brim raises on purpose.

    BrimError
    ├── InvalidValue (ValueError)       an invalid value, and its place
    │   ├── InvalidType (TypeError)     a value of the wrong type
    │   └── UnknownName (LookupError)   no model, vocabulary or unit of that name
    ├── DoesNotFit                      the required parts alone exceed the budget
    ├── NoProgress                      a summary that is not smaller than the original
    ├── SourceError                     a file that cannot be read or is invalid, with the line
    ├── StoreError                      a store that cannot be opened, read or written
    │   ├── Conflict                    the data has changed since it was read: read again, then retry
    │   └── SessionPurged               the session was purged while it was open
    ├── ModelError                      a model call that failed, or an unusable answer
    └── MeterError                      a caller's own meter that failed, or an unusable count

Each error has its numbers as attributes and in its message, so the cause is clear without repeating the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class BrimError(Exception):
    """The base class of all errors of brim.

    `args` are the arguments of the constructor, so that programs which serialize errors, such as Celery, can restore
    them.
    """

    def __init__(self, message: str, *arguments: object) -> None:
        super().__init__(*(arguments or (message,)))
        self.message = message
        """What went wrong, in one or more sentences."""

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # The constructor is not called: a user's subclass may have other arguments.
        return _restored, (type(self), self.args, self.__dict__)


class InvalidValue(BrimError, ValueError):
    """An invalid value."""

    def __init__(self, place: str, value: object, expected: str, advice: str = "") -> None:
        self.place = place
        """The argument, field or position in a file."""
        self.value = value
        self.expected = expected
        """The accepted values, as a phrase that follows 'must be'."""
        message = f"{place} must be {expected}, not {shown(value)}" + (f"; {advice}" if advice else "")
        super().__init__(message, place, value, expected, *([advice] if advice else ()))

    def __reduce__(self) -> tuple[Any, ...]:
        value = self.value if picklable(self.value) else shown(self.value)
        return _restored, (type(self), (self.place, value, *self.args[2:]), {**self.__dict__, "value": value})


class InvalidType(InvalidValue, TypeError):
    """A value of the wrong type, such as a number for a string."""


class DoesNotFit(BrimError):
    """The required parts of the prompt exceed the budget."""

    def __init__(self, message: str, needed: int, available: int, parts: Mapping[str, int] | None = None) -> None:
        self.needed = needed
        """Tokens of the required parts, separators included."""
        self.available = available
        """Tokens of the budget."""
        self.parts = dict(parts or {})
        """Tokens by part, in order of priority."""
        super().__init__(message, message, needed, available, self.parts)

    @property
    def short(self) -> int:
        """By how many tokens the budget is too small."""
        return self.needed - self.available


class NoProgress(BrimError):
    """A compaction would not make the history smaller."""

    def __init__(self, message: str, before: int, after: int) -> None:
        self.before = before
        """Tokens of the original."""
        self.after = after
        """Tokens of the replacement."""
        super().__init__(message, message, before, after)


class UnknownName(InvalidValue, LookupError):
    """No model, session, section or setting has that name."""

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str = "") -> None:
        self.place, self.value, self.expected = kind, name, "a known name"
        self.name = name
        self.nearest = nearest(name, known)
        """The most similar known names."""
        hint = did_you_mean(self.nearest)
        message = f"no {kind} is called {shown(name)}" + (f"; {hint}" if hint else "")
        message += f"{'' if hint else '.'} {advice}" if advice else ""
        BrimError.__init__(self, message, kind, name, self.nearest, advice)

    def __reduce__(self) -> tuple[Any, ...]:
        return BrimError.__reduce__(self)


class SourceError(BrimError):
    """A file cannot be read or is invalid."""

    def __init__(self, path: str, problem: str, line: int | None = None) -> None:
        self.path = path
        self.problem = problem
        self.line = line
        """Counted from one; `None` if unknown."""
        message = f"{path}:{line}: {problem}" if line is not None else f"{path}: {problem}"
        super().__init__(message, path, problem, line)


class ModelError(BrimError):
    """A model call failed, or its answer is unusable."""

    def __init__(self, problem: str, status: int | None = None, excerpt: str = "") -> None:
        self.problem = problem
        self.status = status
        """The HTTP status; `None` if the server did not answer."""
        self.excerpt = excerpt
        """The start of the answer, with the API key removed."""
        super().__init__(f"{problem}: {excerpt}" if excerpt else problem, problem, status, excerpt)


class MeterError(BrimError):
    """A caller's own meter failed, or its count is unusable."""

    def __init__(self, meter: str, length: int, problem: str) -> None:
        self.meter = meter
        """The name of the meter."""
        self.length = length
        """Characters of the text."""
        self.problem = problem
        message = f"the meter {meter!r} failed on a text of {length:,} characters: {problem}"
        super().__init__(message, meter, length, problem)


class StoreError(BrimError):
    """A store cannot be opened, read or written."""

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        """The address of the store, without a password."""
        self.problem = problem
        super().__init__(f"{place}: {problem}", place, problem)


class Conflict(StoreError):
    """The document was changed since it was read."""

    def __init__(self, place: str, what: str, expected: int, found: int) -> None:
        self.expected = expected
        """The version that the writer had read."""
        self.found = found
        """The version in the store."""
        problem = f"{what} is at version {found:,}, not {expected:,}: it has changed since; read it again and retry"
        super().__init__(place, problem)
        self.args = (place, what, expected, found)


class SessionPurged(StoreError):
    """The session was purged while it was open; it is no longer written."""


def nearest(name: str, known: Iterable[str], most: int = 5, cutoff: float = 0.5) -> list[str]:
    """Return the known names most similar to `name`, the closest first; a higher `cutoff` accepts fewer."""
    from difflib import get_close_matches

    by_folded = {candidate.casefold(): candidate for candidate in known}
    return [by_folded[match] for match in get_close_matches(name.casefold(), by_folded, n=most, cutoff=cutoff)]


def did_you_mean(names: Sequence[str]) -> str:
    """Return the question whether one of these names was meant; empty without names."""
    if not names:
        return ""
    *others, last = map(repr, names)
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def check_choice(place: str, value: object, choices: Sequence[str]) -> None:
    """Check that `value` is one of the choices.

    Raises:
        InvalidValue: it is not; the message lists the choices.
    """
    if not isinstance(value, str):
        raise InvalidType(place, value, f"one of {', '.join(choices)}")
    if value not in choices:
        raise InvalidValue(place, value, f"one of {', '.join(choices)}", did_you_mean(nearest(value, choices, most=1)))


def picklable(value: object) -> bool:
    """Return whether a caller's value can be pickled; a lambda, a lock or a client cannot."""
    import pickle

    try:
        pickle.dumps(value)
    except Exception:  # Each type raises another error.
        return False
    return True


def _restored(kind: type[BrimError], arguments: tuple[Any, ...], state: Mapping[str, Any]) -> BrimError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


class _Hidden:
    def __repr__(self) -> str:
        return "*** (hidden, since it may be a secret)"


HIDDEN = _Hidden()
"""Replaces a value in an error message if it may be a secret."""


def shown(value: object, width: int = 60) -> str:
    """Return the repr of a value for a message, shortened if it is long."""
    try:
        text = repr(value[: width + 1]) if isinstance(value, str | bytes) else repr(value)
    except (ValueError, RecursionError):  # A number of thousands of digits, a list of thousands of levels.
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= width else text[: width - 1] + "…"
