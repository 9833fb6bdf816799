"""Put a pack together: teaching notes first and never cut, then the history, and what little stands around it.

Everything together is at most the budget. What stands around the history (the paths of artifacts, the scent trail, a
summary, files of the codebase) takes at most half of what the notes leave, so that it never crowds the history out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brim.errors import BrimError, DoesNotFit
from brim.flows.codebase import shown
from brim.flows.pack_settings import PackSettings
from brim.flows.past import Past, past
from brim.flows.question import CuratorChoice
from brim.flows.step_record import StepRecord, Task
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.fitting import Prompt

_JOIN = "\n\n"
_SMALLEST = 40
"""Characters below which a section says nothing."""
_MOST_ARTIFACTS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class BriefingPage:
    """A pack before it has its receipt."""

    prompt: Prompt
    sections: tuple[Section, ...]
    past: Past
    files: Sequence[dict[str, Any]]
    """What became of each file that was chosen."""
    states: Mapping[str, str]
    """What became of each section: `whole`, `cut` or `dropped`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Making:
    """A page on its way."""

    task: Task
    history: Sequence[StepRecord]
    settings: PackSettings
    choice: CuratorChoice
    place: str
    """Where in the flow the step stands."""

    def page(self) -> BriefingPage:
        """Return the page that fits the budget in characters and, where it is known, the window in tokens.

        Raises:
            DoesNotFit: the teaching notes alone do not.
        """
        made = self._within(self.settings.total)
        window, least = self.settings.window, len(self.task.teaching)
        while window is not None and (count := self.settings.tokens.count(made.prompt.text)) > window:
            used = made.prompt.receipt.used
            if used <= least:
                raise _refusal(count, window, "tokens", "use a model with a bigger window")
            # A little less than in proportion, since tokens are not spread evenly.
            made = self._within(max(least, used * window // count * 99 // 100))
        return made

    def _within(self, total: int) -> BriefingPage:
        """Return the page of at most so many characters."""
        teaching, settings = self.task.teaching, self.settings
        if len(teaching) > total:
            raise _refusal(len(teaching), total, "chars", "raise context_budget_chars")
        left = total - len(teaching)
        around, states = self._around(left // 2)
        taken = sum(len(_JOIN) + len(text) for text in around.values())
        text, files = self._files(min(settings.files, left // 2 - taken - len(_JOIN)))
        if text:
            around["files"] = text
            taken += len(_JOIN) + len(text)
        if files:
            all_whole = all(file["given"] == "whole" for file in files)
            states["files"] = "dropped" if not text else "whole" if all_whole else "cut"
        kept = past(self.history, left - taken - len(_JOIN), settings, self.task.query)
        if self.history:
            states["history"] = "dropped" if not kept.text else "cut" if kept.truncation["truncated"] else "whole"
        texts = {"teaching_notes": teaching, "summary": around.pop("summary", ""), "history": kept.text, **around}
        return self._page(total, texts, kept, files, {"teaching_notes": "whole", **states})

    @staticmethod
    def _page(
        total: int,
        texts: Mapping[str, str],
        kept: Past,
        files: Sequence[dict[str, Any]],
        states: Mapping[str, str],
    ) -> BriefingPage:
        sections = tuple(
            Section(name, text, required=name == "teaching_notes", priority="high" if name == "history" else "medium")
            for name, text in texts.items()
            if text
        )
        prompt = fit(sections, total, meter="chars")
        if prompt.receipt.truncated:
            told = ", ".join(f"{name} {len(text):,}" for name, text in texts.items())
            raise BrimError(f"a fault of brim's: a pack of {total:,} chars was planned as {told}; please report it")
        return BriefingPage(prompt=prompt, sections=sections, past=kept, files=files, states=states)

    def _around(self, room: int) -> tuple[dict[str, str], dict[str, str]]:
        """Return what stands around the history beside files, in the order of the page, and what became of each."""
        trail = [step.title.removeprefix("## ") for step in self.history] if self.settings.trail else []
        paths = _artifacts(self.history) if self.settings.artifacts else []
        told = [self.choice.summary] if self.choice.summary else []
        asked = (
            ("scent_trail", "# Scent trail", [*trail, self.place] if trail else [], self.settings.trail, "newest"),
            ("artifacts", "# Upstream artifacts", paths, room, "best"),
            ("summary", "# Summary of earlier steps", told, room, "best"),
        )
        found: dict[str, str] = {}
        states: dict[str, str] = {}
        for name, heading, entries, cap, keep in asked:
            limit = min(cap, room - len(_JOIN)) - len(heading) - 1
            if not entries:
                continue
            prompt = fit([Section(name, entries, keep=keep)], max(0, limit), meter="chars")
            states[name] = prompt.receipt.part(name).state if limit >= _SMALLEST else "dropped"
            if states[name] != "dropped":
                found[name] = f"{heading}\n{prompt.text}"
                room -= len(_JOIN) + len(found[name])
        return {name: found[name] for name in ("summary", "artifacts", "scent_trail") if name in found}, states

    def _files(self, room: int) -> tuple[str, list[dict[str, Any]]]:
        """Return the files that were chosen, as much of them as has room, and what became of each."""
        heading, files = "# Files", self.choice.files
        limit = room - len(heading) - len(_JOIN)
        if limit < _SMALLEST:
            return "", [_file(file.path, "dropped", 0) for file in files]
        prompt = shown(files, limit)
        parts = [(part, prompt.texts.get(part.name, "")) for part in prompt.receipt.parts]
        told = [_file(part.name, _given(part.state, text), part.used) for part, text in parts]
        return (_JOIN.join([heading, prompt.text]) if prompt.text else ""), told


def _artifacts(history: Sequence[StepRecord]) -> list[str]:
    """Return the paths of what earlier steps wrote, the newest first, each once with who wrote it last."""
    found: dict[str, str] = {}
    for step in reversed(history):
        for path in step.artifacts:
            found.setdefault(" ".join(path.split()), f"step {step.step_id}")
    return [f"- {path} ({who})" for path, who in found.items() if path][:_MOST_ARTIFACTS]


def _file(path: str, given: str, used: int) -> dict[str, Any]:
    return {"path": path, "given": given, "used_chars": used}


def _given(state: str, text: str) -> str:
    if state in ("whole", "dropped"):
        return state
    return "path" if text.endswith("(by path only)") else "head"


def _refusal(needed: int, available: int, unit: str, advice: str) -> DoesNotFit:
    return DoesNotFit(
        f"the teaching notes take {needed:,} {unit} and the pack may have {available:,}: they are never cut, so"
        f" {advice} by {needed - available:,} or shorten them",
        needed=needed,
        available=available,
        parts={"teaching_notes": needed},
    )
