"""The diagnosis of a project: what to fix in its settings, according to them and to the receipts of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from brim.doctor.finding import Finding
from brim.doctor.run_checks import RunStep, run_findings, run_step
from brim.doctor.settings_checks import settings_findings
from brim.settings.config import Config


def diagnose(
    config: Config, receipts: Iterable[tuple[str, Mapping[str, Any]]] = (), profile: str | None = None
) -> list[Finding]:
    """Return the findings: first what is wrong, then advice.

    Args:
        config: the settings.
        receipts: the receipts of a run, each with the name of the directory of its flow.
        profile: the profile; without it, the active one.

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
        settings = config.resolve(profile=profile, flow=flow if flow in config.flows else None)
        found += run_findings(settings, run)
    return sorted(dict.fromkeys(found), key=lambda finding: finding.level != "wrong")
