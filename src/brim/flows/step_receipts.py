"""The receipts of a run on disk: `RUN_BASE/<flow>/receipts/<step_id>-<agent>.json`, one for each step.

Names are escaped, so no id leads out of the directory. Files are written atomically.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from brim.errors import InvalidValue, SourceError
from brim.files.source import text_of
from brim.files.text_digest import text_digest
from brim.files.writer import put

_LONGEST = 80
"""The most characters of a name; two of them, a dash and the ending are a valid file name everywhere."""
_MOST_BYTES = 64 * 1024 * 1024


def receipt_paths(base: str, flow: str, steps: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the file of each step's receipt by the id of the step.

    Args:
        base: the directory of the run.
        flow: the name of the flow.
        steps: the id and the agent of each step.

    Raises:
        InvalidValue: two steps have the same file.
    """
    taken: dict[str, tuple[str, str]] = {}
    for step in steps:
        path = os.path.join(base, safe(flow), "receipts", f"{safe(step[0])}-{safe(step[1] or 'agent')}.json")
        other = taken.setdefault(path, step)
        if other != step:
            expected = f"unlike the step {other[0]!r} of {other[1]!r}, whose receipt has the same name"
            raise InvalidValue("step", f"{step[0]} of {step[1]}", expected)
    return {step: path for path, (step, _) in taken.items()}


def write_step_receipt(path: str, values: Mapping[str, Any]) -> None:
    """Write a receipt, replacing that of an earlier run.

    Raises:
        SourceError: the file cannot be written.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        put(path, json.dumps(values, indent=2, ensure_ascii=True).encode() + b"\n")
    except OSError as error:
        raise SourceError(path, f"it cannot be written: {(error.strerror or str(error)).lower()}") from error


def read_step_receipt(path: str) -> dict[str, Any]:
    """Return the receipt of a step.

    Raises:
        SourceError: the file cannot be read, or is not a receipt.
    """
    try:
        values = json.loads(text_of(path, _MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise SourceError(path, f"not a receipt: {error}") from error
    if not isinstance(values, dict) or "step_id" not in values:
        raise SourceError(path, "not a receipt of a step: it has no step_id")
    return values


def safe(name: str) -> str:
    """Return a name as part of a file name; all but letters, digits, `_`, `-` and inner dots are escaped.

    Raises:
        InvalidValue: the name is empty.
    """
    if not name:
        raise InvalidValue("name", name, "a non-empty string")
    escaped = quote(name, safe="", errors="surrogatepass").replace("~", "%7E")
    if escaped.startswith("."):
        escaped = "%2E" + escaped[1:]
    if len(escaped) <= _LONGEST:
        return escaped
    return f"{escaped[: _LONGEST - 17].rstrip('%')}-{text_digest(name, 8)}"
