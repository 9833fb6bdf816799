"""The sources of the budget lab: prompts and histories that can be fitted at any budget.

The library fits it, as `brim.replay` does, so a meter counts each text once, however often the slider moves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from brim.errors import DoesNotFit, UnknownName
from brim.history.compact import mark
from brim.meter import catalogue
from brim.receipts.capture import Capture
from brim.receipts.receipt import Receipt
from brim.requests.replay import replay
from brim.settings.spec import read_spec
from brim.studio.prompt_source import opened_prompt
from brim.studio.views.sessions import EXCERPT, role_and_text
from brim.studio.workspace import Workspace

SAMPLE = "sample:agent"
_RANGE = re.compile(r"messages\[(\d+)(?::(\d+))?\]")


class LabSource:
    """The input of a fit, which can be fitted at any budget."""

    def __init__(self, given: Capture, size: Mapping[str, Any] | None = None) -> None:
        """Prepare to fit.

        Args:
            given: the input.
            size: the size of the recorded prompt, as shown on every screen. The lab counts only what it can fit, which
                excludes parts missing from the log.
        """
        self.size, self.budget = size, given.budget
        self.kind = "sections" if given.kind == "sections" else "messages"
        self.model = given.model or (given.meter if catalogue.lookup(given.meter) else None)
        self._given = replace(given, stable=None, held=None)
        self._texts = {section.name: section.text for section in given.sections}

    def fit(self, budget: int) -> Any:
        """Return what fits a budget, without an earlier cut: a prompt, messages or a request.

        Raises:
            DoesNotFit: the required pieces are larger than the budget.
        """
        try:
            return replay(self._given, budget=budget)
        except DoesNotFit:  # Like the session: a shorter summary is better than no prompt.
            if not self._given.options.get("pin"):
                raise
            return replay(replace(self._given, options={**self._given.options, "pin": None}), budget=budget)

    def text(self, name: str) -> str:
        """Return the text of a piece by its name: a section, or the messages of a turn, each with its role."""
        found = _RANGE.match(name)
        if name in self._texts or found is None:
            return self._texts.get(name, "")
        start, format = int(found[1]), str(self._given.options.get("format"))
        turn = (self._given.messages or ())[start : int(found[2] or start + 1)]
        return "\n\n".join(": ".join(role_and_text(each, format)) for each in turn)

    def excerpt(self, name: str) -> str:
        """Return the start of the text of a piece on one line."""
        return " ".join(self.text(name)[: 2 * EXCERPT].split())[:EXCERPT]

    def category(self, name: str) -> str:
        """Return the category of a piece, as the other screens call it; each section is a category of its own."""
        if self.kind == "sections":
            return name
        found = _RANGE.match(name)
        if found is None:
            return name if name in ("tools", "system", "memory") else "other"
        role, _, text = self.excerpt(name).partition(": ")
        if text.startswith(mark.SUMMARY_MARK):
            return "summary"
        if role == "assistant" and found[2] and int(found[2]) - int(found[1]) > 1:
            return "tool results"
        names = {"tool": "tool results", "developer": "system"}
        return names.get(role, role if role in ("user", "assistant", "system") else "messages")


def opened(workspace: Workspace, source: str) -> LabSource:
    """Return a source by its id: `prompt:NAME@STEP`, or the sample.

    Raises:
        UnknownName: there is no such source.
        InvalidType: its texts were not kept.
    """
    if source == SAMPLE:
        return _sample()
    kind, _, name = source.partition(":")
    session, _, step = name.rpartition("@")
    if kind != "prompt":
        raise UnknownName("source for the budget lab", source, [SAMPLE])

    def read() -> LabSource:
        prompt = opened_prompt(workspace, session, step)
        return LabSource(prompt.capture(), prompt.size)

    return workspace.cached(source, session, read)


@cache
def _sample() -> LabSource:
    sample = sample_receipt().capture
    assert sample is not None
    return LabSource(sample)


def sample_receipt() -> Receipt:
    """Return the receipt of the prompt of `brim demo`, with its texts."""
    with as_file(files("brim.cli").joinpath("demo_prompt")) as folder:
        return read_spec(str(folder / "spec.yaml")).fit(capture=True).receipt
