"""Receipts of flows in a directory, read by id: no path comes from outside, and no link is followed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from stat import S_ISREG
from typing import Any, NamedTuple

MOST_FILES = 20_000
_MOST_BYTES = 16 * 1024 * 1024
_ENDING = ".json"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Filed(NamedTuple):
    """One receipt of a step, as it was found."""

    id: str
    flow: str
    at: float
    """When it was written, in seconds since 1970."""
    values: dict[str, Any]


class Folder:
    """The receipts of all runs below one directory; what has not changed is read once."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._read: dict[tuple[str, str], tuple[tuple[int, int], Filed | None]] = {}

    def receipts(self) -> list[Filed]:
        """Return all receipts, the newest first; what is no receipt is passed over."""
        found: dict[tuple[str, str], tuple[tuple[int, int], Filed | None]] = {}
        for flow, name, directory in self._files():
            if len(found) >= MOST_FILES:
                break
            made = self._one(flow, name, directory)
            if made is not None:
                found[flow, name] = made
        self._read = found
        known = [filed for _, filed in found.values() if filed is not None]
        return sorted(known, key=lambda filed: (-filed.at, filed.id))

    def _one(self, flow: str, name: str, directory: int) -> tuple[tuple[int, int], Filed | None] | None:
        try:
            descriptor = os.open(name, _FILE, dir_fd=directory)
        except OSError:
            return None  # A link, or gone since it was listed.
        try:
            state = os.fstat(descriptor)
            if not S_ISREG(state.st_mode) or state.st_size > _MOST_BYTES:
                return None
            mark = (state.st_mtime_ns, state.st_size)
            had = self._read.get((flow, name))
            if had is not None and had[0] == mark:
                return had
            with open(descriptor, "rb", closefd=False) as file:
                values = _parsed(file.read(_MOST_BYTES))
        finally:
            os.close(descriptor)
        filed = None if values is None else Filed(f"step:{flow}/{name}", flow, state.st_mtime, values)
        return mark, filed

    def _files(self) -> Iterator[tuple[str, str, int]]:
        """Yield the flow, the file name and the open directory of each file that may be a receipt."""
        with _opened(self._base, None, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as base:
            if base is None:
                return
            for flow in sorted(os.listdir(base)):
                with _opened(flow, base, _DIRECTORY) as inside:
                    if inside is None:
                        continue
                    with _opened("receipts", inside, _DIRECTORY) as directory:
                        if directory is None:
                            continue
                        names = [name for name in sorted(os.listdir(directory)) if name.endswith(_ENDING)]
                        yield from ((flow, name, directory) for name in names if not name.startswith("."))


@contextmanager
def _opened(name: str, directory: int | None, how: int) -> Iterator[int | None]:
    """Open a directory inside another; nothing where there is none, or a link in its place."""
    try:
        descriptor = os.open(name, how, dir_fd=directory)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _parsed(raw: bytes) -> dict[str, Any] | None:
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) and "step_id" in values else None
