"""Receipts of flows in a directory; links are not followed, and other files are skipped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

_MOST_FILES = 20_000
_MOST_BYTES = 16 * 1024 * 1024


def receipts_in(base: str) -> list[tuple[str, dict[str, Any]]]:
    """Return each `base/flow/receipts/name.json` that is the receipt of a step, with its flow, the newest first."""
    files = sorted(islice(_files(base), _MOST_FILES), reverse=True)
    return [(flow, values) for _, flow, path in files if (values := _content(path)) is not None]


def _files(base: str) -> Iterator[tuple[float, str, str]]:
    """Yield the time, the flow and the path of each file."""
    for flow in _entries(base):
        folder = os.path.join(flow.path, "receipts")
        if flow.is_dir(follow_symlinks=False) and not os.path.islink(folder):
            for file in _entries(folder):
                if file.name.endswith(".json") and file.name[0] != "." and file.is_file(follow_symlinks=False):
                    yield file.stat(follow_symlinks=False).st_mtime, flow.name, file.path


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a directory; none if it does not exist or cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _content(path: str) -> dict[str, Any] | None:
    """Return the content of a receipt; `None` if the file is not a receipt, or too long."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        values = json.loads(raw) if len(raw) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) and "step_id" in values else None
