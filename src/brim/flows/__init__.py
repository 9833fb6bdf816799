"""Flows: steps that run one after the other, each with a fresh pack as its whole context."""

from __future__ import annotations

from brim.flows.report import RunReport, report
from brim.flows.run import FlowOutcome, Ran, run_flow

__all__ = ["FlowOutcome", "Ran", "RunReport", "report", "run_flow"]
