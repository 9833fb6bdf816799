"""The curator: prepares what a step needs to know, anew for each step, before the step begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from brim.errors import InvalidType, InvalidValue
from brim.flows.briefing import BriefingPage, Making
from brim.flows.codebase import Codebase, File
from brim.flows.pack import ENGINE, VERSION, Pack
from brim.flows.pack_settings import PackSettings, settings_of
from brim.flows.question import Asking, CuratorChoice
from brim.flows.source_tree import SourceTree
from brim.flows.step_record import StepRecord, Task, records, task_of
from brim.llm import LLM, LanguageModel

if TYPE_CHECKING:
    from brim.settings.config import Config

KEY = "BRIM_CURATOR_KEY"
"""The environment variable with the key of a curator that the settings name."""


class Curator:
    """Builds the pack of each step of a flow.

    A pack depends on the step, the history and the settings alone: nothing is carried over from the last one.
    """

    def __init__(
        self,
        config: Config | str | os.PathLike[str] | None = None,
        *,
        flow: str | None = None,
        profile: str | None = None,
        model: LanguageModel | None = None,
        root: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Take what packs are built by.

        Args:
            config: settings, or where they are; without them, those of the project around the current directory.
            flow: the flow whose steps are prepared; without it, steps are given as mappings.
            profile: the profile that holds.
            model: who may choose files and summarise; without it, the settings' `curator.model`, if any.
            root: the directory of a codebase whose files may be given.
            clock: what tells seconds, for the cost of curation; without it, that of the machine.

        Raises:
            SourceError: settings that cannot be read.
            UnknownName: no such flow.
        """
        self._config = _loaded(config)
        self._flow = flow
        self._profile = profile
        self._tree = None if root is None else SourceTree(os.fspath(root))
        self._clock = _clock if clock is None else clock
        self._model = model
        if flow is not None:
            self._config.flow(flow)

    def prepare(self, step: Any, history: Sequence[Any]) -> Pack:
        """Return the whole context of a step.

        Args:
            step: its id or its place in the flow, a step of the settings, or a mapping with `id`, `agent`, `task` and
                `teaching_notes`.
            history: what the steps before it left behind: `StepRecord`s or mappings with the same keys, oldest first.

        Raises:
            DoesNotFit: the teaching notes alone are bigger than the budget or the window.
            UnknownName: no such step.
            InvalidValue: a step or a history that cannot be.
        """
        task = self._task(step)
        past = records(history)
        settings = settings_of(self._config, self._profile, self._flow, task.id)
        codebase = self._tree.read() if self._tree is not None and settings.files else None
        choice = self._choice(task, past, settings, codebase)
        making = Making(task=task, history=past, settings=settings, choice=choice, place=self._place(task))
        made = making.page()
        return Pack(
            step_id=task.id,
            agent=task.agent,
            text=made.prompt.text,
            sections=made.sections,
            receipt=self._receipt(task, settings, choice, made, codebase),
            fitted=made.prompt.receipt,
            reason=choice.reason,
        )

    def _task(self, step: Any) -> Task:
        if isinstance(step, str) or (isinstance(step, int) and not isinstance(step, bool)):
            if self._flow is None:
                raise InvalidValue("step", step, "a mapping, or the curator must be given its flow")
            return task_of(self._config.flow(self._flow).step(step))
        return task_of(step)

    def _place(self, task: Task) -> str:
        """Return where in the flow a step stands."""
        if self._flow is None:
            return f"Now: step {task.id}"
        ids = [step.id for step in self._config.flow(self._flow).steps]
        at = f" ({ids.index(task.id) + 1} of {len(ids)})" if task.id in ids else ""
        return f"Now: step {task.id}{at} of the flow {self._flow}"

    def _choice(
        self, task: Task, history: Sequence[StepRecord], settings: PackSettings, codebase: Codebase | None
    ) -> CuratorChoice:
        ranked: list[File] = codebase.ranked(task.query) if codebase is not None else []
        model, missing = self._asked(settings)
        if model is None:
            return CuratorChoice(files=ranked, reason=missing)
        if len(history) < 2 and not (codebase and codebase.files):
            return CuratorChoice(files=ranked, reason="there was nothing to choose from, so the curator was not asked")
        asking = Asking(model=model, timeout=settings.timeout, clock=self._clock)
        return asking.choice(task, history, codebase, ranked)

    def _asked(self, settings: PackSettings) -> tuple[LanguageModel | None, str]:
        """Return the model to ask, or why there is none."""
        if not settings.curated:
            return None, "curator.enabled is false, so the usual selection served"
        if self._model is not None:
            return self._model, ""
        if settings.curator_model is None:
            return None, "there is no curator's model, so the usual selection served"
        if settings.curator_url is None:
            return None, "curator.model is set without curator.url, so the usual selection served"
        key = KEY if os.environ.get(KEY) else None
        return LLM(settings.curator_url, settings.curator_model, key=key, timeout=settings.timeout), ""

    def _receipt(
        self, task: Task, settings: PackSettings, choice: CuratorChoice, made: BriefingPage, codebase: Codebase | None
    ) -> dict[str, Any]:
        used = made.prompt.receipt.used
        tokens = None if settings.window is None else settings.tokens.count(made.prompt.text)
        told = {
            "version": VERSION,
            "engine": ENGINE,
            "flow": self._flow,
            "profile": self._profile,
            "step_id": task.id,
            "agent": task.agent,
            "stage": task.stage or None,
            "context_truncation": made.past.truncation,
            "note": made.past.note,
            "budget_chars": settings.total,
            "used_chars": used,
            "window_tokens": settings.window,
            "used_tokens": tokens,
            "selection": settings.selection,
            "curator": choice.told(),
            "sections": [
                {"name": name, "state": state, "used_chars": len(made.prompt.texts.get(name, ""))}
                for name, state in made.states.items()
            ],
            "steps": [step.told() for step in made.past.steps],
            "files": list(made.files),
            "warnings": list(settings.warnings),
        }
        if codebase is not None:
            told["codebase"] = {
                "files": len(codebase),
                "left_out": codebase.left_out,
                "skipped": dict(codebase.skipped),
            }
        return told


def _loaded(config: Any) -> Config:
    from brim.settings import load_config

    if config is None or isinstance(config, str | os.PathLike):
        return load_config(config)
    if not callable(getattr(config, "resolve", None)):
        raise InvalidType("config", config, "what load_config returned, or the path of a file")
    known: Config = config
    return known


def _clock() -> float:
    from time import monotonic

    return monotonic()
