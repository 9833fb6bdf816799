"""Packs: a fresh briefing for one step of a flow, built by the curator and never accumulated."""

from __future__ import annotations

from brim.pack.curator import Curator
from brim.pack.pack import Pack
from brim.pack.record import StepRecord

__all__ = ["Curator", "Pack", "StepRecord"]
