"""The diagnosis of a project: what to fix in its settings, according to them and to the receipts of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from brim.doctor.finding import Finding
from brim.doctor.run_checks import Run, RunStep, run_findings, run_step
from brim.doctor.settings_checks import settings_findings
from brim.doctor.store_checks import store_findings
from brim.sessions.overview import Overview
from brim.settings.config import Config


def diagnose(
    config: Config,
    receipts: Iterable[tuple[str, Mapping[str, Any]]] = (),
    profile: str | None = None,
    sessions: Overview | None = None,
) -> list[Finding]:
    """Return the findings: first what is wrong, then advice.

    Args:
        config: the settings.
        receipts: the receipts of a run, each with the name of the directory of its flow.
        profile: the profile; without it, the active one.
        sessions: the sessions and the gateway's conversations of a store.

    Raises:
        BrimError: the settings cannot be resolved.
    """
    runs: dict[str, list[RunStep]] = {}
    for flow, receipt in receipts:
        step = run_step(receipt, flow)
        runs.setdefault(step.flow, []).append(step)
    found = list(settings_findings(config, profile, runs))
    for flow, steps in runs.items():
        found += run_findings(Run(config, profile, flow, sorted(steps, key=lambda step: step.total)))
    if sessions is not None:
        found += store_findings(config.resolve(profile=profile), sessions)
    return sorted(dict.fromkeys(found), key=lambda finding: finding.level != "wrong")
