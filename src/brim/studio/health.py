"""Models, the gateway's traffic, and what the doctor says."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

from brim.studio.desk import FILE, Desk
from brim.studio.flows import near
from brim.studio.guard import Door

TRAFFIC = "gateway-traffic"
"""The kind of document in which a gateway writes down its newest requests."""
_MOST_TALKS = 100
_MOST_REQUESTS = 200
_MOST_EXAMINED = 1_000
"""Receipts, the newest, that the doctor looks at."""


def models(desk: Desk) -> dict[str, Any]:
    """Return every model of the catalogue: its source, what the store learnt, and how well its prompts were counted."""
    from brim.meter import catalogue
    from brim.sessions.calibrating import KIND, shared

    store = desk.store()
    learnt = set(store.ids(KIND)) if store is not None else set()
    errors = desk.index.errors(desk)
    rows = []
    for model in catalogue.models():
        known = shared(store, model.id) if model.id in learnt else None
        measured = None if known is None else {"calls": known.calls, "margin": known.margin}
        row = {**asdict(model), "window_text": model.window_text, "measured": measured}
        rows.append({**row, "error": _error(errors.get(model.id, ()))})
    return {"models": rows}


def _error(found: Sequence[float]) -> dict[str, Any] | None:
    """Return how far prompts were counted from what the provider reported; nothing where it reported none."""
    if not found:
        return None
    sizes = sorted(map(abs, found))
    return {
        "calls": len(found),
        "mean": sum(sizes) / len(sizes),
        "p95": sizes[_rank(sizes, 0.95)],
        "under": -min(0.0, *found, 0.0),
    }


def _rank(values: Sequence[float], part: float) -> int:
    """Return the place of a quantile among sorted values."""
    return min(len(values) - 1, int(part * len(values)))


def gateway(desk: Desk) -> dict[str, Any]:
    """Return what gateways that write to the store did: their newest requests, and the conversations they cut."""
    store = desk.store()
    seen = [store.load(TRAFFIC, name) for name in store.ids(TRAFFIC)] if store is not None else []
    gateways = [_gateway(saved.body, saved.at) for saved in seen if saved is not None]
    requests = [{"gateway": each["address"], **row} for each in gateways for row in each.pop("requests")]
    requests.sort(key=lambda row: -row["at"])
    talks = []
    for row in store.sessions(limit=_MOST_TALKS) if store is not None else ():
        status = row.meta.get("status")
        if row.meta.get("kind") == "gateway" and isinstance(status, Mapping):
            talks.append({"id": row.id, "updated": row.updated, "entries": row.entries, **status})
    settings = desk.settings().resolve()
    told = {key: settings.value(f"gateway.{key}") for key in ("upstream", "host", "port", "policy")}
    return {"gateways": gateways, "requests": requests[:_MOST_REQUESTS], "talks": talks, "settings": told}


def _gateway(body: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Return one gateway: where it listens, how its requests ended, and the time that it added to the newest."""
    requests = list(body.get("requests", ()))
    overhead = sorted(row["overhead_ms"] for row in requests if row.get("overhead_ms") is not None)
    times = {
        name: overhead[_rank(overhead, part)] if overhead else None for name, part in (("p50", 0.5), ("p99", 0.99))
    }
    told = {key: body.get(key) for key in ("address", "since", "ends")}
    newest = max((row["at"] for row in requests), default=at)
    return {**told, "written": newest, "overhead_ms": times, "newest": len(requests), "requests": requests}


def doctor(desk: Desk, door: Door | None) -> dict[str, Any]:
    """Return what is wrong and what could be better, and facts about the store and the server."""
    from brim.doctor.checks import CHECKS, examined

    desk.index.rows(desk)
    filed = desk.index.folder.receipts()[:_MOST_EXAMINED]
    config = desk.settings()
    found = examined(config, [(each.flow, each.values) for each in filed])
    return {
        "healthy": not any(finding.level == "wrong" for finding in found),
        "findings": [near(finding.to_dict(), config) for finding in found],
        "checks": list(CHECKS),
        "files": list(config.files),
        "receipts": len(filed),
        "facts": _facts(desk, door),
    }


def _facts(desk: Desk, door: Door | None) -> list[dict[str, str]]:
    from importlib.metadata import version

    rows = {**_stored(desk), "receipts of runs": os.path.abspath(desk.runs), **_counting()}
    rows |= {"brim": version("brim"), "Python": sys.version.split()[0]}
    if door is not None:
        reach = "this machine alone" if door.is_loopback else "whoever reaches the address and has the token"
        kind = "one that somebody chose" if door.chosen else "made anew at each start"
        rows |= {"address": door.address, "reached by": reach, "token": f"{kind}; asked of everyone"}
    return [{"name": name, "told": told} for name, told in rows.items()]


def _stored(desk: Desk) -> dict[str, str]:
    """Return facts about the store: where it is, how much is in it, and how long that stays."""
    store = desk.store()
    if store is None:
        return {"store": "none yet", "SQLite": _sqlite()}
    path = desk.url.removeprefix(FILE)
    plain = desk.url.startswith(FILE) and os.path.isfile(path)
    listed = store.sessions(limit=1_000)
    oldest = min((row.updated for row in listed), default=None)
    day = "" if oldest is None else f"; the oldest is of {datetime.fromtimestamp(oldest, UTC):%d %B %Y}"
    count = f"{len(listed):,}" if len(listed) < 1_000 else "1,000 or more"
    told = {
        "store": store.url,
        "size of the store": f"{os.path.getsize(path):,} bytes" if plain else "unknown: a server has it",
        "sessions": count + day,
        "retention": "everything stays until store.purge(before=...) removes it",
    }
    return {**told, "SQLite": _sqlite()} if plain else told


def _sqlite() -> str:
    from brim.store.sqlite import has_wal_bug

    mode = (
        "without a write-ahead log, since this version could damage one"
        if has_wal_bug(sqlite3.sqlite_version_info)
        else "with a write-ahead log"
    )
    return f"{sqlite3.sqlite_version}, {mode}"


def _counting() -> dict[str, str]:
    """Return which vocabularies are counted exactly here, offline, and what would bring the others."""
    from brim.meter import DEFAULT
    from brim.meter.vocabularies import BUILT_IN, VOCABULARIES

    more = [name for name in VOCABULARIES if name not in BUILT_IN]
    there = find_spec("splintr") is not None
    state = "present" if there else "estimated: pip install 'brim[open]'"
    files = "can be read" if find_spec("tokenizers") is not None else "cannot be read: pip install 'brim[open]'"
    return {
        "counted with": DEFAULT,
        "vocabularies built in": ", ".join(BUILT_IN),
        "vocabularies of open models": f"{len(more)}, {state}",
        "tokenizer.json files": files,
    }
