"""Remember what each attempt taught, and nothing else of it.

The raw approach, result and reflection are returned as an event for the caller's log. A prompt only ever sees the
lessons of the last few attempts, so that its size does not depend on how many there were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue
from brim.receipts.section import Section
from brim.sessions.memory.lesson import Lesson, distilled
from brim.truncate.text import cut

NONE = "No prior attempts"
"""What is said where there were none."""

_LAST = 3
"""Attempts whose lessons a prompt is shown."""
_LOGGED = {"approach": 200, "result": 80, "reflection": 120}
"""Characters of the raw texts that an event holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One attempt, as it is remembered."""

    number: int
    """Counted from one over all attempts, also those that are no longer shown."""
    lesson: Lesson

    def __str__(self) -> str:
        return f"Attempt {self.number}: {self.lesson.text}"


@dataclass(frozen=True, slots=True)
class Episodic:
    """The attempts at one thing."""

    attempts: tuple[Attempt, ...] = ()
    """From the first to the last."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attempts", tuple(self.attempts))
        last = 0
        for attempt in self.attempts:
            if not isinstance(attempt, Attempt):
                raise InvalidType("attempts: an item", attempt, "an Attempt")
            if attempt.number <= last:
                raise InvalidValue("attempts: a number", attempt.number, f"above the {last} before it")
            last = attempt.number

    def __len__(self) -> int:
        return len(self.attempts)

    def after(
        self, *, approach: str = "", result: str = "", reflection: str = "", number: int | None = None
    ) -> tuple[Episodic, dict[str, Any]]:
        """Return the memory with one more attempt, and the event for the log, which alone holds the raw texts.

        The lesson is that of the reflection. Without one it is made of the approach, since an attempt of which nothing
        is known would be made again.

        Raises:
            InvalidValue: the number is not above those before it, or a text is none.
        """
        number = self._next() if number is None else units("number", number, least=self._next())
        lesson = distilled(reflection if reflection.strip() else approach)
        raw = {"approach": approach, "result": result, "reflection": reflection}
        logged = {name: cut(text, _LOGGED[name], "chars", marker="…").text for name, text in raw.items()}
        event = {
            "event": "attempt_recorded",
            "attempt": number,
            "lesson": lesson.text,
            "distilled": lesson.distilled,
            **logged,
        }
        return Episodic((*self.attempts, Attempt(number=number, lesson=lesson))), event

    def last(self, most: int = _LAST) -> tuple[Attempt, ...]:
        """Return the newest attempts, from the older to the newer."""
        return self.attempts[-units("most", most, least=1) :]

    def text(self, most: int = _LAST) -> str:
        """Return the lessons of the newest attempts, each on a line with its number."""
        return "\n".join(map(str, self.last(most))) or NONE

    def section(self, name: str = "lessons", *, last: int = _LAST, **options: Any) -> Section:
        """Return the lessons as a section, which gives up the oldest first.

        Raises:
            InvalidValue: an option that a section cannot have.
        """
        entries = [str(attempt) for attempt in self.attempts] or [NONE]
        return Section(name, entries, **{"keep": "newest", "most": units("last", last, least=1), **options})

    def to_list(self) -> list[dict[str, Any]]:
        """Return the attempts as JSON values."""
        return [
            {"attempt": attempt.number, "lesson": attempt.lesson.text, "distilled": attempt.lesson.distilled}
            for attempt in self.attempts
        ]

    @classmethod
    def from_list(cls, values: list[Mapping[str, Any]]) -> Episodic:
        """Return the memory that `to_list` wrote.

        Raises:
            InvalidValue: it is none.
        """
        made = []
        for i, row in enumerate(values):
            if not isinstance(row, Mapping) or not isinstance(row.get("lesson"), str):
                raise InvalidType(f"attempts[{i}]", row, "an object with attempt, lesson and distilled")
            number = units(f"attempts[{i}].attempt", row.get("attempt"), least=1)
            lesson = Lesson(text=row["lesson"], distilled=bool(row.get("distilled")))
            made.append(Attempt(number=number, lesson=lesson))
        return cls(tuple(made))

    def _next(self) -> int:
        return self.attempts[-1].number + 1 if self.attempts else 1
