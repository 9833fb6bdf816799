"""Flows: steps that run one after the other, each with a new pack as its whole context."""

from __future__ import annotations

from brim.flows.receipts import RunReport, report
from brim.flows.run import FlowOutcome, StepOutcome, flow_of, run_flow

__all__ = ["FlowOutcome", "RunReport", "StepOutcome", "flow_of", "report", "run_flow"]
