"""The sources of the budget lab: prompts and histories that can be fitted at any budget.

An opened source is cached, so each of its texts is counted once, however often the slider moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import as_file, files
from threading import RLock
from typing import Any, Literal, cast

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
from brim.studio.views.sessions import role_and_text
from brim.studio.workspace import Workspace
from brim.wire import Format, wire

SAMPLE = "sample:agent"
_MOST_SOURCES = 60
_EXCERPT = 90
"""Characters of the start of a piece."""
_RANGE = re.compile(r"messages\[(\d+)(?::(\d+))?\]")
_OPTIONS = ("select", "within", "recent", "older", "query", "pin_first_user", "excerpts", "note", "pin")
"""The options of a recorded fit that apply at any budget."""


@dataclass(slots=True, kw_only=True)
class LabSource:
    """Something that can be fitted at any budget."""

    id: str
    title: str
    kind: Literal["sections", "messages"]
    budget: int
    """The budget of the recorded fit, or of the session."""
    model: str | None
    refit: Callable[[int], Receipt] = field(repr=False)
    text: Callable[[str], str] = field(repr=False)
    """Returns the text of a piece by its name."""
    excerpt: Callable[[str], str] = field(repr=False)
    """Returns the start of that text on one line."""
    size: Mapping[str, Any] | None = None
    """The size of the recorded prompt, as shown on every screen. The lab counts only what it can fit, which excludes
    parts missing from the log.
    """
    _lock: RLock = field(default_factory=RLock, repr=False)

    def fit(self, budget: int) -> Receipt:
        """Return the receipt at a budget; calls from several threads run one after the other.

        Raises:
            DoesNotFit: the required pieces are larger than the budget.
        """
        with self._lock:
            return self.refit(budget)

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
        return workspace.cached(source, session, lambda: of_capture(source, session, *_last(workspace, session)))
    raise UnknownName("source for the budget lab", source, [each["id"] for each in listed(workspace)])


def _of_prompt(source: str, title: str, prompt: PromptSource) -> LabSource:
    return of_capture(source, title, prompt.capture(), prompt.size)


@cache
def _sample() -> LabSource:
    sample = sample_receipt().capture
    assert sample is not None
    return of_capture(SAMPLE, "Sample", sample)


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


def of_capture(source: str, title: str, capture: Capture, size: Mapping[str, Any] | None = None) -> LabSource:
    """Return a source for the input of a fit; each message of a history is counted once."""
    texts = {section.name: section.text for section in capture.sections}
    turn = _turn_text(capture.messages or (), str(capture.options.get("format")))

    def text(name: str) -> str:
        return texts[name] if name in texts else turn(name)

    def fit(budget: int) -> Receipt:
        receipt: Receipt = replay(capture, budget=budget).receipt
        return receipt

    return LabSource(
        id=source,
        title=title,
        budget=capture.budget,
        size=size,
        model=capture.model or (capture.meter if catalogue.lookup(capture.meter) else None),
        kind="sections" if capture.kind == "sections" else "messages",
        refit=_refit(capture) if capture.kind == "messages" else fit,
        text=text,
        excerpt=cache(lambda name: " ".join(text(name)[: 2 * _EXCERPT].split())[:_EXCERPT]),
    )


def _refit(given: Capture) -> Callable[[int], Receipt]:
    """Return the fit of a recorded history at any budget, with its tools and system prompt, ignoring an earlier cut."""
    options = {name: given.options[name] for name in _OPTIONS if name in given.options}
    fixed: dict[str, Any] = {"tools": given.tools, "system": given.system, "capture": True}
    format = cast("Format", str(given.options["format"]))
    named = {"meter": given.meter} if given.model is None else {"model": given.model}
    history = History(**(named if given.measure is None else {"meter": given.measure}), format=format)
    history.extend(given.messages or ())

    def fit(budget: int) -> Receipt:
        try:
            return history.fit(budget, **fixed, **options).receipt
        except DoesNotFit:  # Like the session: a shorter summary is better than no prompt.
            if not options.get("pin"):
                raise
            return history.fit(budget, **fixed, **{**options, "pin": None}).receipt

    return fit


def _turn_text(messages: Sequence[Any], format: str) -> Callable[[str], str]:
    """Return a function from the name of a turn in a receipt to its messages, each with its role."""

    def text(name: str) -> str:
        found = _RANGE.match(name)
        if found is None:
            return ""
        start = int(found[1])
        turn = messages[start : int(found[2] or start + 1)]
        return "\n\n".join(": ".join(role_and_text(each, format)) for each in turn)

    return text
