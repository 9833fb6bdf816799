"""The receipts of a run on disk, and the report on a run.

`RUN_BASE/<flow>/receipts/<step_id>-<agent>.json` is the receipt of a step, written atomically. Names are escaped, so no
id leads out of the directory. The directory contains the receipts of one run: those of an earlier run are removed
before the first step, and when a run is resumed, those of the steps that run again.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from glob import escape, glob
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from brim.errors import InvalidType, InvalidValue, SourceError
from brim.files.source import text_of
from brim.files.text_digest import text_digest
from brim.files.writer import put

_LONGEST = 80
"""Maximum characters of an escaped name: a file name of two such names is valid everywhere."""
_MOST_BYTES = 64 * 1024 * 1024
_NEAR = Fraction(85, 100)
"""The share of the budget above which prompts were observed to fail."""


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
            expected = f"different from step {other[0]!r} of {other[1]!r}: both receipts would have the same file name"
            raise InvalidValue("step", f"{step[0]} of {step[1]}", expected)
    return {step: path for path, (step, _) in taken.items()}


def write_step_receipt(path: str, values: Mapping[str, Any]) -> None:
    """Write a receipt.

    Raises:
        SourceError: the file cannot be written.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        put(path, json.dumps(values, indent=2, ensure_ascii=True).encode() + b"\n")
    except OSError as error:
        raise SourceError(path, f"it cannot be written: {(error.strerror or str(error)).lower()}") from error


def remove_receipts(paths: Iterable[str]) -> None:
    """Remove the receipts of an earlier run.

    Raises:
        SourceError: a file cannot be removed.
    """
    for path in paths:
        try:
            with suppress(FileNotFoundError):
                os.unlink(path)
        except OSError as error:
            raise SourceError(path, f"it cannot be removed: {(error.strerror or str(error)).lower()}") from error


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
        raise SourceError(path, "not the receipt of a step: step_id is missing")
    return values


def read_receipts(base: str, *places: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the receipts below a directory, each with the name of its flow.

    Args:
        base: the directory.
        places: the directories with receipts in it, as parts of a glob pattern.

    Raises:
        SourceError: there is no receipt, or one cannot be read.
    """
    paths = [path for place in places for path in sorted(glob(os.path.join(escape(base), *place, "*.json")))]
    if not paths:
        folders = glob(os.path.join(escape(base), "*", "receipts"))
        flows = sorted(os.path.basename(os.path.dirname(path)) for path in folders)
        known = f" for that flow, only for {', '.join(flows)}" if flows else ": receipts are in RUN_BASE/FLOW/receipts"
        raise SourceError(base, f"it has no receipts{known}")
    for path in paths:
        folder, kind = os.path.split(os.path.dirname(os.path.abspath(path)))
        yield os.path.basename(folder) if kind == "receipts" else "", read_step_receipt(path)


def safe(name: str) -> str:
    """Return a name for use in a file name; all characters except letters, digits, `_`, `-` and inner dots are escaped.

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
class RunReport:
    """The numbers of a run."""

    prompts: int
    """Prompts that were assembled."""
    near: int
    """Prompts that came near their budget."""
    over: int
    """Prompts that exceeded their budget; always 0 for prompts built by brim."""
    largest: float
    """The largest share of a budget that was used."""
    truncated: int
    """Prompts with truncated or dropped sections."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How often each section was dropped, in descending order."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """How often each section was truncated, in descending order."""
    refused: int = 0
    """Calls with an HTTP 400 response."""
    failed: int = 0
    """Steps that failed."""
    runs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each flow whose receipts are in the log, the steps that were `planned` and those that are `done`."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{self.prompts:,} prompts, {self.near:,} near their budget, {self.truncated:,} truncated;"
            f" the fullest used {100 * self.largest:.0f} %",
            f"{self.refused:,} calls refused with HTTP 400, {self.failed:,} steps failed",
        ]
        for flow, run in self.runs.items():
            complete = run["done"] == run["planned"]
            state, advice = ("complete", "") if complete else ("incomplete", "; continue with brim flow run --resume")
            lines.append(f"flow {flow}: {state}, {run['done']:,} of {run['planned']:,} steps{advice}")
        lines += [f"dropped {count:,} times: {name}" for name, count in self.dropped.items()]
        lines += [f"truncated {count:,} times: {name}" for name, count in self.cut.items()]
        return "\n".join(lines)


def report(log: Iterable[Mapping[str, Any]]) -> RunReport:
    """Return the report on a log of `prompt_assembled` events and receipts, in any order; other entries are ignored.

    Raises:
        InvalidValue: an item is not a mapping.
    """
    shares: list[Fraction] = []
    dropped: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    truncated = refused = failed = 0
    runs: dict[str, dict[str, int]] = {}
    for i, item in enumerate(log):
        if not isinstance(item, Mapping):
            raise InvalidType(f"log[{i}]", item, "an event or a receipt")
        if "planned" in item:
            run = runs.setdefault(item["flow"], {"done": 0, "planned": item["planned"]})
            run["done"] += item["status"] == "ok"
        refused += HTTPStatus.BAD_REQUEST in (item.get("http_status"), item.get("status"))
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
        near=sum(share >= _NEAR for share in shares),
        over=sum(share > 1 for share in shares),
        largest=round(float(max(shares, default=Fraction(0))), 4),
        truncated=truncated,
        dropped=_ranked(dropped),
        cut=_ranked(cut),
        refused=refused,
        failed=failed,
        runs=runs,
    )


def _named(sections: Iterable[str]) -> list[str]:
    """Return the names of sections; turns of a history become `messages`, since they are named by position."""
    return list(dict.fromkeys("messages" if name.startswith("messages[") else name for name in sections))


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
