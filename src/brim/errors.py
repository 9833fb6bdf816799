"""Every error that brim raises on purpose.

    BrimError
    ├── InvalidValue (ValueError)       a value that brim cannot take, and where it stood
    │   └── InvalidType (TypeError)     the value is of the wrong kind altogether
    ├── DoesNotFit                      the essential parts alone are bigger than the budget
    ├── NoProgress                      a summary that is not smaller than what it stands for
    ├── UnknownName (LookupError)       no model, vocabulary or unit of that name
    ├── SourceError                     a file that cannot be read or understood, with its line
    ├── StoreError                      a store that cannot be opened, read or written, and what to do
    │   ├── Conflict                    somebody else wrote first: read again, then try again
    │   └── LeaseLost                   another worker holds the job, or has done it
    └── ModelError                      a model that could not be asked, or whose answer cannot be used

Each carries its numbers as attributes and says the whole sum in its message, so that nobody has to
run the failing call again to learn what went wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches


class BrimError(Exception):
    """The root: catch this to catch whatever brim refuses."""


class InvalidValue(BrimError, ValueError):
    """A value that brim cannot take."""

    def __init__(self, place: str, value: object, expected: str) -> None:
        self.place = place
        """Which argument, field or file position held the value."""
        self.value = value
        self.expected = expected
        """What would have been accepted, as a phrase that follows 'must be'."""
        super().__init__(f"{place} must be {expected}, not {shown(value)}")


class InvalidType(InvalidValue, TypeError):
    """A value of the wrong kind altogether, such as a number for a text."""


class DoesNotFit(BrimError):
    """What must be in the prompt is bigger than the budget."""

    def __init__(self, message: str, *, needed: int, available: int, parts: Mapping[str, int] | None = None) -> None:
        self.needed = needed
        """Units that the essential parts take, joins included."""
        self.available = available
        """Units that there were."""
        self.parts = dict(parts or {})
        """Units by part, in the order in which they are served."""
        super().__init__(message)

    @property
    def short(self) -> int:
        """Units that are missing: the smallest raise of the budget that would help."""
        return self.needed - self.available


class NoProgress(BrimError):
    """A compaction that would not make the history smaller."""

    def __init__(self, message: str, *, before: int, after: int) -> None:
        self.before = before
        """Units of what was to be replaced."""
        self.after = after
        """Units of what would stand in its place."""
        super().__init__(message)


class UnknownName(BrimError, LookupError):
    """No model, vocabulary or unit of that name is known."""

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str = "") -> None:
        self.name = name
        self.nearest = nearest(name, known)
        """The known names that look most like it."""
        told = f"; the nearest known are {', '.join(self.nearest)}" if self.nearest else ""
        super().__init__(f"no {kind} is called {shown(name)}{told}" + (f". {advice}" if advice else ""))


class SourceError(BrimError):
    """A file that cannot be read or understood."""

    def __init__(self, path: str, problem: str, *, line: int | None = None) -> None:
        self.path = path
        self.problem = problem
        self.line = line
        """Counted from one; unknown is `None`."""
        super().__init__(f"{path}:{line}: {problem}" if line is not None else f"{path}: {problem}")


class ModelError(BrimError):
    """A model that could not be asked, or whose answer cannot be used."""

    def __init__(self, problem: str, *, status: int | None = None, excerpt: str = "") -> None:
        self.problem = problem
        self.status = status
        """The HTTP status of the answer; `None` where there was no answer."""
        self.excerpt = excerpt
        """The start of what the server said, without the key."""
        super().__init__(f"{problem}: {excerpt}" if excerpt else problem)


class StoreError(BrimError):
    """A store that cannot be opened, read or written."""

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        """The address of the store, without a password."""
        self.problem = problem
        super().__init__(f"{place}: {problem}")


class Conflict(StoreError):
    """What was to be written stands on something that somebody else has changed since."""

    def __init__(self, place: str, what: str, *, expected: int, found: int) -> None:
        self.expected = expected
        """The number that the writer had seen."""
        self.found = found
        """The number that the store has."""
        seen = f"{what} is at {found:,}, not at {expected:,}"
        super().__init__(place, f"{seen}: somebody else wrote in the meantime; read it again, then try again")


class LeaseLost(StoreError):
    """A job that its worker holds no longer."""


def nearest(name: str, known: Iterable[str], most: int = 5) -> list[str]:
    """Return the known names that look most like `name`, the closest first."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    return [by_folded[match] for match in get_close_matches(name.casefold(), by_folded, n=most, cutoff=0.5)]


def check_choice(place: str, value: object, choices: Sequence[str]) -> None:
    """Pass if `value` is one of the choices.

    Raises:
        InvalidValue: it is not; the message lists them, the nearest first.
    """
    if not isinstance(value, str):
        raise InvalidType(place, value, f"one of {', '.join(choices)}")
    if value not in choices:
        likely = nearest(value, choices, most=1)
        told = f"one of {', '.join(choices)}" + (f" (did you mean {likely[0]!r}?)" if likely else "")
        raise InvalidValue(place, value, told)


def shown(value: object, width: int = 60) -> str:
    """Return `value` as it may stand in a message: its repr, and only the start of a long one."""
    try:
        text = repr(value[: width + 1]) if isinstance(value, str | bytes) else repr(value)
    except (ValueError, RecursionError):  # A number of thousands of digits, a list of thousands of levels.
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= width else text[: width - 1] + "…"
