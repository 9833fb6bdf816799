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
_LONG = 400
"""Characters of a text that is kept in memory; a receipt that is opened is read whole."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Mark = tuple[int, int]
"""When a file was last written, in nanoseconds, and how long it is."""


class Filed(NamedTuple):
    """One receipt of a step, as it was found."""

    id: str
    flow: str
    name: str
    at: float
    """When it was written, in seconds since 1970."""
    values: dict[str, Any]
    """What it says, long texts left out."""


class Folder:
    """The receipts of all runs below one directory; what has not changed is read once."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._read: dict[tuple[str, str], tuple[Mark, Filed | None]] = {}
        self._sorted: list[Filed] = []

    def receipts(self) -> list[Filed]:
        """Return all receipts, the newest first; what is no receipt is passed over."""
        found: dict[tuple[str, str], tuple[Mark, Filed | None]] = {}
        same = True
        for flow, name, mark, directory in self._files():
            if len(found) >= MOST_FILES:
                break
            had = self._read.get((flow, name))
            if had is None or had[0] != mark:
                same = False
                had = self._one(flow, name, directory)
            if had is not None:
                found[flow, name] = had
        if not same or len(found) != len(self._read):
            self._read = found
            known = [filed for _, filed in found.values() if filed is not None]
            self._sorted = sorted(known, key=lambda filed: (-filed.at, filed.id))
        return self._sorted

    def read(self, receipt: str) -> dict[str, Any] | None:
        """Return what a receipt says, whole; nothing where there is none of this id."""
        found = next((filed for _, filed in self._read.values() if filed is not None and filed.id == receipt), None)
        if found is None:
            return None
        with (
            _opened(self._base, None, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as base,
            _inside(base, found.flow) as directory,
        ):
            made = None if directory is None else _content(found.name, directory)
        return None if made is None else _parsed(made[1])

    def _one(self, flow: str, name: str, directory: int) -> tuple[Mark, Filed | None] | None:
        made = _content(name, directory)
        if made is None:
            return None
        values = _parsed(made[1])
        if values is None:
            return made[0], None
        short = {key: each for key, each in values.items() if not isinstance(each, str) or len(each) <= _LONG}
        return made[0], Filed(f"step:{flow}/{name}", flow, name, made[0][0] / 1e9, short)

    def _files(self) -> Iterator[tuple[str, str, Mark, int]]:
        """Yield the flow, the name, the mark and the open directory of each file that may be a receipt."""
        with _opened(self._base, None, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as base:
            if base is None:
                return
            for flow in sorted(os.listdir(base)):
                with _inside(base, flow) as directory:
                    if directory is None:
                        continue
                    for name, mark in sorted(_listed(directory)):
                        yield flow, name, mark, directory


def _listed(directory: int) -> Iterator[tuple[str, Mark]]:
    """Yield the names and marks of the plain files of a directory that may be receipts."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if not entry.name.endswith(_ENDING) or entry.name.startswith("."):
                continue
            try:
                state = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # Gone since it was listed.
            if S_ISREG(state.st_mode):
                yield entry.name, (state.st_mtime_ns, state.st_size)


def _content(name: str, directory: int) -> tuple[Mark, bytes] | None:
    """Return a file and its mark; nothing for a link, for what is no plain file, and for one that is too long."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=directory)
    except OSError:
        return None  # A link, or gone since it was listed.
    try:
        state = os.fstat(descriptor)
        if not S_ISREG(state.st_mode) or state.st_size > _MOST_BYTES:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return (state.st_mtime_ns, state.st_size), file.read(_MOST_BYTES)
    finally:
        os.close(descriptor)


@contextmanager
def _inside(base: int | None, flow: str) -> Iterator[int | None]:
    """Open the directory of a flow's receipts; nothing where there is none."""
    if base is None:
        yield None
        return
    with _opened(flow, base, _DIRECTORY) as inside:
        if inside is None:
            yield None
            return
        with _opened("receipts", inside, _DIRECTORY) as directory:
            yield directory


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
