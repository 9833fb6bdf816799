"""Repeated work towards a goal, in contexts that never grow too large."""

from __future__ import annotations

from brim.sessions.loop.loop import Loop
from brim.sessions.loop.step import Outcome, Step, Tick

__all__ = ["Loop", "Outcome", "Step", "Tick"]
