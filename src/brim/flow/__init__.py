"""Flows: steps that run one after the other, each with a fresh pack as its whole context."""

from __future__ import annotations

from brim.flow.report import Report, report
from brim.flow.run import Outcome, Ran, run_flow

__all__ = ["Outcome", "Ran", "Report", "report", "run_flow"]
