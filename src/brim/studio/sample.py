"""The prompt of `brim demo` as something that the budget lab can open: twelve sections that an agent carries."""

from __future__ import annotations

from importlib.resources import as_file, files

from brim.receipts.receipt import Receipt
from brim.settings.spec import read_spec


def receipt() -> Receipt:
    """Return the receipt of the prompt, with its texts."""
    with as_file(files("brim.cli").joinpath("demo_prompt")) as folder:
        return read_spec(str(folder / "spec.yaml")).fit(capture=True).receipt
