"""The settings of a benchmark, and its outcome: tables and gates."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Cell = str | int | float | None
"""A text, a number, or `None` where there is nothing to tell."""
Half = Literal["odd", "even", "both"]
"""Recorded runs by their number in a file: the even ones are for tuning, the odd ones are reported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """How a run was asked for."""

    quick: bool = False
    """Whether sizes are a tenth, to see that all works; the numbers then prove nothing."""
    traces: Path | None = None
    """The folder of recorded runs to replay; without it they are made up."""
    half: Half = "odd"
    """The half of the recorded runs that `readable` and `likelihood` take."""
    runs: int | None = None
    """Runs of each file that they take; `None` is the number of the benchmark."""
    steps: int | None = None
    """Steps of a run at each budget that `likelihood` scores; `None` is its own number."""
    budgets: tuple[int, ...] = ()
    """Budgets in tokens of `likelihood`; none of them means its own."""

    def size(self, full: int) -> int:
        """Return the size to measure at instead of `full`."""
        return full // 10 if self.quick else full


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Results in rows, the first column naming the case."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    """Sentences below the table, such as why a peer is left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """A number that the project holds itself to."""

    name: str
    value: float
    limit: float
    unit: str
    at_least: bool = False
    """Whether the value must reach the limit; otherwise it must not pass it."""

    @property
    def passed(self) -> bool:
        """Whether the value is on the right side of the limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """All that one benchmark found."""

    name: str
    tables: Sequence[Table]
    gates: Sequence[Gate] = ()


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through the logarithms: 1 is linear, 2 is quadratic."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    return statistics.linear_regression(*zip(*logs, strict=True)).slope
