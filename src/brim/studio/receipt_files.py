"""Receipts of flows in a directory, read by id: requests cannot contain paths, and links are not followed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

_MOST_FILES = 20_000
_MOST_BYTES = 16 * 1024 * 1024


class ReceiptFile(NamedTuple):
    """The receipt of one step."""

    id: str
    flow: str
    at: float
    """When it was written, in seconds since 1970."""
    values: dict[str, Any]
    """Its content without the output of the step."""


class ReceiptFiles:
    """The receipts of all runs in one directory; a file is read again only if it changed."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._read: dict[str, tuple[tuple[int, int], ReceiptFile | None]] = {}
        """The modification time, the size and the receipt of each file, by its path."""

    def receipts(self) -> list[ReceiptFile]:
        """Return all receipts, the newest first; other files are skipped."""
        found: dict[str, tuple[tuple[int, int], ReceiptFile | None]] = {}
        for flow, file in islice(_files(self._base), _MOST_FILES):
            try:
                state = file.stat(follow_symlinks=False)
            except OSError:  # Removed since it was listed.
                continue
            mark, known = (state.st_mtime_ns, state.st_size), self._read.get(file.path)
            if known is None or known[0] != mark:
                known = mark, _receipt(flow, file, state.st_mtime)
            found[file.path] = known
        self._read = found
        receipts = [receipt for _, receipt in found.values() if receipt is not None]
        return sorted(receipts, key=lambda receipt: (-receipt.at, receipt.id))

    def read(self, receipt: str) -> dict[str, Any] | None:
        """Return the whole content of a receipt, or `None` if no receipt has this id."""
        return next((_content(file.path) for flow, file in _files(self._base) if _id(flow, file) == receipt), None)


def _files(base: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the flow and the file of each `base/flow/receipts/name.json`."""
    for flow in _entries(base):
        folder = os.path.join(flow.path, "receipts")
        if flow.is_dir(follow_symlinks=False) and not os.path.islink(folder):
            for file in _entries(folder):
                if file.name.endswith(".json") and file.name[0] != "." and file.is_file(follow_symlinks=False):
                    yield flow.name, file


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a directory by name; none if it does not exist or cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _id(flow: str, file: os.DirEntry[str]) -> str:
    return f"step:{flow}/{file.name}"


def _receipt(flow: str, file: os.DirEntry[str], at: float) -> ReceiptFile | None:
    values = _content(file.path)
    if values is None:
        return None
    values.pop("output", None)
    return ReceiptFile(_id(flow, file), flow, at, values)


def _content(path: str) -> dict[str, Any] | None:
    """Return the content of a receipt; `None` if the file is not a receipt, or too long."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        values = json.loads(raw) if len(raw) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) and "step_id" in values else None
