"""The models of the catalogue, and how far brim's counts were from the provider's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from brim.meter import catalogue
from brim.sessions.learning.model_meter import KIND, load_calibration
from brim.studio.workspace import Workspace


def models(workspace: Workspace) -> dict[str, Any]:
    """Return every model: its row in the catalogue, its calibration in the store, and the errors of its counts."""
    store = workspace.find_store()
    calibrated: dict[str, list[str]] = {}
    for id_ in store.ids(KIND) if store is not None else ():
        calibrated.setdefault(id_.partition("#")[0], []).append(id_)  # One for each client of a gateway.
    errors = workspace.index.errors()
    rows = []
    for model in catalogue.models():
        found = filter(None, (load_calibration(store, id_) for id_ in calibrated.get(model.id, ())))
        known = max(found, key=lambda each: each.calls, default=None)
        measured = None if known is None else {"calls": known.calls, "margin": known.margin}
        row = {**asdict(model), "window_text": model.window_text, "measured": measured}
        rows.append({**row, "error": _error(errors.get(model.id, ()))})
    return {"models": rows}


def _error(errors: Sequence[float]) -> dict[str, Any] | None:
    """Return how far brim's counts were from the provider's, or `None` if it reported none."""
    if not errors:
        return None
    sizes = sorted(map(abs, errors))
    mean = sum(sizes) / len(sizes)
    return {"calls": len(errors), "mean": mean, "p95": quantile(sizes, 0.95), "under": -min(0.0, *errors, 0.0)}


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile of sorted values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
