"""The curator: prepares the whole context of a step, anew for each step."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.flows.codebase import Codebase, read_codebase
from brim.flows.curation import CuratorChoice, curated
from brim.flows.pack import Briefing, Pack
from brim.flows.step_record import StepRecord, Task, records, task_of
from brim.llm import LLM, LanguageModel
from brim.settings import load_config
from brim.settings.config import Config
from brim.settings.resolved import Resolved

KEY = "BRIM_CURATOR_KEY"
"""The environment variable with the API key of the model `curator.model`."""


class Curator:
    """Builds the pack of each step of a flow.

    A pack depends on the step, the history and the settings alone: it has no state from earlier packs.
    """

    def __init__(
        self,
        config: Config | str | os.PathLike[str] | None = None,
        *,
        flow: str | None = None,
        profile: str | None = None,
        model: LanguageModel | None = None,
        root: str | os.PathLike[str] | None = None,
        run_base: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Create a curator.

        Args:
            config: settings, or their path; without them, those of the project of the current directory.
            flow: the flow whose steps are prepared; without it, steps are mappings.
            profile: the profile.
            model: the model that may choose files and summarise; without it, the setting `curator.model`, if any.
            root: the directory of a codebase whose files may be included.
            run_base: the directory of receipts, which are never part of the codebase.
            clock: returns seconds, for the duration of calls; without it, that of the machine.

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
        self._codebase = Codebase(())
        self._clock = monotonic if clock is None else clock
        self._model = model
        self._steps = [] if flow is None else [step.id for step in self._config.flow(flow).steps]

    def prepare(self, step: Any, history: Sequence[Any], artifacts: Sequence[str] = ()) -> Pack:
        """Return the whole context of a step.

        Args:
            step: its id or its index in the flow, a step of the settings, or a mapping with `id`, `agent`, `task` and
                `teaching_notes`.
            history: the records of the steps before it, oldest first: `StepRecord`s, or mappings with the same keys.
            artifacts: paths of files that earlier flows wrote; the pack lists them after those of the history.

        Raises:
            DoesNotFit: the teaching notes alone are bigger than the budget or the window.
            UnknownName: the flow has no such step.
            InvalidValue: the step or the history is invalid.
        """
        task = self._task(step)
        past = records(history)
        settings = self._settings(task.id)
        about: dict[str, Any] = {"flow": self._flow, "profile": self._profile}
        codebase = Codebase(())
        if self._root is not None and settings.value("curator.files_budget_chars"):
            codebase = self._codebase = read_codebase(self._root, self._codebase, self._run_base)
            about["codebase"] = codebase.to_dict()
        return Briefing(
            task=task,
            history=past,
            settings=settings,
            choice=self._choice(task, past, settings, codebase),
            place=self._place(task.id),
            artifacts=tuple(artifacts),
        ).pack(**about)

    def _task(self, step: Any) -> Task:
        if isinstance(step, str) or (isinstance(step, int) and not isinstance(step, bool)):
            if self._flow is None:
                raise InvalidValue("step", step, "a mapping, unless the curator has a flow")
            return task_of(self._config.flow(self._flow).step(step))
        return task_of(step)

    def _settings(self, step: str) -> Resolved:
        """Return the settings of a step; a step that the flow does not list has those of the flow."""
        return self._config.resolve(self._profile, self._flow, step if step in self._steps else None, pack=True)

    def _place(self, step: str) -> str:
        """Return the position of a step in its flow."""
        at = f" ({self._steps.index(step) + 1} of {len(self._steps)})" if step in self._steps else ""
        return f"Now: step {step}{at}" + ("" if self._flow is None else f" of the flow {self._flow}")

    def _choice(
        self, task: Task, history: Sequence[StepRecord], settings: Resolved, codebase: Codebase
    ) -> CuratorChoice:
        model, reason = self._chosen_model(settings)
        if model is not None and (len(history) > 1 or codebase.files):
            seconds = settings.value("timeout_seconds")
            return curated(model, task, history, codebase, seconds=seconds, clock=self._clock)
        reason = reason or "there was nothing to choose from, so the curator was not called"
        return CuratorChoice(files=codebase.ranked(task.query), reason=reason)

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
