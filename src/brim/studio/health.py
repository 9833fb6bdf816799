"""Models, the gateway's traffic, and what the doctor says."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from brim.studio.desk import FILE, Desk
from brim.studio.guard import Door
from brim.studio.receipts import folder

_MOST_TALKS = 100
_MOST_REQUESTS = 200


def models(desk: Desk) -> dict[str, Any]:
    """Return every model of the catalogue, with its source and with what the store learnt of its counting."""
    from brim.meter import catalogue
    from brim.session.calibrating import KIND, shared

    store = desk.store()
    learnt = set(store.ids(KIND)) if store is not None else set()
    rows = []
    for model in catalogue.models():
        known = shared(store, model.id) if model.id in learnt else None
        measured = None if known is None else {"calls": known.calls, "margin": known.margin}
        rows.append({**asdict(model), "window_text": model.window_text, "measured": measured})
    return {"models": rows}


def gateway(desk: Desk) -> dict[str, Any]:
    """Return the conversations that a gateway has cut, the last first, and their requests before and after."""
    store = desk.store()
    talks: list[dict[str, Any]] = []
    requests: list[dict[str, Any]] = []
    for row in store.sessions(limit=_MOST_TALKS) if store is not None else ():
        status = row.meta.get("status")
        if row.meta.get("kind") != "gateway" or not isinstance(status, Mapping):
            continue
        talks.append({"id": row.id, "updated": row.updated, "requests": 0, **status})
        prompts = store.entries(row.id, kinds=["prompt"])[-_MOST_REQUESTS:] if store is not None else []
        talks[-1]["requests"] = len(prompts)
        requests += [{"talk": row.id, "at": each.at, **each.body} for each in prompts]
    requests.sort(key=lambda each: -each["at"])
    settings = desk.settings().resolve()
    told = {key: settings.value(f"gateway.{key}") for key in ("upstream", "host", "port", "policy")}
    return {"talks": talks, "requests": requests[:_MOST_REQUESTS], "settings": told}


def doctor(desk: Desk, door: Door | None) -> dict[str, Any]:
    """Return what is wrong and what could be better, and facts about the store and the server."""
    from brim.config.doctor import CHECKS, examined

    filed = folder(desk).receipts()
    config = desk.settings()
    found = examined(config, [(each.flow, each.values) for each in filed])
    return {
        "healthy": not any(finding.level == "wrong" for finding in found),
        "findings": [finding.to_dict() for finding in found],
        "checks": list(CHECKS),
        "files": list(config.files),
        "receipts": len(filed),
        "facts": _facts(desk, door),
    }


def _facts(desk: Desk, door: Door | None) -> list[dict[str, str]]:
    import brim
    from brim.meter import DEFAULT

    store = desk.store()
    path = desk.url.removeprefix(FILE)
    size = f"{os.path.getsize(path):,} bytes" if desk.url.startswith(FILE) and os.path.isfile(path) else "unknown"
    rows = {
        "store": "none yet" if store is None else store.url,
        "size of the store": size if store is not None else "none yet",
        "receipts of runs": os.path.abspath(desk.runs),
        "counted with": DEFAULT,
        "SQLite": sqlite3.sqlite_version,
        "brim": brim.__version__,
        "Python": sys.version.split()[0],
    }
    if door is not None:
        reach = "this machine alone" if door.is_loopback else "whoever reaches the address and has the token"
        rows |= {"address": door.address, "reached by": reach}
    return [{"name": name, "told": told} for name, told in rows.items()]
