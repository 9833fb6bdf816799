"""A pack: the whole context of one step, built within its budget, with its receipt.

The instructions come first and are never truncated. The budget in characters applies to the history alone; the sections
around it (summary, artifacts, scent trail, files) have their own limits, and together take at most half as much. The
window in tokens limits the whole pack. Steps are selected like the messages of a history, by the class of their agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from brim.errors import BrimError, DoesNotFit
from brim.flows.codebase import File, file_sections, file_states
from brim.flows.step_record import StepRecord, Task
from brim.history.history import fit_messages
from brim.history.note import note, truncation
from brim.history.priority import NAMES, StepClass, distribution
from brim.llm import Usage
from brim.receipts.receipt import Receipt
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt
from brim.settings.resolved import Resolved
from brim.truncate import cut

ENGINE = "brim"
"""The `engine` of a receipt."""
VERSION = 1

HEADING = "# History"
MARKER = "\n... (truncated)"
"""Marks the cut in the output of a step."""

_ORDER = ("teaching_notes", "summary", "history", "artifacts", "scent_trail", "files")
"""The sections in the order of the pack."""
_JOIN = "\n\n"
_UNIT = "chars"
_SMALLEST = 40
"""Characters below which a section is useless."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """The whole context of one step."""

    step_id: str
    agent: str
    text: str = field(repr=False)
    sections: tuple[Section, ...] = field(repr=False)
    """Its sections in the order of the page: teaching notes, summary, history, artifacts, scent trail, files."""
    receipt: Mapping[str, Any] = field(repr=False)
    """What was kept, truncated and left out, as JSON values; `docs/packs.md` lists the keys."""
    fitted: Receipt = field(repr=False)
    """The receipt of the fitted pack."""
    reason: str
    """Who chose the files and the summary and, if it was not a model, why."""

    def __str__(self) -> str:
        return self.text

    def section(self, name: str) -> str:
        """Return the text of a section; empty if the pack has no section of that name."""
        return next((section.text for section in self.sections if section.name == name), "")

    def event(self, **extra: Any) -> dict[str, Any]:
        """Return the pack as a `prompt_assembled` event; every section is in exactly one of its lists."""

        def named(rows: str, name: str, state: str) -> list[str]:
            return [row[name] for row in self.receipt[rows] if row["state"] == state]

        return {
            **self.fitted.event(agent=self.agent, step_id=self.step_id, unit=self.fitted.unit),
            "sections_included": named("sections", "name", "whole"),
            "sections_truncated": named("sections", "name", "cut"),
            "sections_dropped": named("sections", "name", "dropped"),
            "steps_truncated": named("steps", "step_id", "cut"),
            "steps_dropped": named("steps", "step_id", "omitted"),
            **extra,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratorChoice:
    """The files and the summary of a pack, and who chose them."""

    files: Sequence[File] = ()
    summary: str = ""
    used: bool = False
    """Whether a model chose."""
    reason: str = ""
    seconds: float | None = None
    """The duration of the call; `None` if no model was called."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return who chose, and the cost of the call, as JSON values."""
        values: dict[str, Any] = {"used": self.used, "reason": self.reason}
        if self.seconds is not None:
            spent = {"input_tokens": self.usage.input, "output_tokens": self.usage.output}
            values |= {"seconds": self.seconds, "usage": spent, "cost_usd": self.cost_usd}
        return values


class ShownStep(NamedTuple):
    """One step of a history."""

    record: StepRecord
    kind: StepClass
    text: str
    """Its text in the pack; empty if it is omitted."""
    cut: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "step_id": self.record.step_id,
            "agent": self.record.agent,
            "class": self.kind.name,
            "state": "omitted" if not self.text else "cut" if self.cut else "whole",
            "chars": len(self.record.output),
            "used_chars": len(self.text),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class HistorySection:
    """The history of a pack."""

    steps: tuple[ShownStep, ...] = ()
    """Every step in order, including omitted ones."""
    note: str = ""
    """The line about omitted steps; empty if none are, or if it does not fit."""
    truncation: dict[str, Any] = field(default_factory=dict)
    """The `context_truncation` of a receipt."""

    @property
    def text(self) -> str:
        """The text of the section; empty if it has neither a step nor a note."""
        lines = [text for text in (self.note, *(step.text for step in self.steps)) if text]
        return _JOIN.join([HEADING, *lines]) if lines else ""


class _Page(NamedTuple):
    """The sections of a pack, within a number of characters."""

    prompt: Prompt
    sections: tuple[Section, ...]
    states: Mapping[str, str]
    """The state of each section: `whole`, `cut` or `dropped`."""
    history: HistorySection
    files: list[dict[str, Any]]
    """The state of each chosen file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Briefing:
    """Everything that a pack is built from."""

    task: Task
    history: Sequence[StepRecord]
    settings: Resolved
    choice: CuratorChoice
    place: str
    """The position of the step in its flow."""
    artifacts: Sequence[str] = ()
    """Paths of files that earlier flows wrote."""

    def pack(self, **about: Any) -> Pack:
        """Return the pack that fits the budget in characters and the window in tokens; `about` joins its receipt.

        Raises:
            DoesNotFit: the instructions alone do not fit.
        """
        task, settings = self.task, self.settings
        window, tokens, most = settings.window(), None, None
        page = self._page(None)
        if window is not None:
            meter = settings.token_meter()
            most = settings.within_margin(window.budget, meter)
            while (tokens := meter.count(page.prompt.text)) > most:
                used, least = page.prompt.receipt.used, len(task.teaching)
                if used <= least:
                    raise _refusal(tokens, most)
                # A little less than in proportion, since tokens are not spread evenly.
                page = self._page(max(least, used * most // tokens * 99 // 100))
        receipt = {
            "version": VERSION,
            "engine": ENGINE,
            "step_id": task.id,
            "agent": task.agent,
            "stage": task.stage or None,
            "context_truncation": page.history.truncation,
            "note": page.history.note,
            "budget_chars": settings.value("context_budget_chars"),
            "used_chars": page.prompt.receipt.used,
            "window_tokens": most,
            "used_tokens": tokens,
            "selection": settings.value("history.selection"),
            "curator": self.choice.to_dict(),
            "sections": [
                {"name": name, "state": page.states[name], "used_chars": len(page.prompt.texts.get(name, ""))}
                for name in _ORDER
                if name in page.states
            ],
            "steps": [step.to_dict() for step in page.history.steps],
            "files": page.files,
            "warnings": list(settings.warnings),
            **about,
        }
        return Pack(
            step_id=task.id,
            agent=task.agent,
            text=page.prompt.text,
            sections=page.sections,
            receipt=receipt,
            fitted=page.prompt.receipt,
            reason=self.choice.reason,
        )

    def _page(self, most: int | None) -> _Page:
        """Return the page in at most `most` characters; without `most`, only its parts are limited."""
        texts, states = {"teaching_notes": self.task.teaching}, {"teaching_notes": "whole"}
        budget = self.settings.value("context_budget_chars")
        # The budget applies to the history alone; the other sections may take half as much in addition.
        total = len(self.task.teaching) + budget + budget // 2 if most is None else most
        left = total - len(self.task.teaching)
        room = min(left, budget) // 2
        files: list[dict[str, Any]] = []
        for name, heading, longest, sections in self._around(room):
            limit = min(longest, room - len(_JOIN)) - len(heading)
            prompt = fit(sections, limit if limit >= _SMALLEST else 0, meter=_UNIT)
            is_whole = all(part.state == "whole" for part in prompt.receipt.parts)
            states[name] = "dropped" if not prompt.text else "whole" if is_whole else "cut"
            if prompt.text:
                texts[name] = heading + prompt.text
                room -= len(_JOIN + texts[name])
                left -= len(_JOIN + texts[name])
            files = file_states(prompt) if name == "files" else []
        kept = history_section(self.history, min(left - len(_JOIN), budget), self.settings, self.task.query)
        texts["history"] = kept.text
        if self.history:
            states["history"] = "dropped" if not kept.text else "cut" if kept.truncation["truncated"] else "whole"
        page = tuple(
            Section(
                name,
                texts[name],
                required=name == "teaching_notes",
                priority="high" if name == "history" else "medium",
            )
            for name in _ORDER
            if texts.get(name)
        )
        prompt = fit(page, total, meter=_UNIT)
        if prompt.receipt.truncated:
            sizes = ", ".join(f"{name} {len(text):,}" for name, text in texts.items())
            raise BrimError(f"internal error: a pack of {total:,} chars was planned as {sizes}; please report it")
        return _Page(prompt, page, states, kept, files)

    def _around(self, room: int) -> Iterator[tuple[str, str, int, list[Section]]]:
        """Yield the sections around the history in order of precedence: name, heading, maximum characters, content."""
        trail_chars = self.settings.value("curator.scent_trail_chars")
        if trail_chars and self.history:
            trail = [*(step.title.removeprefix("## ") for step in self.history), self.place]
            yield "scent_trail", "# Scent trail\n", trail_chars, [Section("scent_trail", trail, keep="newest")]
        paths = self._artifact_rows() if self.settings.value("curator.artifacts") else []
        if paths:
            yield "artifacts", "# Upstream artifacts\n", room, [Section("artifacts", paths, keep="best")]
        if self.choice.summary:
            summary = Section("summary", [self.choice.summary], keep="best")
            yield "summary", "# Summary of earlier steps\n", room, [summary]
        if self.choice.files:
            most = self.settings.value("curator.files_budget_chars")
            yield "files", f"# Files{_JOIN}", most, file_sections(self.choice.files)

    def _artifact_rows(self) -> list[str]:
        """Return the paths that earlier steps wrote, the newest first, with the last step that wrote each.

        The paths of earlier flows follow.
        """
        found: dict[str, str] = {}
        for step in reversed(self.history):
            for path in step.artifacts:
                found.setdefault(" ".join(path.split()), f"step {step.step_id}")
        for path in self.artifacts:
            found.setdefault(" ".join(path.split()), "an earlier flow")
        return [f"- {path} ({who})" for path, who in found.items() if path]


def history_section(history: Sequence[StepRecord], room: int, settings: Resolved, query: str) -> HistorySection:
    """Return as much of a history as fits, with a heading and a note.

    Raises:
        SourceError: the settings list an agent in two classes.
    """
    classes, budget = settings.classes(), settings.value("context_budget_chars")
    kinds = [classes.of(step.agent or None, step.step_id, step.output) for step in history]
    by_class = "priority" in settings.value("history.selection")
    limits = [settings.value("history_max_older_chars")] * len(history)
    limits[-1:] = [settings.value("history_max_recent_chars")] if history else []
    left, noted = room - len(HEADING), False
    texts = [_text(step, limit) for step, limit in zip(history, limits, strict=True)]
    if not all(text for text, _ in texts) or sum(len(_JOIN + text) for text, _ in texts) > left:
        total = len(history)
        # The widest possible note: it includes and omits as many steps as there are in all.
        widest = note(total, 2 * total, budget, budget, _UNIT, dict.fromkeys(NAMES, total) if by_class else None)
        if settings.value("history.note") and len(_JOIN + widest) <= left:
            noted = True
            left -= len(_JOIN + widest)
        texts = [
            _text(step, min(limit, left - len(f"{_JOIN}{step.title}\n")))
            for step, limit in zip(history, limits, strict=True)
        ]
        stays = _selected([text for text, _ in texts], kinds, left, settings, query)
        texts = [text if i in stays else ("", False) for i, text in enumerate(texts)]
    steps = tuple(ShownStep(step, kind, *text) for step, kind, text in zip(history, kinds, texts, strict=True))
    included = [step for step in steps if step.text]
    shares = distribution(step.kind for step in included) if by_class else None
    numbers = (len(included), len(steps), len(HistorySection(steps=steps).text), budget)
    return HistorySection(
        steps=steps,
        note=note(*numbers, _UNIT, shares) if noted else "",
        truncation=truncation(*numbers, shares, cut=any(step.cut for step in included)),
    )


def _selected(texts: Sequence[str], kinds: Sequence[StepClass], left: int, settings: Resolved, query: str) -> set[int]:
    """Return the indices of the selected steps; the newest is among them unless the settings do not pin it."""
    pins_newest = settings.value("history.pin_most_recent")
    if pins_newest and not texts[-1]:
        return set()
    messages = {i: {"role": "assistant", "content": _JOIN + text} for i, text in enumerate(texts) if text}
    kind_of = {id(message): kinds[i] for i, message in messages.items()}
    # The task and the newest turn always stay. Here they are empty, so that only steps compete.
    task, last = {"role": "user", "content": ""}, {"role": "user", "content": ""}
    fitted = fit_messages(
        [task, *messages.values(), *([] if pins_newest else [last])],
        left,
        meter=_UNIT,
        select=settings.value("history.selection"),
        within=settings.value("history.within"),
        query=query,
        pin=settings.value("history.pin"),
        excerpts=False,
        note=False,
        classify=lambda raw: kind_of.get(id(raw), StepClass.LOW),
    )
    stays = {id(message) for message in fitted.messages}
    return {i for i, message in messages.items() if id(message) in stays}


def _text(step: StepRecord, limit: int) -> tuple[str, bool]:
    """Return a step with at most `limit` characters of output (empty if nothing fits), and whether it was cut."""
    output = step.output.strip("\n")
    if not output:
        return (step.title, False) if limit >= 0 else ("", False)
    try:
        body = cut(output, max(limit, 0), _UNIT, marker=MARKER).text
    except DoesNotFit:
        return "", False
    return f"{step.title}\n{body}", body != output


def _refusal(needed: int, available: int) -> DoesNotFit:
    return DoesNotFit(
        f"the teaching notes take {needed:,} tokens and the pack may take {available:,}. They are never truncated:"
        f" use a model with a bigger window, or shorten them by {needed - available:,}",
        needed=needed,
        available=available,
        parts={"teaching_notes": needed},
    )
