"""The cache doctor: what of each prompt a provider's cache should have held, what it did hold, and why less.

What should have been there is known: a session counts how much of each prompt begins like the one before. What was
there is what the provider reported. Where the two differ, the log says what happened in between; where the prompts were
captured, the first message that differs is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import BrimError
from brim.meter import catalogue
from brim.meter.model import Cache
from brim.store.base import LogEntry
from brim.studio.desk import Desk
from brim.studio.price import prices_of
from brim.studio.sessions import row_of
from brim.wire import wire

_MOST_CALLS = 500
_NEAR = 256
"""Tokens by which a cache may lag behind without anything being wrong: it grows in steps."""
_EXCERPT = 200
REASONS = {
    "first": "The first prompt of its session: nothing could be in the cache.",
    "tools": "The tool definitions changed, and they stand before everything else.",
    "system": "The system prompt changed, and it stands before the conversation.",
    "compacted": "Older turns were replaced by a summary just before, so the prompt begins anew.",
    "moved": "The prompt did not begin like the one before: turns were left out, or a message was changed.",
    "minimum": "What could be held was shorter than the {minimum:,} tokens from which this provider holds a prompt.",
    "expired": "The prompt before was {gap:,.0f} seconds ago, and this provider holds one for {ttl:,} seconds.",
    "missed": "The prompt begins like the one before, and yet the provider did not find it.",
    "held": "As much as could be was found in the cache.",
    "unknown": "The provider did not say what it found.",
}
"""Why a call found what it found."""


@dataclass(kw_only=True, slots=True)
class CachedCall:
    """One prompt, what was reported of it, and what happened before it."""

    entry: LogEntry
    usage: Mapping[str, Any] = field(default_factory=dict)
    compacted: bool = False


def calls(desk: Desk, session: str) -> dict[str, Any]:
    """Return each call of a session, the newest first, with what the cache should have held and what it did.

    Raises:
        UnknownName: no such session.
    """
    store = desk.needed()
    row = row_of(store, session)
    found: list[CachedCall] = []
    compacted = False
    for entry in store.entries(session, kinds=["prompt", "usage", "compaction"]):
        if entry.kind == "prompt":
            found.append(CachedCall(entry=entry, compacted=compacted))
            compacted = False
        elif entry.kind == "usage" and found:
            found[-1].usage = entry.body
        compacted = compacted or entry.kind == "compaction"
    model = row.status.get("model")
    cache = _cache(model)
    rows = [_row(each, found[i - 1] if i else None, model, cache) for i, each in enumerate(found)]
    return {**row.to_dict(), "calls": rows[::-1][:_MOST_CALLS], "sums": _sums(rows), "reasons": REASONS}


def _cache(model: str | None) -> Cache | None:
    try:
        return catalogue.find(model).cache if model else None
    except BrimError:
        return None


def _row(call: CachedCall, before: CachedCall | None, model: str | None, cache: Cache | None) -> dict[str, Any]:
    body = call.entry.body
    expected = body.get("stable_prefix") if before is not None else 0
    actual = call.usage.get("cached")
    why, place = _why(call, before, expected, actual, cache)
    lost = max(0, expected - actual) if expected is not None and actual is not None and why != "held" else 0
    known = prices_of(model, body["used"])
    dear = known is not None and known.input is not None and known.cached_read is not None
    each = (known.input or 0) - (known.cached_read or 0) if known is not None and dear else None
    numbers = {
        "minimum": cache.minimum if cache is not None else None,
        "gap": call.entry.at - before.entry.at if before is not None else 0,
        "ttl": cache.ttl[0] if cache is not None and cache.ttl else 0,
    }
    return {
        "number": call.entry.number,
        "at": call.entry.at,
        "used": body["used"],
        "expected": expected,
        "actual": actual,
        "lost": lost,
        "lost_usd": None if each is None or body.get("unit") != "tokens" else round(lost * each / 1_000_000, 8),
        "why": why,
        "told": REASONS[why].format(**numbers),
        "place": place,
    }


def _why(
    call: CachedCall, before: CachedCall | None, expected: int | None, actual: int | None, cache: Cache | None
) -> tuple[str, dict[str, Any] | None]:
    """Return why a call found what it found, and the first message that differs from the prompt before."""
    if before is None:
        return "first", None
    part, place = _differs(_captured(before), _captured(call))
    if part in ("tools", "system"):
        return part, place
    if call.compacted:
        return "compacted", place
    if expected is None or actual is None:
        return "unknown", place
    had = before.entry.body
    kept = had["used"] - (had.get("categories") or {}).get("memory", 0)  # Memory stands at the end, and may change.
    if expected + _NEAR < kept and not _grew(before, call):
        return "moved", place
    if actual + _NEAR >= expected:
        return "held", None
    if cache is not None and cache.minimum is not None and expected < cache.minimum:
        return "minimum", place
    if cache is not None and cache.ttl and call.entry.at - before.entry.at > cache.ttl[0]:
        return "expired", None
    return "missed", place


def _grew(before: CachedCall, call: CachedCall) -> bool:
    """Return whether a prompt is the one before with more at its end, as far as the captured messages tell."""
    old, new = _captured(before), _captured(call)
    return old is not None and new is not None and _differs(old, new)[0] == "" and not call.entry.body["truncated"]


def _captured(call: CachedCall) -> Mapping[str, Any] | None:
    receipt = call.entry.body.get("receipt")
    found = receipt.get("capture") if isinstance(receipt, Mapping) else None
    return found if isinstance(found, Mapping) and isinstance(found.get("messages"), Sequence) else None


def _differs(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> tuple[str, dict[str, Any] | None]:
    """Return which part differs first, and where; nothing where the one only has more at its end."""
    if old is None or new is None:
        return "", None
    for part in ("tools", "system"):
        if old.get(part) != new.get(part):
            return part, {"index": None, "role": part, **_sides(str(old.get(part)), str(new.get(part)))}
    format = (new.get("options") or {}).get("format") or "openai"
    for i, (left, right) in enumerate(zip(old["messages"], new["messages"], strict=False)):
        if left != right:
            texts = [_text(each, format) for each in (left, right)]
            return "messages", {"index": i, "role": _role(right, format), **_sides(*texts)}
    return "", None


def _sides(old: str, new: str) -> dict[str, Any]:
    """Return where two texts part, and a piece of each from there."""
    same = next((i for i, (left, right) in enumerate(zip(old, new, strict=False)) if left != right), None)
    at = min(len(old), len(new)) if same is None else same
    start = max(0, at - _EXCERPT // 4)
    return {"offset": at, "before": old[start : start + _EXCERPT], "after": new[start : start + _EXCERPT]}


def _text(message: Any, format: str) -> str:
    try:
        return wire(format).read(message, 0).text()
    except BrimError:
        return ""


def _role(message: Any, format: str) -> str:
    try:
        return wire(format).read(message, 0).role
    except BrimError:
        return ""


def _sums(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what all calls come to; the reasons by how much they cost, the dearest first."""
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
        "expected": sum(row["expected"] for row in known),
        "actual": sum(row["actual"] for row in known),
        "used": sum(row["used"] for row in known),
        "lost": sum(row["lost"] for row in rows),
        "lost_usd": round(sum(costs), 6) if costs and None not in costs else None,
        "why": [{"name": name, "calls": count[name], "lost": lost[name]} for name in why],
    }
