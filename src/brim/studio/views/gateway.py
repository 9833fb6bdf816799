"""The traffic of the gateways that write to the store."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from brim.studio.workspace import Workspace

TRAFFIC = "gateway-traffic"
"""The kind of document in which a gateway records its newest requests."""
_SILENT = 3 * 30.0
"""Seconds without a write after which a gateway is shown as stopped; it writes every 30 seconds."""
_LATE = 5.0
"""Seconds by which the clocks of a gateway and of its store may differ."""


def gateway(workspace: Workspace) -> dict[str, Any]:
    """Return the gateways and their newest requests."""
    store = workspace.find_store()
    documents = [store.load(TRAFFIC, name) for name in store.ids(TRAFFIC)] if store is not None else []
    gateways = [_gateway(document.body, document.at) for document in documents if document is not None]
    requests = [{"gateway": each["address"], **row} for each in gateways for row in each.pop("requests")]
    requests = sorted(requests, key=lambda row: -row["at"])
    if store is not None:
        names = {row["session"] for row in requests if row.get("session")}
        prompts = {name: workspace.prompts(name).rows for name in names}
        for row in requests:
            row["step"] = _step(prompts.get(row.get("session"), ()), row)
    return {"gateways": gateways, "requests": requests}


def _step(rows: Sequence[Mapping[str, Any]], row: Mapping[str, Any]) -> int | None:
    """Return the step of a request among the prompts of its conversation; `None` if its prompt was not recorded."""
    found = [each for each in rows if each["used"] == row.get("after") and each["at"] <= row["at"] + _LATE]
    return found[-1]["step"] if found else None


def _gateway(body: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Return one gateway: its address, how its requests ended, and the newest of them."""
    requests = list(body.get("requests", ()))
    return {
        **{key: body.get(key) for key in ("address", "since", "ends")},
        "running": not body.get("stopped") and time.time() - (body.get("seen") or at) < _SILENT,
        "written": max((row["at"] for row in requests), default=at),
        "requests": requests,
    }
