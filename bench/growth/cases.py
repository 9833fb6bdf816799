"""All cases, and the job that measures one of them in a process of its own."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from typing import Any

from bench.growth import compactions, conversations, fits, gateways, openings, runs
from bench.growth.case import Case

_EVERY: list[Case] = [
    *runs.CASES, *fits.CASES, *conversations.CASES, *openings.CASES, *compactions.CASES, *gateways.CASES,
]  # fmt: skip
_ONLY = os.environ.get("BRIM_GROWTH", "")

CASES = [case for case in _EVERY if any(name in case.name for name in _ONLY.split(","))]
"""The cases to measure: all, or those whose names have a part of `BRIM_GROWTH`."""


def job(case: str, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield what a case costs at each size."""
    gc.collect()
    gc.freeze()
    [chosen] = [each for each in _EVERY if each.name == case]
    for size, value in chosen.measure(sizes):
        yield {"size": size, "value": value}
