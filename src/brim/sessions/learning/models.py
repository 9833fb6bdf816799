"""The models that clients name, looked up in the catalogue once for each name."""

from __future__ import annotations

import re
from functools import lru_cache

from brim.errors import BrimError
from brim.meter.catalogue import Model, find

_MOST = 1_024
"""Names that are remembered: a client can send any."""
_SUMMED = re.compile(r"claude-(?:[123]|instant|(?:opus|sonnet)-4(?:-[01])?$)")
"""Models of Anthropic that refuse a prompt if the window does not hold it and the longest answer; later ones do not."""


@lru_cache(maxsize=_MOST)
def known(name: str) -> Model | None:
    """Return the model of a name; `None` if the catalogue does not list it."""
    try:
        return find(name)
    except BrimError:
        return None


@lru_cache(maxsize=_MOST)
def counts_answer(name: str) -> bool | None:
    """Return whether prompt and answer together have to fit the window of a model; `None` if that is unknown."""
    row = known(name)
    if row is None:
        return None
    if row.provider == "anthropic":
        return _SUMMED.match(row.id) is not None
    return False if row.shared is False else None
