"""Ask a cheap model what the next step needs: which files, and what of the older steps in a few sentences.

It may fail in any way: raise, take too long, answer nonsense. Then nothing of its answer is used, the usual selection
serves, and the reason is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from brim.errors import BrimError, DoesNotFit
from brim.flows.codebase import Codebase, File
from brim.flows.step_record import StepRecord, Task
from brim.llm import LanguageModel, Reply, Usage, cost
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.truncate.text import cut

SYSTEM = (
    "You prepare the context of the next step of a flow; you do none of its work. Choose the files that the step needs"
    " to see, the most important first, and say in a few sentences what it needs to know of the earlier steps. Answer"
    ' with one JSON object and nothing else: {"files": ["path", ...], "summary": "..."}. Use only paths from the list.'
)

_MOST_ASKED = 24_000
"""Characters that the model is asked with."""
_MOST_PATHS = 400
"""Paths that it may choose from."""
_MOST_SUMMARY = 1_500
"""Characters of its summary that are used."""
_MOST_CHOSEN = 40
_MOST_STEP = 400
"""Characters of each earlier step that it is shown."""
_MOST_REASON = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratorChoice:
    """What goes into a pack beside the history, and who chose it."""

    files: Sequence[File] = ()
    summary: str = ""
    used: bool = False
    """Whether a model chose."""
    reason: str = ""
    asked: bool = False
    """Whether a model was asked at all."""
    seconds: float | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None

    def told(self) -> dict[str, Any]:
        """Return who chose and what that cost, as JSON values."""
        values: dict[str, Any] = {"used": self.used, "reason": self.reason}
        if self.asked:
            spent = {"input_tokens": self.usage.input, "output_tokens": self.usage.output}
            values |= {"seconds": self.seconds, "usage": spent, "cost_usd": self.cost_usd}
        return values


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """One question to the curator's model."""

    model: LanguageModel
    timeout: float
    clock: Callable[[], float]

    def choice(
        self, task: Task, history: Sequence[StepRecord], codebase: Codebase | None, ranked: Sequence[File]
    ) -> CuratorChoice:
        """Return what the model chose, or the ranked files and the reason why it did not."""
        begun = self.clock()
        usage = Usage()
        try:
            reply = self._answer(_question(task, history, codebase, ranked))
            usage = reply.usage
            files, summary = _understood(reply, codebase)
        except Exception as error:  # Whatever a curator does wrong, the step has its pack.
            return self._told(begun, usage, files=ranked, reason=f"the curator failed: {_why(error)}")
        return self._told(begun, usage, files=files, summary=summary, used=True, reason="the curator chose")

    def _told(self, begun: float, usage: Usage, **values: Any) -> CuratorChoice:
        seconds = round(self.clock() - begun, 3)
        price = cost(getattr(self.model, "model", "") or "", usage)
        return CuratorChoice(asked=True, seconds=seconds, usage=usage, cost_usd=price, **values)

    def _answer(self, question: str) -> Reply:
        """Return what the model says within the time that it has.

        Raises:
            _Unusable: it says nothing in time.
        """
        box: list[Reply | BaseException] = []

        def ask() -> None:
            try:
                box.append(self.model.complete([{"role": "user", "content": question}], SYSTEM))
            except BaseException as error:  # Raised again where it is waited for.
                box.append(error)

        # A model of the caller's own may know no end, so it is not waited for longer than this.
        thread = Thread(target=ask, name="brim-curator", daemon=True)
        thread.start()
        thread.join(self.timeout)
        if not box:
            raise _Unusable(f"it took longer than {self.timeout:g} seconds")
        if isinstance(box[0], BaseException):
            raise box[0]
        return box[0]


class _Unusable(Exception):
    """Why an answer is not used."""


def _question(task: Task, history: Sequence[StepRecord], codebase: Codebase | None, ranked: Sequence[File]) -> str:
    """Return what the model is asked, fitted."""
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


def _understood(reply: Reply, codebase: Codebase | None) -> tuple[list[File], str]:
    """Return the files and the summary that an answer names.

    Raises:
        _Unusable: it names none, or files that do not exist.
    """
    if not isinstance(getattr(reply, "text", None), str):
        raise _Unusable("it answered no text")
    if not reply.complete:
        raise _Unusable("its answer was cut off at the model's limit on answers")
    values = _object(reply.text)
    paths, summary = values.get("files", []), values.get("summary", "")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths) or not isinstance(summary, str):
        raise _Unusable("its answer is no JSON object with files and a summary")
    known = {file.path: file for file in codebase.files} if codebase is not None else {}
    wanted = list(dict.fromkeys(path.strip().removeprefix("./") for path in paths))
    files = [known[path] for path in wanted if path in known]
    if wanted and not files:
        raise _Unusable(f"none of the {len(wanted):,} files that it named exists")
    if not files and not summary.strip():
        raise _Unusable("it chose nothing and said nothing")
    return files[:_MOST_CHOSEN], cut(summary.strip(), _MOST_SUMMARY, "chars", marker=" [...]").text


def _object(text: str) -> dict[str, Any]:
    """Return the first JSON object of a text, which may stand in a fence or after a sentence.

    Raises:
        _Unusable: there is none.
    """
    start = text.find("{")
    try:
        values = json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise _Unusable("its answer is no JSON object with files and a summary")
    return values


def _why(error: BaseException) -> str:
    known = isinstance(error, _Unusable | BrimError) and not isinstance(error, DoesNotFit)
    told = " ".join((str(error) if known else f"{type(error).__name__}: {error}").split())
    return told if len(told) <= _MOST_REASON else told[: _MOST_REASON - 1] + "…"
