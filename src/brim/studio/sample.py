"""The prompt of `brim demo` as something that the budget lab can open: twelve sections that an agent carries."""

from __future__ import annotations

import os

import brim
from brim.config.spec import read_spec
from brim.receipt import Receipt

_SPEC = ("cli", "demo_prompt", "spec.yaml")


def receipt() -> Receipt:
    """Return the receipt of the prompt, with its texts."""
    folder = os.path.dirname(os.path.abspath(brim.__file__))
    return read_spec(os.path.join(folder, *_SPEC)).fit(capture=True).receipt
