"""What a session wastes or has lost, with the tokens, the cost, and the setting that would fix it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from brim.audit.fields import loaded
from brim.errors import BrimError
from brim.sessions.log.overview import SessionUse
from brim.store.base import LogEntry
from brim.studio.costs import cost
from brim.studio.prompt_rows import tool_name
from brim.studio.prompt_source import PromptSource, meter_of, opened_prompt
from brim.studio.views import keep
from brim.studio.views.cache import cache
from brim.studio.views.prompt import prompt
from brim.studio.views.sessions import EXCERPT, session_row
from brim.studio.workspace import Workspace
from brim.wire import format_of, wire

_LARGE = 0.25
"""The share of the window from which a result is large."""
_NOTABLE = 0.002
"""The share of the window from which something is reported."""
_OFTEN = 0.2
"""The broken cache is reported if messages were left out of more than this share of requests."""
_NEAR = 24
"""Characters shown on each side of a difference."""
_MOST = 5
"""Insights of one kind."""
_CAUSES = {
    "system": ("The system prompt changed", "Move changing text, such as the time, to the end of the messages."),
    "tools": ("The tools changed", "Send the same tools in the same order with each request."),
    "moved": ("The start of the prompt changed", "Append to the history, and leave earlier messages unchanged."),
    "compacted": ("Messages were dropped", "Let brim cut the history: it keeps a cut as long as the prompt fits."),
    "expired": ("The cache had expired", "Use a longer cache lifetime, if the provider offers one."),
}
"""Why the cache was not read, and what to do about it."""


class ToolResult(NamedTuple):
    """One result of a tool."""

    tool: str
    arguments: str
    text: str


@dataclass(slots=True)
class _Session:
    """What is known about a session."""

    workspace: Workspace
    name: str
    row: SessionUse
    last: PromptSource
    calls: list[dict[str, Any]]
    """The calls of the view `cache`, the newest first."""
    results: list[tuple[ToolResult, int, int]]
    """The results of tools, each with its tokens and its log entry."""
    called: set[str]

    @property
    def window(self) -> int:
        return int(self.row.status.get("window") or 0)

    def percent(self, tokens: int) -> str:
        """Return tokens as a share of the window."""
        return f"{100 * tokens / max(1, self.window):.0f} %"

    def each_time(self, tokens: int) -> float | None:
        """Return the cost of tokens at the start of each prompt, at the cached price if they were cached."""
        spent = [cost(self.last.model, "tokens", tokens, min(tokens, call["actual"] or 0)) for call in self.calls]
        known = [each for each in spent if each is not None]
        return round(sum(known), 6) if len(known) == len(spent) else None

    def insight(self, kind: str, title: str, detail: str, tokens: int, do: str, **more: Any) -> dict[str, Any]:
        values = {"kind": kind, "title": title, "detail": detail, "tokens": tokens, "cost_usd": None}
        return {**values, "step": None, "do": do, "key": None, "value": None, **more}


def insights(workspace: Workspace, session: str) -> dict[str, Any]:
    """Return what a session wastes or has lost, ordered by tokens.

    Raises:
        UnknownName: there is no such session, or it has no prompt.
    """

    def found() -> dict[str, Any]:
        read = _read(workspace, session)
        rows = [each for kind in _KINDS for each in [*kind(read)][:_MOST]]
        notable = [each for each in rows if each["tokens"] >= _NOTABLE * read.window]
        return {"insights": sorted(notable, key=lambda each: -each["tokens"])}

    return workspace.cached("insights", session, found)


def _read(workspace: Workspace, session: str) -> _Session:
    store = workspace.store_of(session)
    row, last = session_row(store, session), opened_prompt(workspace, session)
    scale, calls = meter_of(last.model), dict[str, tuple[str, str]]()
    results: list[tuple[ToolResult, int, int]] = []
    for entry in store.entries(session, kinds=["message"]):
        results += [(result, scale.count(result.text), entry.number) for result in _results_in(entry, calls)]
    called = {name for name, _ in calls.values()}
    return _Session(workspace, session, row, last, cache(workspace, session)["calls"], results, called)


def _results_in(entry: LogEntry, calls: dict[str, tuple[str, str]]) -> Iterator[ToolResult]:
    """Yield the results of a message; its calls are added to `calls`: the tool and the arguments, by id."""
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


def _tools(read: _Session) -> Iterator[dict[str, Any]]:
    """Yield the tools that were offered and never called."""
    offered = {name: len(str(tool)) for tool in read.last.tools or () if (name := tool_name(tool))}
    unused = [name for name in offered if name not in read.called]
    rows = prompt(read.workspace, read.name)["rows"]
    whole = sum(row["units"] for row in rows if row["category"] == "tools")
    tokens = whole * sum(offered[name] for name in unused) // max(1, sum(offered.values()))
    if not unused:
        return
    used = [name for name in offered if name in read.called]
    called = f"only {', '.join(used)} {'was' if len(used) == 1 else 'were'} called" if used else "none was called"
    yield read.insight(
        "tools",
        f"{len(unused):,} of {len(offered):,} tools were never called",
        f"{len(offered):,} tools, {whole:,} tokens, {read.percent(whole)} of the window; {called}",
        tokens,
        "Offer only the tools that the task needs.",
        cost_usd=read.each_time(tokens),
        step=read.last.step,
    )


def _repeats(read: _Session) -> Iterator[dict[str, Any]]:
    """Yield calls that were repeated with the same result."""
    found: dict[ToolResult, list[tuple[int, int]]] = defaultdict(list)
    for result, units, number in read.results:
        if result.tool:
            found[result].append((units, number))
    again = sorted(found.items(), key=lambda each: -each[1][0][0] * (len(each[1]) - 1))
    for result, times in again:
        if len(times) < 2:
            break
        tokens = times[0][0] * (len(times) - 1)
        phrase = keep.clipped(f"{result.tool} {result.arguments}".partition("\n")[0])
        lost = bool(read.row.status.get("compactions"))
        yield read.insight(
            "repeat",
            f"The same result was read {len(times):,} times",
            f"{_call(result)} returned the same {times[0][0]:,} tokens each time",
            tokens,
            "Keep the first result, so that the agent need not read it again."
            if lost
            else "Tell the agent what it has read.",
            cost_usd=cost(read.last.model, "tokens", tokens),
            step=read.last.prompts.step_after(times[-1][1]),
            **({"key": keep.KEY, "value": keep.value_with(read.workspace, phrase)} if lost else {}),
        )


def _call(result: ToolResult) -> str:
    """Return a call in a line: the tool, and the values of its arguments."""
    given = loaded(result.arguments)
    values = " ".join(map(str, given.values())) if isinstance(given, Mapping) else result.arguments
    return " ".join(f"{result.tool} {values}".split())[: keep.LONGEST]


def _broken_cache(read: _Session) -> Iterator[dict[str, Any]]:
    """Yield the reasons why the provider's cache was not read."""
    for why, (title, do) in _CAUSES.items():
        calls = [call for call in read.calls if call["why"] == why and call["lost"]]
        tokens = sum(call["lost"] for call in calls)
        # An occasional compaction keeps the prompt small.
        if not tokens or (why == "compacted" and len(calls) < _OFTEN * len(read.calls)):
            continue
        costs = [call["lost_usd"] for call in calls]
        places = Counter((call["difference"] or {}).get("offset") for call in calls)
        where, _ = places.most_common(1)[0]
        sample = next(call for call in calls if (call["difference"] or {}).get("offset") == where)
        at = f" at character {where + 1:,}" if where is not None and why in ("system", "tools") else ""
        yield read.insight(
            "cache",
            f"{title}{at} in {len(calls):,} of {len(read.calls):,} requests",
            f"{tokens:,} tokens could have been cached, and cost the full price. {_shown(sample)}",
            tokens,
            do,
            cost_usd=round(sum(costs), 6) if None not in costs else None,
            step=sample["step"],
        )


def _shown(call: Mapping[str, Any]) -> str:
    """Return the reason of a call, with the place where its prompt begins to differ."""
    change = call["difference"]
    if change is None:
        return str(call["text"])
    at = min(change["offset"], EXCERPT // 4)
    before, after = (change[name][max(0, at - _NEAR) : at + _NEAR] for name in ("before", "after"))
    return f"{call['text']} It had {before!r}, then {after!r}."


def _large_results(read: _Session) -> Iterator[dict[str, Any]]:
    """Yield results that take a large share of the window."""
    for result, units, number in sorted(read.results, key=lambda each: -each[1]):
        if not read.window or units < _LARGE * read.window:
            break
        yield read.insight(
            "large result",
            f"One result takes {read.percent(units)} of the window",
            f"{_call(result)} returned {units:,} tokens",
            units,
            "Set a limit for tool results: brim keeps the most important parts of a longer one.",
            cost_usd=cost(read.last.model, "tokens", units),
            step=read.last.prompts.step_after(number),
            key="session.tool_limit",
            value="10%",
        )


_KINDS: Sequence[Callable[[_Session], Iterator[Mapping[str, Any]]]] = (
    _tools,
    _repeats,
    _broken_cache,
    _large_results,
)
