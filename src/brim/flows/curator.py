"""The curator: prepares the whole context of a step, anew for each step.

A cheap model may choose the files that the step needs, and summarise the older steps. If it raises, takes too long or
returns an invalid answer, the default selection is used, with the reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from threading import Thread
from time import monotonic
from typing import Any

from brim.errors import BrimError, DoesNotFit, InvalidType, InvalidValue, ModelError
from brim.flows.codebase import MOST_FILES, Codebase, File, read_codebase
from brim.flows.pack import Briefing, CuratorChoice, Pack
from brim.flows.step_record import StepRecord, Task, records, task_of, texts
from brim.llm import LLM, LanguageModel, Reply, Usage, cost
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.settings import load_config
from brim.settings.config import Config
from brim.settings.resolved import Resolved
from brim.truncate import cut

KEY = "BRIM_CURATOR_KEY"
"""The environment variable with the API key for `curator.model`."""
SYSTEM = (
    "You prepare the context of the next step of a flow; you do none of its work. Choose the files that the step needs"
    " to see, the most important first, and say in a few sentences what it needs to know of the earlier steps. Answer"
    ' with one JSON object and nothing else: {"files": ["path", ...], "summary": "..."}. Use only paths from the list.'
)

_MOST_ASKED = 24_000
"""Characters of the question."""
_MOST_SUMMARY = 1_500
"""Characters of its summary that are used."""
_MOST_STEP = 400
"""Characters of each earlier step in the question."""
_MOST_REASON = 200


class Curator:
    """Builds the pack of each step of a flow. It depends only on the step, the history and the settings."""

    def __init__(
        self,
        config: Config | str | os.PathLike[str] | None = None,
        *,
        flow: str | None = None,
        profile: str | None = None,
        model: LanguageModel | None = None,
        root: str | os.PathLike[str] | None = None,
        run_base: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Create a curator.

        Args:
            config: settings, or their path; by default those of the project in the current directory.
            flow: the flow of the steps; without it, steps are mappings.
            profile: the profile.
            model: the model that may choose files and summarise; by default the setting `curator.model`, if any.
            root: the directory of a codebase whose files may be included.
            run_base: the directory of receipts, which are never part of the codebase.
            clock: returns the time in seconds, to measure the calls.

        Raises:
            SourceError: the settings cannot be read.
            UnknownName: no flow has that name.
        """
        if config is not None and not isinstance(config, Config | str | os.PathLike):
            raise InvalidType("config", config, "the result of load_config, or the path of a file")
        self._config = config if isinstance(config, Config) else load_config(config)
        self._flow = flow
        self._profile = profile
        self._root = None if root is None else os.fspath(root)
        self._run_base = None if run_base is None else os.fspath(run_base)
        self._clock = clock
        self._model = model
        self._steps = [] if flow is None else [step.id for step in self._config.flow(flow).steps]

    def prepare(self, step: Any, history: Sequence[Any], artifacts: Sequence[str] = ()) -> Pack:
        """Return the whole context of a step.

        Args:
            step: its id or its index in the flow, a step of the settings, or a mapping with `id`, `agent`, `task` and
                `teaching_notes`.
            history: the records of the steps before it, oldest first: `StepRecord`s, or mappings with the same keys.
            artifacts: paths of files that earlier flows wrote; the pack lists them after those from the history.

        Raises:
            DoesNotFit: the teaching notes alone are bigger than the budget or the window.
            UnknownName: the flow has no such step.
            InvalidValue: the step, the history or the artifacts are invalid.
        """
        task = self._task(step)
        past = records(history)
        settings = self._settings(task.id)
        about: dict[str, Any] = {"flow": self._flow, "profile": self._profile}
        codebase = Codebase(())
        if self._root is not None and settings.value("curator.files_budget_chars"):
            codebase = read_codebase(self._root, self._run_base)
            about["codebase"] = codebase.to_dict()
        return Briefing(
            task=task,
            history=past,
            settings=settings,
            choice=self._choice(task, past, settings, codebase),
            place=self._place(task.id),
            artifacts=texts("artifacts", artifacts),
        ).pack(**about)

    def _task(self, step: Any) -> Task:
        if isinstance(step, str) or (isinstance(step, int) and not isinstance(step, bool)):
            if self._flow is None:
                raise InvalidValue("step", step, "a mapping, unless the curator has a flow")
            return task_of(self._config.flow(self._flow).step(step))
        return task_of(step)

    def _settings(self, step: str) -> Resolved:
        """Return the settings of a step, or those of the flow if it does not list the step."""
        return self._config.resolve(self._profile, self._flow, step if step in self._steps else None, pack=True)

    def _place(self, step: str) -> str:
        """Return the position of a step in its flow."""
        at = f" ({self._steps.index(step) + 1} of {len(self._steps)})" if step in self._steps else ""
        return f"Now: step {step}{at}" + ("" if self._flow is None else f" of the flow {self._flow}")

    def _choice(
        self, task: Task, history: Sequence[StepRecord], settings: Resolved, codebase: Codebase
    ) -> CuratorChoice:
        """Return the model's choice, or else the files that match the task, and why no model chose."""
        files, summary, usage = codebase.ranked(task.query), "", Usage()
        model, missing = self._chosen_model(settings)
        if model is None:
            return CuratorChoice(files=files, reason=missing)
        if len(history) < 2 and not codebase.files:
            return CuratorChoice(files=files, reason="there was nothing to choose from, so the curator was not called")
        begun, used, reason = self._clock(), True, "the curator chose"
        try:
            question = [{"role": "user", "content": _question(task, history, codebase, files)}]
            reply = complete_within(model, settings.value("timeout_seconds"), question, SYSTEM)
            usage = reply.usage
            files, summary = _parsed(reply, codebase)
        except Exception as error:  # A step has its pack even if the curator fails.
            used, reason = False, f"the curator failed: {_why(error)}"
        return CuratorChoice(
            files=files,
            summary=summary,
            used=used,
            reason=reason,
            seconds=round(self._clock() - begun, 3),
            usage=usage,
            cost_usd=cost(getattr(model, "model", "") or "", usage),
        )

    def _chosen_model(self, settings: Resolved) -> tuple[LanguageModel | None, str]:
        """Return the model of the curator, or the reason why there is none."""
        if not settings.value("curator.enabled"):
            return None, "curator.enabled is false, so the default selection was used"
        if self._model is not None:
            return self._model, ""
        name, url = settings.value("curator.model"), settings.value("curator.url")
        if name is None:
            return None, "curator.model is not set, so the default selection was used"
        if url is None:
            return None, "curator.model is set without curator.url, so the default selection was used"
        key = KEY if os.environ.get(KEY) else None
        api = settings.value("curator.api")
        return LLM(url, name, key=key, api=api, timeout=settings.value("timeout_seconds")), ""


def _question(task: Task, history: Sequence[StepRecord], codebase: Codebase, ranked: Sequence[File]) -> str:
    """Return the question to the model, fitted to its limit."""
    first = [file.path for file in ranked]
    others = [file.path for file in codebase.files if file.path not in set(first)]
    steps = [f"{step.title}\n{cut(step.output, _MOST_STEP, 'chars', marker=' [...]').text}" for step in history]
    sections = [
        Section("step", task.teaching, required=True, floor=200, ceiling="40%"),
        Section("files", ["Files:", *first, *others], keep="best", priority="high", ceiling="40%"),
        Section("steps", steps, keep="newest", joiner="\n\n"),
    ]
    return fit(sections, _MOST_ASKED, meter="chars").text


def _parsed(reply: Reply, codebase: Codebase) -> tuple[list[File], str]:
    """Return the files and the summary in an answer: its first JSON object, possibly in a fence or after a sentence.

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
    return files[:MOST_FILES], cut(summary.strip(), _MOST_SUMMARY, "chars", marker=" [...]").text


def _why(error: BaseException) -> str:
    known = isinstance(error, BrimError) and not isinstance(error, DoesNotFit)
    reason = " ".join((str(error) if known else f"{type(error).__name__}: {error}").split())
    return cut(reason, _MOST_REASON, "chars", marker="…").text


def complete_within(model: LanguageModel, seconds: float, messages: list[Any], system: str | None = None) -> Reply:
    """Return the answer of a model within a time limit.

    Raises:
        ModelError: it does not answer in time; its thread continues, and the answer is ignored.
    """
    box: list[Reply | BaseException] = []

    def ask() -> None:
        try:
            box.append(model.complete(messages) if system is None else model.complete(messages, system))
        except BaseException as error:  # Raised again in the waiting thread.
            box.append(error)

    thread = Thread(target=ask, name="brim-model", daemon=True)
    thread.start()
    thread.join(seconds)
    if not box:
        raise ModelError(f"it took longer than {seconds:g} seconds")
    if isinstance(box[0], BaseException):
        raise box[0]
    return box[0]
