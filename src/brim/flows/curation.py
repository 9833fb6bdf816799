"""The curator's call to a cheap model: which files the next step needs, and a summary of the older steps.

The model may raise, take too long or return an invalid answer. Then the default selection is used, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import BrimError, DoesNotFit
from brim.flows.codebase import Codebase, File
from brim.flows.step_record import StepRecord, Task
from brim.flows.timed_call import complete_within
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
_NO_OBJECT = "its answer is not a JSON object with files and a summary"


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


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratorQuestion:
    """One call of the curator's model."""

    model: LanguageModel
    timeout: float
    clock: Callable[[], float]

    def choice(
        self, task: Task, history: Sequence[StepRecord], codebase: Codebase | None, ranked: Sequence[File]
    ) -> CuratorChoice:
        """Return the choice of the model, or the ranked files with the reason why it failed."""
        begun = self.clock()
        usage, summary, used, reason = Usage(), "", True, "the curator chose"
        files = ranked
        try:
            question = [{"role": "user", "content": _question(task, history, codebase, ranked)}]
            reply = complete_within(self.model, self.timeout, question, SYSTEM)
            usage = reply.usage
            files, summary = _parsed(reply, codebase)
        except Exception as error:  # A step has its pack even if the curator fails.
            used, reason = False, f"the curator failed: {_why(error)}"
        return CuratorChoice(
            files=files,
            summary=summary,
            used=used,
            reason=reason,
            seconds=round(self.clock() - begun, 3),
            usage=usage,
            cost_usd=cost(getattr(self.model, "model", "") or "", usage),
        )


class _Unusable(Exception):
    """The answer cannot be used."""


def _question(task: Task, history: Sequence[StepRecord], codebase: Codebase | None, ranked: Sequence[File]) -> str:
    """Return the fitted question."""
    first = [file.path for file in ranked]
    others = [file.path for file in codebase.files if file.path not in set(first)] if codebase is not None else []
    sections = [
        Section("step", task.teaching, required=True, floor=200, ceiling="40%"),
        Section("files", ["Files:", *[*first, *others][:_MOST_PATHS]], keep="best", priority="high", ceiling="40%"),
        Section("steps", [_digest(step) for step in history], keep="newest", joiner="\n\n"),
    ]
    return fit(sections, _MOST_ASKED, meter="chars").text


def _digest(step: StepRecord) -> str:
    return f"{step.title}\n{cut(step.output, _MOST_STEP, 'chars', marker=' [...]').text}"


def _parsed(reply: Reply, codebase: Codebase | None) -> tuple[list[File], str]:
    """Return the files and the summary of an answer.

    Raises:
        _Unusable: the answer has neither, or names only files that do not exist.
    """
    if not isinstance(getattr(reply, "text", None), str):
        raise _Unusable("its answer has no text")
    if not reply.complete:
        raise _Unusable("its answer was cut off at the model's limit on answers")
    values = _object(reply.text)
    paths, summary = values.get("files", []), values.get("summary", "")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths) or not isinstance(summary, str):
        raise _Unusable(_NO_OBJECT)
    known = {file.path: file for file in codebase.files} if codebase is not None else {}
    wanted = list(dict.fromkeys(path.strip().removeprefix("./") for path in paths))
    files = [known[path] for path in wanted if path in known]
    if wanted and not files:
        raise _Unusable(f"none of the {len(wanted):,} files that it named exists")
    if not files and not summary.strip():
        raise _Unusable("it chose no file and wrote no summary")
    return files[:_MOST_CHOSEN], cut(summary.strip(), _MOST_SUMMARY, "chars", marker=" [...]").text


def _object(text: str) -> dict[str, Any]:
    """Return the first JSON object of a text, which may be in a fence or after a sentence.

    Raises:
        _Unusable: there is none.
    """
    start = text.find("{")
    try:
        values = json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise _Unusable(_NO_OBJECT)
    return values


def _why(error: BaseException) -> str:
    known = isinstance(error, _Unusable | BrimError) and not isinstance(error, DoesNotFit)
    reason = " ".join((str(error) if known else f"{type(error).__name__}: {error}").split())
    return cut(reason, _MOST_REASON, "chars", marker="…").text
