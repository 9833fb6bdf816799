"""The curator's call to a cheap model: which files the next step needs, and a summary of the older steps.

The model may raise, take too long or return an invalid answer. Then the default selection is used, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import BrimError, DoesNotFit, ModelError
from brim.flows.codebase import Codebase, File
from brim.flows.stages import complete_within
from brim.flows.step_record import StepRecord, Task
from brim.llm import LanguageModel, Reply, Usage, cost
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.truncate import cut

SYSTEM = (
    "You prepare the context of the next step of a flow; you do none of its work. Choose the files that the step needs"
    " to see, the most important first, and say in a few sentences what it needs to know of the earlier steps. Answer"
    ' with one JSON object and nothing else: {"files": ["path", ...], "summary": "..."}. Use only paths from the list.'
)

_MOST_ASKED = 24_000
"""Characters of the question."""
_MOST_PATHS = 400
"""Paths to choose from."""
_MOST_SUMMARY = 1_500
"""Characters of its summary that are used."""
_MOST_CHOSEN = 40
_MOST_STEP = 400
"""Characters of each earlier step in the question."""
_MOST_REASON = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratorChoice:
    """The files and the summary of a pack, and who chose them."""

    files: Sequence[File] = ()
    summary: str = ""
    used: bool = False
    """Whether the choice is that of a model."""
    reason: str = ""
    seconds: float | None = None
    """The duration of the call; `None` if no model was called."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return who chose and the cost of it, as JSON values."""
        values: dict[str, Any] = {"used": self.used, "reason": self.reason}
        if self.seconds is not None:
            spent = {"input_tokens": self.usage.input, "output_tokens": self.usage.output}
            values |= {"seconds": self.seconds, "usage": spent, "cost_usd": self.cost_usd}
        return values


def curated(
    model: LanguageModel,
    task: Task,
    history: Sequence[StepRecord],
    codebase: Codebase,
    *,
    seconds: float,
    clock: Callable[[], float],
) -> CuratorChoice:
    """Return the choice of a model, or the files that match the task with the reason why it failed."""
    begun = clock()
    files = codebase.ranked(task.query)
    usage, summary, used, reason = Usage(), "", True, "the curator chose"
    try:
        question = [{"role": "user", "content": _question(task, history, codebase, files)}]
        reply = complete_within(model, seconds, question, SYSTEM)
        usage = reply.usage
        files, summary = _parsed(reply, codebase)
    except Exception as error:  # A step has its pack even if the curator fails.
        used, reason = False, f"the curator failed: {_why(error)}"
    return CuratorChoice(
        files=files,
        summary=summary,
        used=used,
        reason=reason,
        seconds=round(clock() - begun, 3),
        usage=usage,
        cost_usd=cost(getattr(model, "model", "") or "", usage),
    )


def _question(task: Task, history: Sequence[StepRecord], codebase: Codebase, ranked: Sequence[File]) -> str:
    """Return the fitted question."""
    first = [file.path for file in ranked]
    others = [file.path for file in codebase.files if file.path not in set(first)]
    steps = [f"{step.title}\n{cut(step.output, _MOST_STEP, 'chars', marker=' [...]').text}" for step in history]
    sections = [
        Section("step", task.teaching, required=True, floor=200, ceiling="40%"),
        Section("files", ["Files:", *[*first, *others][:_MOST_PATHS]], keep="best", priority="high", ceiling="40%"),
        Section("steps", steps, keep="newest", joiner="\n\n"),
    ]
    return fit(sections, _MOST_ASKED, meter="chars").text


def _parsed(reply: Reply, codebase: Codebase) -> tuple[list[File], str]:
    """Return the files and the summary of an answer: its first JSON object, in a fence or after a sentence.

    Raises:
        ModelError: the answer has neither, or names only files that do not exist.
    """
    if not isinstance(getattr(reply, "text", None), str):
        raise ModelError("its answer has no text")
    if not reply.complete:
        raise ModelError("its answer was cut off at the model's limit on answers")
    try:
        values = json.JSONDecoder().raw_decode(reply.text, max(reply.text.find("{"), 0))[0]
    except (ValueError, RecursionError):
        values = None
    paths, summary = (values.get("files", []), values.get("summary", "")) if isinstance(values, dict) else (None, None)
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths) or not isinstance(summary, str):
        raise ModelError("its answer is not a JSON object with files and a summary")
    known = {file.path: file for file in codebase.files}
    wanted = list(dict.fromkeys(path.strip().removeprefix("./") for path in paths))
    files = [known[path] for path in wanted if path in known]
    if wanted and not files:
        raise ModelError(f"none of the {len(wanted):,} files that it named exists")
    if not files and not summary.strip():
        raise ModelError("it chose no file and wrote no summary")
    return files[:_MOST_CHOSEN], cut(summary.strip(), _MOST_SUMMARY, "chars", marker=" [...]").text


def _why(error: BaseException) -> str:
    known = isinstance(error, BrimError) and not isinstance(error, DoesNotFit)
    reason = " ".join((str(error) if known else f"{type(error).__name__}: {error}").split())
    return cut(reason, _MOST_REASON, "chars", marker="…").text
