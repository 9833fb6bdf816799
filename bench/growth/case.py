"""One thing whose cost may grow, and the limits that it is held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Points = Iterator[tuple[int, float]]
"""Sizes, each with what was measured there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One row of the table."""

    name: str
    of: str
    """What the size counts: turns, tools, conversations."""
    sizes: Sequence[int]
    measure: Callable[[Sequence[int]], Points]
    """Yields what each size costs, in ascending order."""
    unit: str = "ms"
    """The unit of what is measured; CPU unless it says otherwise."""
    exponent: float | None = None
    """The most that the exponent may be; `None` if the case has no such limit."""
    most: float | None = None
    """The most at the largest size."""
    each: bool = False
    """Whether `most` holds at every size."""
    least: float | None = None
    """The least at the largest size."""
    about: str = ""
    """What is measured, in a sentence."""
