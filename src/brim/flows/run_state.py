"""Which run of a flow the receipts below a directory belong to, and where it was resumed.

`RUN_BASE/<flow>/run.state` has the number of the last run and its steps. A receipt has the number of its run, so that
one of an earlier run is never taken for this one's, and a run that was killed can continue after its last receipt.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import Any

from brim.errors import SourceError
from brim.files.source import text_of
from brim.files.writer import put
from brim.flows.receipts import RunProgress, read_step_receipt, receipt_paths, safe

_MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """The last run of a flow."""

    flow: str
    run: int
    """Its number, counted from 1."""
    steps: tuple[tuple[str, str], ...]
    """The id and the agent of each step of the flow."""
    resumed_at: tuple[str, ...] = ()
    """The steps at which it continued after an end."""

    @classmethod
    def begin(cls, base: str, flow: str, steps: tuple[tuple[str, str], ...], *, resume: bool) -> RunState:
        """Return the state of a run that begins, or of the last one if it is resumed.

        Raises:
            SourceError: the file cannot be read or written.
        """
        last = read_run_state(base, flow)
        if resume and last is not None:
            return replace(last, steps=steps)
        made = cls(flow=flow, run=1 if last is None else last.run + 1, steps=steps)
        made.write(base)
        return made

    def resumed(self, base: str, step: str) -> RunState:
        """Return the state of a run that continues at a step, and write it."""
        made = replace(self, resumed_at=(*self.resumed_at, step))
        made.write(base)
        return made

    def progress(self, base: str) -> RunProgress:
        """Return how far the run came, by its receipts.

        Raises:
            SourceError: a receipt cannot be read.
        """
        done = 0
        for path in receipt_paths(base, self.flow, self.steps).values():
            receipt = read_step_receipt(path) if os.path.exists(path) else {}
            if receipt.get("run") != self.run or receipt.get("status") != "ok":
                break
            done += 1
        left = self.steps[done][0] if done < len(self.steps) else None
        return RunProgress(
            flow=self.flow, done=done, planned=len(self.steps), next_step=left, resumed_at=self.resumed_at
        )

    def write(self, base: str) -> None:
        """Write it.

        Raises:
            SourceError: the file cannot be written.
        """
        path = run_file(base, self.flow)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            put(path, json.dumps(asdict(self), indent=2).encode() + b"\n")
        except OSError as error:
            raise SourceError(path, f"it cannot be written: {(error.strerror or str(error)).lower()}") from error


def run_file(base: str, flow: str) -> str:
    """Return the file of the state of a flow's last run."""
    return os.path.join(base, safe(flow), "run.state")


def read_run_state(base: str, flow: str) -> RunState | None:
    """Return the state of the last run of a flow; `None` if there is none.

    Raises:
        SourceError: the file cannot be read, or is not one of these.
    """
    path = run_file(base, flow)
    if not os.path.exists(path):
        return None
    try:
        values: dict[str, Any] = json.loads(text_of(path, _MOST_BYTES))
        steps = tuple((str(name), str(agent)) for name, agent in values["steps"])
        resumed = tuple(map(str, values["resumed_at"]))
        return RunState(flow=str(values["flow"]), run=int(values["run"]), steps=steps, resumed_at=resumed)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError(path, f"not the state of a run: {error}") from error
