"""The findings of the doctor, and the changes that fix them."""

from __future__ import annotations

from typing import Any

from brim.doctor.diagnosis import diagnose
from brim.studio.views.flows import relative_paths
from brim.studio.workspace import Workspace


def doctor(workspace: Workspace) -> dict[str, Any]:
    """Return what is wrong and what could be better, with the changes of the project's own settings that help."""
    config, receipts = workspace.settings(), workspace.receipts()
    found = diagnose(config, receipts)
    fixes = [
        [
            {"command": change.command, "key": change.key, "value": change.value, **dict(change.place)}
            for change in finding.changes
            if not change.variable and "file" not in dict(change.place)
        ]
        for finding in found
    ]
    return {
        "healthy": not any(finding.level == "wrong" for finding in found),
        "findings": [
            {**relative_paths(finding.to_dict(), config), "fixes": each}
            for finding, each in zip(found, fixes, strict=True)
        ],
        "files": list(config.files),
        "receipts": len(receipts),
    }
