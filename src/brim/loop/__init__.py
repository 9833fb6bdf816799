"""Repeated work towards a goal, in contexts that never grow too large."""

from __future__ import annotations

from brim.loop.loop import Loop
from brim.loop.step import Outcome, Step, Tick
from brim.loop.workers import submit, work

__all__ = ["Loop", "Outcome", "Step", "Tick", "submit", "work"]
