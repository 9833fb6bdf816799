"""The provider's cache: for each call, how much of the prompt it could have found, how much it found, and why less.

A session counts how much of each prompt repeats the one before; the provider reports how much it found. Where the two
differ, the log says what happened in between. If the prompts were captured, the first message that differs is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.meter import catalogue
from brim.meter.model import Cache
from brim.sessions.prompt_step import CUT
from brim.store.base import LogEntry
from brim.studio.costs import prices_of
from brim.studio.views.sessions import role_and_text, session_row
from brim.studio.workspace import Workspace

_MOST_CALLS = 500
_NEAR = 256
"""Tokens by which a healthy cache may lag behind: it grows in steps."""
_EXCERPT = 200
REASONS = {
    "first": "The first prompt of the session: the cache was empty.",
    "tools": "The tool definitions changed, and they precede everything else.",
    "system": "The system prompt changed, and it precedes the messages.",
    "compacted": "Older turns were replaced by a summary or by excerpts, so the prompt is new from there on.",
    "moved": "The prompt does not start like the one before: turns were dropped, or a message was changed.",
    "minimum": "The repeated part is shorter than the {minimum:,} tokens from which this provider caches.",
    "expired": "The prompt before was {gap:,.0f} seconds ago, and this provider caches for {ttl:,} seconds.",
    "missed": "The prompt starts like the one before, but the provider did not find it.",
    "cached": "Everything that could be cached was found.",
    "unknown": "The provider did not report what it found.",
}


@dataclass(kw_only=True, slots=True)
class CachedCall:
    """One prompt, its reported usage, and whether a compaction preceded it."""

    entry: LogEntry
    usage: Mapping[str, Any] = field(default_factory=dict)
    compacted: bool = False


def cache(workspace: Workspace, session: str) -> dict[str, Any]:
    """Return each call of a session, the newest first, with the expected and the reported cached tokens.

    Raises:
        UnknownName: there is no such session.
    """
    store = workspace.store()
    row = session_row(store, session)
    calls: list[CachedCall] = []
    compacted = False
    for entry in store.entries(session, kinds=["prompt", "usage", "compaction"]):
        if entry.kind == "prompt":
            calls.append(CachedCall(entry=entry, compacted=compacted or bool(entry.body.get("cut"))))
            compacted = False
        elif entry.kind == "usage" and calls:
            calls[-1].usage = entry.body
        compacted = compacted or (entry.kind == "compaction" and entry.body["trigger"] != CUT)
    model = row.status.get("model")
    rows = [_row(call, calls[i - 1] if i else None, model) for i, call in enumerate(calls)]
    return {**row.to_dict(), "calls": rows[::-1][:_MOST_CALLS], "sums": _sums(rows), "reasons": REASONS}


def _row(call: CachedCall, before: CachedCall | None, model: str | None) -> dict[str, Any]:
    body = call.entry.body
    known = catalogue.lookup(model)
    rules = known.cache if known is not None and known.cache is not None else Cache()
    expected = body.get("stable_prefix") if before is not None else 0
    actual = call.usage.get("cached")
    why, difference = _why(call, before, expected, actual, rules)
    lost = max(0, expected - actual) if expected is not None and actual is not None and why != "cached" else 0
    numbers = {
        "minimum": rules.minimum,
        "gap": call.entry.at - before.entry.at if before is not None else 0,
        "ttl": rules.ttl[0] if rules.ttl else 0,
    }
    return {
        "number": call.entry.number,
        "at": call.entry.at,
        "used": body["used"],
        "expected": expected,
        "actual": actual,
        "lost": lost,
        "lost_usd": _lost_cost(lost, model, body),
        "why": why,
        "text": REASONS[why].format(**numbers),
        "difference": difference,
    }


def _lost_cost(lost: int, model: str | None, body: Mapping[str, Any]) -> float | None:
    """Return what the tokens that were not found in the cache cost more; `None` if a price is unknown."""
    prices = prices_of(model, body["used"])
    if prices is None or prices.input is None or prices.cached_read is None or body.get("unit") != "tokens":
        return None
    return round(lost * (prices.input - prices.cached_read) / 1_000_000, 8)


def _why(
    call: CachedCall, before: CachedCall | None, expected: int | None, actual: int | None, rules: Cache
) -> tuple[str, dict[str, Any] | None]:
    """Return the reason for what a call found, and the first difference from the prompt before."""
    if before is None:
        return "first", None
    old, new = _captured(before), _captured(call)
    part, difference = _difference(old, new)
    if part in ("tools", "system"):
        return part, difference
    if call.compacted:
        return "compacted", difference
    if expected is None or actual is None:
        return "unknown", difference
    previous = before.entry.body
    kept = previous["used"] - (previous.get("categories") or {}).get("memory", 0)  # Memory comes last and may change.
    grew = old is not None and new is not None and part == "" and not call.entry.body["truncated"]
    if expected + _NEAR < kept and not grew:
        return "moved", difference
    if actual + _NEAR >= expected:
        return "cached", None
    if rules.minimum is not None and expected < rules.minimum:
        return "minimum", difference
    if rules.ttl and call.entry.at - before.entry.at > rules.ttl[0]:
        return "expired", None
    return "missed", difference


def _captured(call: CachedCall) -> Mapping[str, Any] | None:
    receipt = call.entry.body.get("receipt")
    found = receipt.get("capture") if isinstance(receipt, Mapping) else None
    return found if isinstance(found, Mapping) and isinstance(found.get("messages"), Sequence) else None


def _difference(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> tuple[str, dict[str, Any] | None]:
    """Return which part differs first, and where; `""` if the new prompt only has more at its end."""
    if old is None or new is None:
        return "", None
    for part in ("tools", "system"):
        if old.get(part) != new.get(part):
            return part, {"index": None, "role": part, **_excerpts(str(old.get(part)), str(new.get(part)))}
    format = (new.get("options") or {}).get("format")
    for i, (left, right) in enumerate(zip(old["messages"], new["messages"], strict=False)):
        if left != right:
            role, text = role_and_text(right, format)
            return "messages", {"index": i, "role": role, **_excerpts(role_and_text(left, format)[1], text)}
    return "", None


def _excerpts(old: str, new: str) -> dict[str, Any]:
    """Return where two texts start to differ, and an excerpt of each from there."""
    pairs = enumerate(zip(old, new, strict=False))
    at = next((i for i, (left, right) in pairs if left != right), min(len(old), len(new)))
    start = max(0, at - _EXCERPT // 4)
    return {"offset": at, "before": old[start : start + _EXCERPT], "after": new[start : start + _EXCERPT]}


def _sums(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of all calls, and the reasons by the tokens that they cost, the most first."""
    known = [row for row in rows if row["actual"] is not None and row["expected"] is not None]
    costs = [row["lost_usd"] for row in rows]
    lost: Counter[str] = Counter()
    for row in rows:
        lost[row["why"]] += row["lost"]
    count = Counter(row["why"] for row in rows)
    why = sorted(count, key=lambda name: (-lost[name], -count[name]))
    return {
        "calls": len(rows),
        "known": len(known),
        **{name: sum(row[name] for row in known) for name in ("expected", "actual", "used")},
        "lost": lost.total(),
        "lost_usd": round(sum(costs), 6) if costs and None not in costs else None,
        "why": [{"name": name, "calls": count[name], "lost": lost[name]} for name in why],
    }
