"""Replays recorded traffic under policies, and reports avoided overflows, savings, and what would be dropped."""

from __future__ import annotations

from brim.audit.audit import audit
from brim.audit.policy import Policy, policies_of, policy_of
from brim.audit.report import AuditReport

__all__ = ["AuditReport", "Policy", "audit", "policies_of", "policy_of"]
