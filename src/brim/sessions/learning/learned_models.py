"""Shows and removes what a store has learned about models from their answers and refusals."""

from __future__ import annotations

from typing import Any

from brim.meter.calibration import MILLION, Calibration
from brim.sessions.learning import model_meter, windows
from brim.store.base import Store

_KINDS = (windows.KIND, model_meter.KIND)
"""The kinds of documents; the two documents of a scope have the same id."""


def learned_models(store: Store) -> list[dict[str, Any]]:
    """Return what a store has learned, a row for each model, client and server; unknown values are `None`.

    `window` is the size that a refusal stated, `ceiling` the limit after a refusal without a size, `answer_counts`
    whether prompt and answer must fit together, and `at` when this was learned; it applies for an hour. `ratio` is the
    number of tokens for each estimated one, and `answers` the number of answers that it is based on.
    """
    rows = [_row(store, id_) for id_ in _ids(store)]
    return sorted(rows, key=lambda row: (row["model"], row["client"], row["server"]))


def forget_model(store: Store, model: str) -> bool:
    """Remove what a store has learned about a model, for all clients and servers; return whether there was anything."""
    found = [id_ for id_ in _ids(store) if id_.partition("#")[0] == model]
    for id_ in found:
        for kind in _KINDS:
            store.forget(kind, id_)
    return bool(found)


def _ids(store: Store) -> set[str]:
    return {id_ for kind in _KINDS for id_ in store.ids(kind)}


def _row(store: Store, id_: str) -> dict[str, Any]:
    window, counts = (saved.body if saved is not None else {} for saved in (store.load(kind, id_) for kind in _KINDS))
    known = Calibration.from_dict(counts) if counts else Calibration()
    return {
        "model": id_.partition("#")[0],
        "client": "",
        "server": "",
        **(window or counts).get("scope", {}),
        "window": window.get("size"),
        **{name: window.get(name) for name in ("ceiling", "answer_counts", "at")},
        "ratio": known.rate / MILLION if counts else None,
        "answers": known.calls,
    }
