"""What a store knows of models from their answers and refusals, for people: shown, and forgotten by name."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from brim.meter.calibration import MILLION, Calibration
from brim.sessions.learning import model_meter, windows
from brim.store.base import Store

KINDS = (windows.KIND, model_meter.KIND)
"""The documents in which it is kept; the two of one scope have the same id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnedModel:
    """What was learned about a model, for the clients with one key at one server; `None` is not known."""

    model: str
    client: str = ""
    """The name of the client's key and its route, and a tag of any other key; empty in a program of one owner."""
    server: str = ""
    window: int | None = None
    """Tokens of the window that a refusal stated."""
    ceiling: int | None = None
    """Tokens that a prompt may take since a refusal without numbers."""
    answer_counts: bool | None = None
    """Whether prompt and answer together have to fit the window."""
    refused: float | None = None
    """When the last of these was learned, in seconds since 1970; it counts for an hour."""
    ratio: float | None = None
    """Tokens that are counted for each estimated one, so that the count is an upper bound."""
    answers: int = 0
    """Answers that taught the ratio."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def learned_models(store: Store) -> list[LearnedModel]:
    """Return what a store knows, by model, client and server."""
    found = [_read(store, id_) for id_ in sorted({id_ for kind in KINDS for id_ in store.ids(kind)})]
    return sorted(found, key=lambda each: (each.model, each.client, each.server))


def forget_model(store: Store, model: str) -> int:
    """Forget what a store knows of a model, for all clients and servers; return for how many it knew something.

    A gateway that runs on the store notices within a minute.
    """
    ids = {id_ for kind in KINDS for id_ in store.ids(kind) if id_.partition("#")[0] == model}
    for id_ in ids:
        for kind in KINDS:
            store.forget(kind, id_)
    return len(ids)


def _read(store: Store, id_: str) -> LearnedModel:
    window, calibration = (None if saved is None else saved.body for saved in (store.load(kind, id_) for kind in KINDS))
    about: dict[str, Any] = next((body["scope"] for body in (window, calibration) if body and "scope" in body), {})
    values: dict[str, Any] = {}
    if window is not None:
        values |= {"window": window["size"], "ceiling": window["ceiling"], "refused": window["at"]}
        values |= {"answer_counts": window["answer_counts"]}
    if calibration is not None:
        known = Calibration.from_dict(calibration)
        values |= {"ratio": known.rate / MILLION, "answers": known.calls}
    return LearnedModel(model=id_.partition("#")[0], **about, **values)
