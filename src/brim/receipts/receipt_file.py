"""Receipts in files."""

from __future__ import annotations

from brim.errors import InvalidValue, SourceError
from brim.files.source import text_of
from brim.receipts.receipt import Receipt

_MOST_BYTES = 500_000_000


def read_receipt(path: str) -> Receipt:
    """Return the receipt in a file.

    Raises:
        SourceError: the file cannot be read, or is not a receipt.
    """
    text = text_of(path, _MOST_BYTES)
    try:
        return Receipt.from_json(text)
    except InvalidValue as error:
        raise SourceError(path, f"not a receipt: {error}") from error
