"""The models that clients name, looked up in the catalogue once for each name."""

from __future__ import annotations

from functools import lru_cache

from brim.errors import BrimError
from brim.meter.catalogue import find
from brim.meter.model import Model

_MOST = 1_024
"""Names that are remembered: a client can send any."""


@lru_cache(maxsize=_MOST)
def known(name: str) -> Model | None:
    """Return the model of a name; `None` if the catalogue does not list it."""
    try:
        return find(name)
    except BrimError:
        return None
