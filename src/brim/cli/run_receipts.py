"""The receipts of a flow's run on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import escape, glob
from typing import Any

from brim.errors import SourceError


def read_receipts(base: str, *places: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the receipts below a directory, each with the name of its flow.

    Args:
        base: the directory.
        places: the directories in it that have receipts, as parts of a pattern.

    Raises:
        SourceError: there is no receipt, or one cannot be read.
    """
    from brim.flows.receipts import read_step_receipt

    paths = [path for place in places for path in sorted(glob(os.path.join(escape(base), *place, "*.json")))]
    if not paths:
        folders = glob(os.path.join(escape(base), "*", "receipts"))
        flows = sorted(os.path.basename(os.path.dirname(path)) for path in folders)
        known = (
            f" of that flow: it has those of {', '.join(flows)}" if flows else ": they are in RUN_BASE/FLOW/receipts"
        )
        raise SourceError(base, f"it has no receipts{known}")
    for path in paths:
        folder, kind = os.path.split(os.path.dirname(os.path.abspath(path)))
        yield os.path.basename(folder) if kind == "receipts" else "", read_step_receipt(path)
