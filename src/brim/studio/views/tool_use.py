"""Which tools' results take the most tokens, over the recent sessions.

Each message is counted once. A first look at many sessions takes a while, so an answer comes after a second, says how
many sessions it covers, and the next one goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

from brim.errors import BrimError
from brim.meter import DEFAULT, BaseMeter, catalogue, meter
from brim.store.base import LogEntry, SessionRow
from brim.studio.workspace import Workspace
from brim.wire import format_of, wire

_SECONDS = 1.0
_MOST_SESSIONS = 200
_MOST_TOOLS = 8
_CACHE = "results by tool"


@dataclass(slots=True)
class SessionToolUse:
    """The tools of one session."""

    entries: int = 0
    """Log entries that were read."""
    calls: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The tool and the arguments of each call, by the id of the call."""
    tokens: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    largest: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The largest result of each tool, with its log entry."""


class ToolResult(NamedTuple):
    """One result of a tool."""

    tool: str
    arguments: str
    text: str


def tool_use(workspace: Workspace) -> dict[str, Any]:
    """Return the tools by the tokens of their results, with the session and the step of the largest result."""
    until = monotonic() + _SECONDS
    known: dict[str, SessionToolUse] = workspace.cached(_CACHE) or {}
    listed = [(store, row) for store in workspace.stores() for row in store.sessions(limit=_MOST_SESSIONS)]
    read = 0
    for store, row in listed[:_MOST_SESSIONS]:
        one = known.setdefault(row.id, SessionToolUse())
        if one.entries != row.entries and monotonic() <= until:
            scale = meter_of(_model(row))
            for entry in store.entries(row.id, kinds=["message"], after=one.entries):
                _take(one, entry, scale)
            one.entries = row.entries
        read += one.entries == row.entries
    workspace.cache(_CACHE, known)
    return {"tools": _rows(workspace, known), "read": read, "of": len(listed[:_MOST_SESSIONS])}


def _rows(workspace: Workspace, known: dict[str, SessionToolUse]) -> list[dict[str, Any]]:
    tokens: Counter[str] = Counter()
    results: Counter[str] = Counter()
    sessions: Counter[str] = Counter()
    largest: dict[str, tuple[int, int, str]] = {}
    for name, one in known.items():
        tokens += one.tokens
        results += one.results
        sessions += Counter(dict.fromkeys(one.tokens, 1))
        for tool, (units, entry) in one.largest.items():
            largest[tool] = max(largest.get(tool, (0, 0, "")), (units, entry, name))
    whole = tokens.total()
    rows = []
    for tool, units in tokens.most_common(_MOST_TOOLS):
        most, entry, session = largest[tool]
        step = workspace.index.session(workspace.store_of(session), session).step_after(entry)
        row = {"tool": tool, "tokens": units, "share": round(units / whole, 6), "results": results[tool]}
        rows.append({**row, "sessions": sessions[tool], "largest": {"tokens": most, "session": session, "step": step}})
    return rows


def _model(row: SessionRow) -> str | None:
    status = row.meta.get("status")
    model = status.get("model") if isinstance(status, dict) else None
    return model if isinstance(model, str) else None


def meter_of(model: str | None) -> BaseMeter:
    """Return the meter of a model, or the default one if the catalogue does not know it."""
    return meter(model) if model and catalogue.lookup(model) is not None else meter(DEFAULT)


def _take(one: SessionToolUse, entry: LogEntry, scale: BaseMeter) -> None:
    """Add the calls and the results of one message."""
    for result in results_in(entry, one.calls):
        tool, units = result.tool or "unknown", scale.count(result.text)
        one.tokens[tool] += units
        one.results[tool] += 1
        one.largest[tool] = max(one.largest.get(tool, (0, 0)), (units, entry.number))


def results_in(entry: LogEntry, calls: dict[str, tuple[str, str]]) -> Iterator[ToolResult]:
    """Yield the results of a message; its calls are added to `calls`: by their ids, the tool and the arguments."""
    raw = entry.body.get("sent", entry.body.get("message"))
    if not isinstance(raw, dict):
        return
    try:
        message = wire(format_of([raw]) or "openai").read(raw, 0)
    except BrimError:
        return
    last = message.results[0] if message.results else ""
    for piece in message.pieces:
        if piece.kind == "call":
            calls[piece.id] = piece.name, piece.text
        elif piece.kind == "result":
            last = piece.id
        elif piece.kind == "output" and message.answers(piece):
            yield ToolResult(*calls.get(piece.id or last, ("", "")), piece.text)
