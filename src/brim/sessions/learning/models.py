"""What the catalogue says about a model: its window, and whether answers count in it."""

from __future__ import annotations

import re
from functools import lru_cache

from brim.errors import BrimError
from brim.meter.catalogue import Model, find

MOST_NAMES = 1_024
"""Limit on cached lookups of model names, since a client can send any name."""
_SUMMED = re.compile(r"claude-(?:[123]|instant|(?:opus|sonnet)-4(?:-[01])?$)")
"""Anthropic models that reject a prompt if the prompt and the longest answer together exceed the window; later models
do not.
"""


@lru_cache(maxsize=MOST_NAMES)
def known(name: str) -> Model | None:
    """Return the model of a name; `None` if the catalogue does not list it."""
    try:
        return find(name)
    except BrimError:
        return None


def counts_answer(name: str) -> bool | None:
    """Return whether prompt and answer together must fit the window of a model; `None` if unknown."""
    row = known(name)
    if row is None:
        return None
    if row.provider == "anthropic":
        return _SUMMED.match(row.id) is not None
    return False if row.shared is False else None
