"""Receipts of flows in a directory, read by id: no path comes from a request, and no link is followed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from stat import S_ISREG
from typing import Any, NamedTuple

MOST_FILES = 20_000
_MOST_BYTES = 16 * 1024 * 1024
_ENDING = ".json"
_LONG = 400
"""Characters of the longest text that stays in memory; a receipt that is opened is read whole."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Mark = tuple[int, int]
"""The modification time of a file in nanoseconds, and its size."""


class ReceiptFile(NamedTuple):
    """The receipt of one step."""

    id: str
    flow: str
    name: str
    at: float
    """When it was written, in seconds since 1970."""
    values: dict[str, Any]
    """Its content without long texts."""


class ReceiptFiles:
    """The receipts of all runs in one directory; a file is read again only if it changed."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._read: dict[tuple[str, str], tuple[Mark, ReceiptFile | None]] = {}

    def receipts(self) -> list[ReceiptFile]:
        """Return all receipts, the newest first; other files are skipped."""
        found: dict[tuple[str, str], tuple[Mark, ReceiptFile | None]] = {}
        for flow, name, mark, directory in _files(self._base):
            if len(found) >= MOST_FILES:
                break
            known = self._read.get((flow, name))
            if known is None or known[0] != mark:
                known = _receipt(flow, name, directory)
            if known is not None:
                found[flow, name] = known
        self._read = found
        receipts = [receipt for _, receipt in found.values() if receipt is not None]
        return sorted(receipts, key=lambda receipt: (-receipt.at, receipt.id))

    def read(self, receipt: str) -> dict[str, Any] | None:
        """Return the whole content of a receipt, or `None` if no listed receipt has this id."""
        known = next((each for _, each in self._read.values() if each is not None and each.id == receipt), None)
        if known is not None:
            for flow, name, _, directory in _files(self._base, known.flow):
                if (flow, name) == (known.flow, known.name):
                    content = _content(name, directory)
                    return None if content is None else _parsed(content[1])
        return None


def _files(base: str, flow: str | None = None) -> Iterator[tuple[str, str, Mark, int]]:
    """Yield the flow, name, mark and open directory of each `base/flow/receipts/name.json`, or of one flow's."""
    root = os.path.realpath(base)
    with suppress(OSError):  # The directory does not exist or cannot be read.
        for path, directories, names, descriptor in os.fwalk(root):
            parts = os.path.relpath(path, root).split(os.sep)
            if parts == ["."]:
                directories[:] = sorted(directories) if flow is None else [each for each in directories if each == flow]
            elif len(parts) == 1:
                directories[:] = [each for each in directories if each == "receipts"]
            else:
                directories.clear()
                for name in sorted(names):
                    if (mark := _mark(name, descriptor)) is not None:
                        yield parts[0], name, mark, descriptor


def _mark(name: str, directory: int) -> Mark | None:
    """Return the mark of a regular file whose name is that of a receipt."""
    if not name.endswith(_ENDING) or name.startswith("."):
        return None
    try:
        state = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None  # Removed since it was listed.
    return (state.st_mtime_ns, state.st_size) if S_ISREG(state.st_mode) else None


def _receipt(flow: str, name: str, directory: int) -> tuple[Mark, ReceiptFile | None] | None:
    content = _content(name, directory)
    if content is None:
        return None
    mark, values = content[0], _parsed(content[1])
    if values is None:
        return mark, None
    short = {key: each for key, each in values.items() if not isinstance(each, str) or len(each) <= _LONG}
    return mark, ReceiptFile(f"step:{flow}/{name}", flow, name, mark[0] / 1e9, short)


def _content(name: str, directory: int) -> tuple[Mark, bytes] | None:
    """Return the mark and the bytes of a file; `None` for a link, a special file, or a file that is too long."""
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=directory)
    except OSError:
        return None  # A link, or removed since it was listed.
    with open(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not S_ISREG(state.st_mode) or state.st_size > _MOST_BYTES:
            return None
        return (state.st_mtime_ns, state.st_size), file.read(_MOST_BYTES)


def _parsed(raw: bytes) -> dict[str, Any] | None:
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) and "step_id" in values else None
