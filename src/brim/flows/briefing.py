"""The text of a pack: instructions first and never truncated, then the history, and the sections around it.

The whole text is within the budget. The sections around the history (artifacts, scent trail, summary, files) take at
most half of the room that the instructions leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brim.errors import BrimError, DoesNotFit
from brim.flows.codebase import shown
from brim.flows.curation import CuratorChoice
from brim.flows.history_section import HistoryOptions, HistorySection, history_section
from brim.flows.step_record import StepRecord, Task
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt
from brim.settings.resolved import Resolved

_JOIN = "\n\n"
_SMALLEST = 40
"""Characters below which a section is useless."""
_MOST_ARTIFACTS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class BriefingPage:
    """The text of a pack, and the state of its parts."""

    prompt: Prompt
    sections: tuple[Section, ...]
    history: HistorySection
    files: Sequence[dict[str, Any]]
    """The state of each chosen file."""
    states: Mapping[str, str]
    """The state of each section: `whole`, `cut` or `dropped`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Briefing:
    """Everything that a pack is built from."""

    task: Task
    history: Sequence[StepRecord]
    settings: Resolved
    choice: CuratorChoice
    place: str
    """The position of the step in its flow."""
    window: int | None
    """Tokens that the pack may have, or `None` if the window is unknown."""
    artifacts: Sequence[str] = ()
    """Paths of files that earlier flows wrote."""

    def page(self) -> BriefingPage:
        """Return the page that fits the budget in characters and the window in tokens.

        Raises:
            DoesNotFit: the instructions alone do not fit.
        """
        options = HistoryOptions.of(self.settings)
        page = self._within(options.total, options)
        window, least = self.window, len(self.task.teaching)
        while window is not None and (count := self.settings.token_meter().count(page.prompt.text)) > window:
            used = page.prompt.receipt.used
            if used <= least:
                raise _refusal(count, window, "tokens", "use a model with a bigger window")
            # A little less than in proportion, since tokens are not spread evenly.
            page = self._within(max(least, used * window // count * 99 // 100), options)
        return page

    def _within(self, total: int, options: HistoryOptions) -> BriefingPage:
        """Return the page of at most `total` characters."""
        teaching = self.task.teaching
        if len(teaching) > total:
            raise _refusal(len(teaching), total, "chars", "raise context_budget_chars")
        left = total - len(teaching)
        around, states = self._around(left // 2)
        taken = sum(len(_JOIN) + len(text) for text in around.values())
        room = min(self.settings.value("curator.files_budget_chars"), left // 2 - taken - len(_JOIN))
        text, files = self._files(room)
        if text:
            around["files"] = text
            taken += len(_JOIN) + len(text)
        if files:
            all_whole = all(file["given"] == "whole" for file in files)
            states["files"] = "dropped" if not text else "whole" if all_whole else "cut"
        kept = history_section(self.history, left - taken - len(_JOIN), options, self.task.query)
        if self.history:
            states["history"] = "dropped" if not kept.text else "cut" if kept.truncation["truncated"] else "whole"
        texts = {"teaching_notes": teaching, "summary": around.pop("summary", ""), "history": kept.text, **around}
        sections = tuple(
            Section(name, text, required=name == "teaching_notes", priority="high" if name == "history" else "medium")
            for name, text in texts.items()
            if text
        )
        prompt = fit(sections, total, meter="chars")
        if prompt.receipt.truncated:
            sizes = ", ".join(f"{name} {len(text):,}" for name, text in texts.items())
            raise BrimError(f"internal error: a pack of {total:,} chars was planned as {sizes}; please report it")
        states = {"teaching_notes": "whole", **states}
        return BriefingPage(prompt=prompt, sections=sections, history=kept, files=files, states=states)

    def _around(self, room: int) -> tuple[dict[str, str], dict[str, str]]:
        """Return the sections around the history except files, in the order of the page, and their states."""
        trail_chars = self.settings.value("curator.scent_trail_chars")
        trail = [step.title.removeprefix("## ") for step in self.history] if trail_chars else []
        paths = _artifacts(self.history, self.artifacts) if self.settings.value("curator.artifacts") else []
        summary = [self.choice.summary] if self.choice.summary else []
        planned = (
            ("scent_trail", "# Scent trail", [*trail, self.place] if trail else [], trail_chars, "newest"),
            ("artifacts", "# Upstream artifacts", paths, room, "best"),
            ("summary", "# Summary of earlier steps", summary, room, "best"),
        )
        found: dict[str, str] = {}
        states: dict[str, str] = {}
        for name, heading, entries, most, keep in planned:
            limit = min(most, room - len(_JOIN)) - len(heading) - 1
            if not entries:
                continue
            prompt = fit([Section(name, entries, keep=keep)], max(0, limit), meter="chars")
            states[name] = prompt.receipt.part(name).state if limit >= _SMALLEST else "dropped"
            if states[name] != "dropped":
                found[name] = f"{heading}\n{prompt.text}"
                room -= len(_JOIN) + len(found[name])
        return {name: found[name] for name in ("summary", "artifacts", "scent_trail") if name in found}, states

    def _files(self, room: int) -> tuple[str, list[dict[str, Any]]]:
        """Return as much of the chosen files as has room, and the state of each."""
        heading, files = "# Files", self.choice.files
        limit = room - len(heading) - len(_JOIN)
        if limit < _SMALLEST:
            return "", [{"path": file.path, "given": "dropped", "used_chars": 0} for file in files]
        prompt = shown(files, limit)
        rows = []
        for part in prompt.receipt.parts:
            by_path = prompt.texts.get(part.name, "").endswith("(by path only)")
            state = part.state if part.state in ("whole", "dropped") else "path" if by_path else "head"
            rows.append({"path": part.name, "given": state, "used_chars": part.used})
        return (_JOIN.join([heading, prompt.text]) if prompt.text else ""), rows


def _artifacts(history: Sequence[StepRecord], earlier: Sequence[str]) -> list[str]:
    """Return the paths that earlier steps wrote, the newest first, each once with the step that wrote it last.

    Those of earlier flows follow.
    """
    found: dict[str, str] = {}
    for step in reversed(history):
        for path in step.artifacts:
            found.setdefault(" ".join(path.split()), f"step {step.step_id}")
    for path in earlier:
        found.setdefault(" ".join(path.split()), "an earlier flow")
    return [f"- {path} ({who})" for path, who in found.items() if path][:_MOST_ARTIFACTS]


def _refusal(needed: int, available: int, unit: str, advice: str) -> DoesNotFit:
    return DoesNotFit(
        f"the teaching notes take {needed:,} {unit} and the pack may have {available:,}: they are never truncated, so"
        f" {advice} by {needed - available:,} or shorten them",
        needed=needed,
        available=available,
        parts={"teaching_notes": needed},
    )
