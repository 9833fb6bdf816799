"""The findings of the doctor, and the changes that fix them."""

from __future__ import annotations

from typing import Any

from brim.doctor.diagnosis import CHECKS, Finding, ProposedChange, diagnose
from brim.errors import UnknownName
from brim.settings import changes
from brim.settings.config import Config
from brim.studio.views.flows import relative_paths, save
from brim.studio.workspace import Workspace


def doctor(workspace: Workspace) -> dict[str, Any]:
    """Return what is wrong and what could be better."""
    config = workspace.settings()
    receipts, findings = _findings(workspace, config)
    return {
        "healthy": not any(finding.level == "wrong" for finding in findings),
        "findings": [
            {**relative_paths(finding.to_dict(), config), "fixes": [change.command for change in _fixes(finding)]}
            for finding in findings
        ],
        "saved": workspace.saved,
        "checks": list(CHECKS),
        "files": list(config.files),
        "receipts": receipts,
    }


def fix(workspace: Workspace, line: str) -> dict[str, Any]:
    """Make the change of one command that the doctor proposes, and return it; `undo` reverts it.

    Raises:
        UnknownName: the doctor does not propose this command now.
        SourceError: the file cannot be changed.
    """
    config = workspace.settings()
    _, findings = _findings(workspace, config)
    proposed = next((change for each in findings for change in _fixes(each) if change.command == line), None)
    if proposed is None:
        raise UnknownName("proposed change", line, [], "Read the findings again: they may have changed")
    change = changes.plan(config, {proposed.key: proposed.value}, **dict(proposed.place))
    return save(workspace, workspace.plan(change))


def _fixes(finding: Finding) -> list[ProposedChange]:
    """Return the changes of the project's own settings, and no others."""
    return [change for change in finding.changes if not change.variable and "file" not in dict(change.place)]


def _findings(workspace: Workspace, config: Config) -> tuple[int, list[Finding]]:
    """Return how many receipts were read, and what was found in them and in the settings."""
    receipts = workspace.receipts.receipts()
    return len(receipts), list(diagnose(config, [(each.flow, each.values) for each in receipts]))
