"""The sources of the budget lab: prompts and histories that can be fitted at any budget.

An opened source is cached, so each of its texts is counted once, however often the slider moves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import as_file, files
from threading import RLock
from typing import Any, cast

from brim.errors import DoesNotFit, InvalidType, UnknownName
from brim.history.compact import mark
from brim.history.history import History
from brim.meter import catalogue
from brim.receipts.capture import Capture
from brim.receipts.receipt import Receipt
from brim.requests.replay import replay
from brim.sessions.log.overview import GATEWAY
from brim.sessions.session import Session
from brim.settings.spec import read_spec
from brim.studio.prompt_source import PromptSource, opened_prompt
from brim.studio.views.sessions import EXCERPT, role_and_text
from brim.studio.workspace import Workspace
from brim.wire import Format, wire

SAMPLE = "sample:agent"
_MOST_SOURCES = 60
_RANGE = re.compile(r"messages\[(\d+)(?::(\d+))?\]")
_OPTIONS = ("select", "within", "recent", "older", "query", "pin_first_user", "excerpts", "note", "pin")
"""The options of a recorded fit that apply at any budget."""


class LabSource:
    """The input of a fit, which can be fitted at any budget; each message of a history is counted once."""

    def __init__(self, id: str, title: str, given: Capture, size: Mapping[str, Any] | None = None) -> None:
        """Prepare to fit.

        Args:
            id: how requests name it.
            title: what the page calls it.
            given: the input.
            size: the size of the recorded prompt, as shown on every screen. The lab counts only what it can fit, which
                excludes parts missing from the log.
        """
        self.id, self.title, self.size, self.budget = id, title, size, given.budget
        self.kind = "sections" if given.kind == "sections" else "messages"
        self.model = given.model or (given.meter if catalogue.lookup(given.meter) else None)
        self._given = given
        self._texts = {section.name: section.text for section in given.sections}
        self._history: History | None = None
        if given.kind == "messages":
            named = {"meter": given.meter} if given.model is None else {"model": given.model}
            format = cast("Format", str(given.options["format"]))
            self._history = History(**(named if given.measure is None else {"meter": given.measure}), format=format)
            self._history.extend(given.messages or ())
        self._lock = RLock()

    def fit(self, budget: int) -> Receipt:
        """Return the receipt at a budget; calls from several threads run one after the other.

        A history is fitted with its tools and system prompt, without an earlier cut.

        Raises:
            DoesNotFit: the required pieces are larger than the budget.
        """
        with self._lock:
            if self._history is None:
                receipt: Receipt = replay(self._given, budget=budget).receipt
                return receipt
            options = {name: self._given.options[name] for name in _OPTIONS if name in self._given.options}
            fit = partial(self._history.fit, budget, tools=self._given.tools, system=self._given.system, capture=True)
            try:
                return fit(**options).receipt
            except DoesNotFit:  # Like the session: a shorter summary is better than no prompt.
                if not options.get("pin"):
                    raise
                return fit(**{**options, "pin": None}).receipt

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


def listed(workspace: Workspace) -> list[dict[str, str]]:
    """Return what can be opened: a sample, and the sessions of the store."""
    found = [{"id": SAMPLE, "title": "Sample: an agent's prompt of twelve sections", "kind": "sections"}]
    for row in (row for store in workspace.stores() for row in store.sessions(limit=_MOST_SOURCES)):
        kind = row.meta.get("kind", "session")
        if "status" in row.meta and kind != "gateway":
            found.append({"id": f"session:{row.id}", "title": f"{kind} {row.id}", "kind": "messages"})
    return found


def opened(workspace: Workspace, source: str) -> LabSource:
    """Return a source by its id: `session:NAME`, `prompt:NAME@STEP` or the sample, from the cache if it did not change.

    Raises:
        UnknownName: there is no such source.
        InvalidType: its texts were not kept.
    """
    kind, _, name = source.partition(":")
    session, _, step = name.rpartition("@") if kind == "prompt" else (name, "", None)
    if source == SAMPLE:
        return _sample()
    if kind == "prompt":
        prompt = partial(opened_prompt, workspace, session, step)
        return workspace.cached(source, session, lambda: _of_prompt(source, f"{session} · step {step}", prompt()))
    if kind == "session":
        return workspace.cached(source, session, lambda: LabSource(source, session, *_last(workspace, session)))
    raise UnknownName("source for the budget lab", source, [each["id"] for each in listed(workspace)])


def _of_prompt(source: str, title: str, prompt: PromptSource) -> LabSource:
    return LabSource(source, title, prompt.capture(), prompt.size)


@cache
def _sample() -> LabSource:
    sample = sample_receipt().capture
    assert sample is not None
    return LabSource(SAMPLE, "Sample", sample)


def sample_receipt() -> Receipt:
    """Return the receipt of the prompt of `brim demo`, with its texts."""
    with as_file(files("brim.cli").joinpath("demo_prompt")) as folder:
        return read_spec(str(folder / "spec.yaml")).fit(capture=True).receipt


def _last(workspace: Workspace, name: str) -> tuple[Capture, Mapping[str, Any] | None]:
    """Return the input and the size of a session's last prompt, or its current history if no prompt has texts.

    Raises:
        UnknownName: there is no such session.
        InvalidType: a gateway recorded it without texts.
    """
    try:
        prompt = opened_prompt(workspace, name)
        return prompt.capture(), prompt.size
    except (InvalidType, UnknownName):  # Its texts were not kept with its prompts.
        store = workspace.store_of(name)
    row = store.session(name)
    if row is not None and row.meta.get("kind") == GATEWAY:
        raise InvalidType(
            "session", name, "a step with recorded texts: with session.capture: true a gateway records them"
        )
    session = Session.open(name, store=store)
    read = [wire(session.format).read(raw, i) for i, raw in enumerate(session.messages)]
    summaries = [i for i, message in enumerate(read) if mark.piece_of(message) is not None]
    given = Capture(
        budget=session.budget,
        meter=None,
        model=session.settings.model,
        options={"format": session.format, "pin": summaries},
        messages=tuple(session.messages),
        measure=session.meter,
    )
    return given, None
