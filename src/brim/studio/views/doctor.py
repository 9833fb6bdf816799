"""The findings of the doctor, and facts about the store, the meters and the server."""

from __future__ import annotations

import os
import sqlite3
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from brim.doctor.diagnosis import CHECKS, Finding, ProposedChange, diagnose
from brim.errors import UnknownName
from brim.meter import DEFAULT
from brim.meter.vocabularies import BUILT_IN, VOCABULARIES
from brim.settings import changes
from brim.settings.config import Config
from brim.studio.access import StudioAccess
from brim.studio.views.flows import relative_paths, save
from brim.studio.workspace import FILE, Workspace

_MOST_RECEIPTS = 1_000
"""Receipts that the doctor reads, the newest first."""
_MOST_SESSIONS = 1_000


def doctor(workspace: Workspace, access: StudioAccess) -> dict[str, Any]:
    """Return what is wrong and what could be better, and facts about the studio."""
    config = workspace.settings()
    receipts, findings = _findings(workspace, config)
    facts = {
        **_store_facts(workspace),
        "receipts of flows": os.path.abspath(workspace.runs),
        **_meter_facts(),
        "brim": version("brim"),
        "Python": sys.version.split()[0],
        "address": access.address,
        "reachable from": "this machine only" if access.is_loopback else "any machine that has the token",
        "token": "chosen by the user" if access.chosen else "new at each start",
    }
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
        "facts": [{"name": name, "text": text} for name, text in facts.items()],
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
    receipts = workspace.index.files.receipts()[:_MOST_RECEIPTS]
    return len(receipts), list(diagnose(config, [(each.flow, each.values) for each in receipts]))


def _store_facts(workspace: Workspace) -> dict[str, str]:
    store = workspace.find_store()
    sqlite = {"SQLite": sqlite3.sqlite_version}
    if store is None:
        return {"store": "none yet", **sqlite}
    path = workspace.url.removeprefix(FILE)
    is_file = workspace.url.startswith(FILE) and os.path.isfile(path)
    listed = store.sessions(limit=_MOST_SESSIONS)
    oldest = min((row.updated for row in listed), default=None)
    day = "" if oldest is None else f"; the oldest from {datetime.fromtimestamp(oldest, UTC):%d %B %Y}"
    count = f"{len(listed):,}" if len(listed) < _MOST_SESSIONS else f"{_MOST_SESSIONS:,} or more"
    return {
        "store": store.url,
        "size of the store": f"{os.path.getsize(path):,} bytes" if is_file else "unknown: it is on a server",
        "sessions": count + day,
        "retention": "no limit: store.purge(before=...) removes old sessions",
        **(sqlite if is_file else {}),
    }


def _meter_facts() -> dict[str, str]:
    """Return which vocabularies are counted exactly, and what to install for the others."""
    more = sum(name not in BUILT_IN for name in VOCABULARIES)
    state = "installed" if find_spec("splintr") is not None else "estimated: pip install 'brim[open]'"
    readable = "supported" if find_spec("tokenizers") is not None else "not supported: pip install 'brim[open]'"
    return {
        "default meter": DEFAULT,
        "built-in vocabularies": ", ".join(BUILT_IN),
        "vocabularies of open models": f"{more}, {state}",
        "tokenizer.json files": readable,
    }
