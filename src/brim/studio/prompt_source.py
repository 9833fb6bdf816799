"""One prompt of a session as recorded: as it was sent, by another program, or only its sums."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Literal, TypeVar, cast

from brim.errors import InvalidType, UnknownName
from brim.meter import DEFAULT, BaseMeter, catalogue, meter, meter_for
from brim.receipts.capture import Capture
from brim.receipts.receipt import Receipt
from brim.requests.replay import replay
from brim.sessions.log.cut_record import unfolded
from brim.sessions.session_step import prompt_body
from brim.store.base import LogEntry
from brim.store.store import Store
from brim.studio.opened_files import receipt_of
from brim.studio.prompt_index import SessionPrompts
from brim.studio.workspace import Workspace
from brim.wire import Format

K = TypeVar("K", bound=Hashable)
Kind = Literal["sent", "recorded", "sections", "sums"]
_LEFT_OUT = "The program did not include it in this request."
_REPLACED = "A compaction had replaced it before this step."


@dataclass(slots=True, kw_only=True)
class PromptSource:
    """One prompt of a session."""

    session: str
    step: int
    """1 for the first prompt of the session."""
    kind: Kind
    """`sent`: captured as sent; `recorded`: by another program; `sections`; or `sums`."""
    entry: LogEntry
    prompts: SessionPrompts
    messages: Sequence[Any] = ()
    """All messages, including those that were left out."""
    sent: Sequence[tuple[int | None, Any]] = ()
    """The messages that were sent, each with its index in `messages`, or `None` if it was added or changed."""
    tools: Sequence[Any] | None = None
    system: Any = None
    format: Format = "openai"
    model: str | None = None
    meter: BaseMeter = field(default_factory=lambda: meter(DEFAULT))
    receipt: Receipt | None = None
    reasons: Mapping[int, str] = field(default_factory=dict)
    """The reason for the state of a message, by its index, if the receipt has none."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of each section that is present."""
    places: Sequence[int] = ()
    """The index in `messages` of each message of the receipt, if others were added."""

    @property
    def body(self) -> Mapping[str, Any]:
        """The log entry of the prompt."""
        return prompt_body(self.entry.body)

    @property
    def size(self) -> dict[str, Any]:
        """Its size, and the source of the number."""
        size: dict[str, Any] = self.prompts.rows[self.step - 1]["size"]
        return size

    @property
    def has_texts(self) -> bool:
        """Whether its texts were kept, so that it can be fitted again."""
        return self.kind == "recorded" or (self.receipt is not None and self.receipt.capture is not None)

    def capture(self) -> Capture:
        """Return the input of this prompt, with its tools and system prompt, to be fitted at another budget.

        Raises:
            InvalidType: its texts were not kept.
        """
        if self.kind == "recorded":
            known = catalogue.lookup(self.model) is not None
            return Capture(
                budget=int(self.body["budget"]),
                meter=None if known else DEFAULT,
                model=self.model if known else None,
                options={"format": self.format},
                messages=tuple(raw for _, raw in self.sent),
                tools=self.tools,
                system=self.system,
            )
        if self.receipt is None or self.receipt.capture is None:
            raise InvalidType(
                "receipt.capture", None, "the texts of a prompt, which a session with capture=True records"
            )
        return self.receipt.capture


def opened_prompt(workspace: Workspace, session: str, step: str | None = None) -> PromptSource:
    """Return a prompt of a session; without a step, the last one.

    Raises:
        UnknownName: there is no such session or step.
    """
    store = workspace.store_of(session)
    prompts = workspace.prompts(session)
    if not prompts.rows:
        raise UnknownName("session with a prompt", session, [row.id for row in store.sessions(limit=20)])
    last = len(prompts.rows)
    chosen = last if step is None else int(step) if step.isdigit() and len(step) < 9 else 0
    if not 1 <= chosen <= last:
        raise UnknownName("step", str(step), [], f"{session} has steps 1 to {last:,}")
    row = prompts.rows[chosen - 1]
    entry = store.entries(session, kinds=["prompt"], after=row["number"] - 1, limit=1)[0]
    source = PromptSource(
        session=session,
        step=chosen,
        kind="sums",
        entry=entry,
        prompts=prompts,
        model=entry.body.get("model") or prompts.model,
    )
    if "recorded" in entry.body:
        _fill_recorded(store, source)
    elif isinstance(entry.body.get("receipt"), Mapping):
        _fill_captured(source, entry.body)
        if source.kind == "sent":
            _add_replaced(store, source)
    return source


def _fill_captured(source: PromptSource, body: Mapping[str, Any]) -> None:
    """Add the content of the receipt."""
    receipt = source.receipt = receipt_of(body["receipt"])
    given = receipt.capture
    if given is not None and given.kind == "sections":
        source.kind, source.meter = "sections", meter_for(given.meter, given.model)
        source.texts = replay(given, budget=receipt.budget).texts
    elif given is not None and given.kind == "messages" and given.messages is not None:
        source.format = cast("Format", str(given.options["format"]))
        source.messages, source.tools, source.system = given.messages, given.tools, given.system
        source.meter, source.model = meter_for(given.meter, given.model), source.model or given.model
        source.kind, source.sent = "sent", unfolded(body["sent"], given.messages)


def _add_replaced(store: Store, source: PromptSource) -> None:
    """Add the earlier messages that compactions replaced, in their order."""
    said = [entry.body for entry in _messages_before(store, source)]
    given = [json.dumps(raw, sort_keys=True) for raw in source.messages]
    known = {json.dumps(raw, sort_keys=True): raw for raw in (body.get("sent", body["message"]) for body in said)}
    merged, places, gone = _merged([*known], given)
    raws = {**known, **dict(zip(given, source.messages, strict=True))}
    source.messages = [raws[key] for key in merged]
    source.sent = [(None if at is None else places[at], raw) for at, raw in source.sent]
    source.places, source.reasons = places, dict.fromkeys(gone, _REPLACED)


def _messages_before(store: Store, source: PromptSource) -> list[LogEntry]:
    """Return the entries of the messages before a prompt."""
    entries = store.entries(source.session, kinds=["message"], limit=source.entry.number)
    return [entry for entry in entries if entry.number < source.entry.number]


def meter_of(model: str | None) -> BaseMeter:
    """Return the meter of a model, or the default one if the catalogue does not know it."""
    return meter(model) if model and catalogue.lookup(model) is not None else meter(DEFAULT)


def _fill_recorded(store: Store, source: PromptSource) -> None:
    """Add the messages of a recorded request, and earlier messages that it does not have."""
    body = source.body
    attached = store.entries(source.session, kinds=["note"], after=body["attached"] - 1, limit=1)[0].body
    now = numbers_in(body["recorded"])
    entries = {entry.number: entry for entry in _messages_before(store, source)}
    merged, places, gone = _merged(sorted(entries), now)
    source.kind, source.tools, source.system = "recorded", attached.get("tools"), attached.get("system")
    source.messages = [entries[number].body["message"] for number in merged]
    source.sent = [(at, source.messages[at]) for at in places]
    source.reasons = dict.fromkeys(gone, _LEFT_OUT)
    source.format = body["format"]
    source.meter = meter_of(source.model)


def numbers_in(ranges: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the numbers in ranges, each given by its first number and one past its last."""
    return tuple(number for start, stop in ranges for number in range(start, stop))


def _merged(before: Sequence[K], now: Sequence[K]) -> tuple[tuple[K, ...], list[int], list[int]]:
    """Return two lists merged, the indexes of the second list's items in it, and those of items only in the first."""
    merged: list[K] = []
    places: list[int] = []
    gone: list[int] = []
    if not before:
        return tuple(now), list(range(len(now))), []
    still = set(now)
    for tag, i, j, k, m in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if tag in ("delete", "replace"):
            for number in before[i:j]:
                if number not in still:
                    gone.append(len(merged))
                    merged.append(number)
        for number in now[k:m]:
            places.append(len(merged))
            merged.append(number)
    return tuple(merged), places, gone
