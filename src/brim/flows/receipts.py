"""The receipts of a run on disk, how far a run came, and the report on a run.

`RUN_BASE/<flow>/receipts/<step_id>-<agent>.json` is the receipt of a step. Names are escaped, so no id leads out of the
directory. Files are written atomically. `RUN_BASE/<flow>/run.state` has the number of the last run and its steps; a
receipt has the number of its run, so that one of an earlier run is never taken for this one's, and a killed run can
continue after its last receipt. The report says how near the prompts came to the budget, what they dropped, and
which calls were refused.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from glob import escape, glob
from typing import Any
from urllib.parse import quote

from brim.amounts import fraction
from brim.errors import InvalidType, InvalidValue, SourceError
from brim.files.source import text_of
from brim.files.text_digest import text_digest
from brim.files.writer import put

_LONGEST = 80
"""The most characters of a name; two of them, a dash and the ending are a valid file name everywhere."""
_MOST_BYTES = 64 * 1024 * 1024
_MOST_STATE = 4 * 1024 * 1024
"""Bytes of the state of a run."""
_NEAR = 0.85
"""The share of the budget above which prompts were seen to fail."""
_REFUSED = 400
"""The HTTP status of a prompt that is too long."""


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


def read_receipts(base: str, *places: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the receipts below a directory, each with the name of its flow.

    Args:
        base: the directory.
        places: the directories in it that have receipts, as parts of a pattern.

    Raises:
        SourceError: there is no receipt, or one cannot be read.
    """
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


@dataclass(frozen=True, kw_only=True, slots=True)
class RunProgress:
    """How far the last run of a flow came."""

    flow: str
    done: int
    """Steps that succeeded."""
    planned: int
    next_step: str | None = None
    """The first step that did not succeed; `None` if the run is complete."""
    resumed_at: tuple[str, ...] = ()
    """The steps at which it continued after an end."""

    def __str__(self) -> str:
        again = f", resumed at step {' and '.join(self.resumed_at)}" if self.resumed_at else ""
        if self.next_step is None:
            return f"flow {self.flow}: complete, {self.done:,} of {self.planned:,} steps{again}"
        return (
            f"flow {self.flow}: incomplete, {self.done:,} of {self.planned:,} steps{again};"
            f" step {self.next_step} is next: brim flow run --resume"
        )


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
        write_step_receipt(run_file(base, self.flow), asdict(self))


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
        values: dict[str, Any] = json.loads(text_of(path, _MOST_STATE))
        steps = tuple((str(name), str(agent)) for name, agent in values["steps"])
        resumed = tuple(map(str, values["resumed_at"]))
        return RunState(flow=str(values["flow"]), run=int(values["run"]), steps=steps, resumed_at=resumed)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError(path, f"not the state of a run: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """The numbers of a run."""

    prompts: int
    """Prompts that were assembled."""
    near: int
    """Prompts that used at least the share of their budget that counts as near."""
    over: int
    """Prompts that used more than their budget: none, if brim built them."""
    largest: float
    """The largest share of a budget that was used."""
    truncated: int
    """Prompts with truncated or dropped sections."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How often each section was dropped, the most often first."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """How often each section was truncated, the most often first."""
    refused: int = 0
    """Calls with an HTTP 400 response."""
    failed: int = 0
    """Steps that failed."""
    runs: Mapping[str, RunProgress] = field(default_factory=dict)
    """How far the last run of each flow came, where that is known."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{self.prompts:,} prompts, {self.near:,} near their budget, {self.truncated:,} truncated;"
            f" the fullest used {100 * self.largest:.0f} %",
            f"{self.refused:,} calls refused with HTTP 400, {self.failed:,} steps failed",
        ]
        lines += [str(run) for run in self.runs.values()]
        lines += [f"dropped {count:,} times: {name}" for name, count in self.dropped.items()]
        lines += [f"truncated {count:,} times: {name}" for name, count in self.cut.items()]
        return "\n".join(lines)


def report(log: Iterable[Mapping[str, Any]], *, near: float | str = _NEAR) -> RunReport:
    """Return the report on a log.

    Args:
        log: `prompt_assembled` events and receipts, in any order; other entries are ignored.
        near: the share of a budget from which a prompt counts as near it.

    Raises:
        InvalidValue: an item is not a mapping, or `near` is not a share.
    """
    line = fraction("near", near)
    shares: list[Fraction] = []
    dropped: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    truncated = refused = failed = 0
    for i, item in enumerate(log):
        if not isinstance(item, Mapping):
            raise InvalidType(f"log[{i}]", item, "an event or a receipt")
        refused += _REFUSED in (item.get("http_status"), item.get("status"))
        failed += item.get("status") == "failed"
        if item.get("event") == "prompt_assembled":
            used, budget = item["used_tokens"], item["budget_tokens"]
            lost, shortened = (_named(item.get(f"sections_{state}", ())) for state in ("dropped", "truncated"))
        elif "context_truncation" in item and "used_chars" in item:
            rows, cut_to = item.get("sections", ()), item["context_truncation"]
            used, budget = cut_to.get("chars_used", item["used_chars"]), item["budget_chars"]
            lost, shortened = ([row["name"] for row in rows if row["state"] == state] for state in ("dropped", "cut"))
        else:
            continue
        shares.append(Fraction(used, budget) if budget else Fraction(0))
        dropped.update(lost)
        cut.update(shortened)
        truncated += bool(lost or shortened)
    return RunReport(
        prompts=len(shares),
        near=sum(share >= line for share in shares),
        over=sum(share > 1 for share in shares),
        largest=round(float(max(shares, default=Fraction(0))), 4),
        truncated=truncated,
        dropped=_ranked(dropped),
        cut=_ranked(cut),
        refused=refused,
        failed=failed,
    )


def _named(sections: Iterable[str]) -> list[str]:
    """Return the names of sections; the turns of a history, whose names are positions, are `messages`."""
    return list(dict.fromkeys("messages" if name.startswith("messages[") else name for name in sections))


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
