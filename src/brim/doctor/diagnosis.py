"""The diagnosis of a project: what to fix in its settings, according to them and to the receipts of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from brim.doctor.finding import Finding
from brim.doctor.run_checks import RunStep, run_findings, run_step
from brim.doctor.settings_checks import settings_findings
from brim.doctor.store_checks import store_findings
from brim.sessions.overview import Overview
from brim.settings.config import Config
from brim.settings.resolved import Resolved


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
    for flow, run in runs.items():
        run.sort(key=lambda step: step.total)
        known = flow if flow in config.flows else None
        settings = config.resolve(profile=profile, flow=known)
        found += run_findings(settings, run, partial(_step, config, profile, known))
    if sessions is not None:
        found += store_findings(config.resolve(profile=profile), sessions)
    return sorted(dict.fromkeys(found), key=lambda finding: finding.level != "wrong")


def _step(config: Config, profile: str | None, flow: str | None, step: str) -> Resolved | None:
    """Return the settings of a step; `None` if the flow or the step is not in the settings."""
    if flow is None or all(each.id != step for each in config.flow(flow).steps):
        return None
    return config.resolve(profile=profile, flow=flow, step=step)
