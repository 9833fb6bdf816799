"""The provider's cache: for each call, the tokens that it could have read, those that it read, and the reason.

After a call, the provider has the whole prompt. Tokens that the next call could have read from the cache, but did not,
cost the full price. If prompts were captured, the first message that differs is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from brim.meter import catalogue
from brim.meter.catalogue import Cache
from brim.store.store import Store
from brim.studio.costs import cost
from brim.studio.prompt_source import numbers_in
from brim.studio.views.sessions import EXCERPT, role_and_text, session_row
from brim.studio.workspace import Workspace
from brim.wire import format_of

_NEAR = 256
"""Tokens by which a cache may lag behind the prompt, since it grows in steps."""
_FINE = ("first", "cached", "minimum", "unknown")
"""Reasons that do not mean a loss."""
REASONS = {
    "first": "The first prompt of the session: the cache was empty.",
    "tools": "The tool definitions changed, and they precede everything else: send the same tools in the same order.",
    "system": "The system prompt changed, and it comes first: move changing text, such as the time, to the end.",
    "compacted": "Older turns were replaced by excerpts or a summary, so the prompt differs from there on.",
    "moved": "The prompt does not start like the previous one: turns were dropped, or a message was changed.",
    "minimum": "The unchanged start is shorter than the {minimum:,} tokens from which this provider caches.",
    "expired": "The previous prompt was {gap:,.0f} seconds ago, and this provider caches for {ttl:,} seconds.",
    "missed": "The prompt starts like the previous one, but the provider did not read it from its cache.",
    "cached": "Everything that could be cached was read from the cache.",
    "unknown": "The provider did not report cached tokens.",
}


def cache(workspace: Workspace, session: str) -> dict[str, Any]:
    """Return each call of a session, the newest first, with the expected and the reported cached tokens.

    Raises:
        UnknownName: there is no such session.
    """
    store = workspace.store_of(session)
    row = session_row(store, session)
    prompts = workspace.prompts(session).rows
    differ = [("", None), *(_difference(old, new) for old, new in pairwise(_inputs(store, session)))]
    rows = [_row(row, prompts[i - 1] if i else None, *differ[i]) for i, row in enumerate(prompts)]
    return {**row.to_dict(), "calls": rows[::-1], "sums": _sums(rows)}


def _row(
    call: Mapping[str, Any], before: Mapping[str, Any] | None, part: str | None, difference: dict[str, Any] | None
) -> dict[str, Any]:
    """Return a call: its prompt, and the one before it; `part` is the first part that differs, `None` if unknown."""
    known = catalogue.lookup(call["model"])
    rules = known.cache if known is not None and known.cache is not None else Cache()
    actual, same = call["cached"], call["stable_prefix"] if before is not None else 0
    why = _why(call, before, rules, part)
    cacheable = _cacheable(before, call["used"], rules)
    found = actual if actual is not None else same
    lost = max(0, cacheable - found) if found is not None and why not in _FINE else 0
    numbers = {
        "minimum": rules.minimum,
        "gap": call["at"] - before["at"] if before is not None else 0,
        "ttl": rules.ttl[0] if rules.ttl else 0,
    }
    return {
        **{name: call[name] for name in ("step", "number", "at", "used")},
        "same": same,
        "expected": max(cacheable, actual or 0),
        "actual": actual,
        "lost": lost,
        "lost_usd": _lost_cost(lost, call),
        "why": why,
        "text": REASONS[why].format(**numbers),
        "difference": None if why in ("cached", "expired") else difference,
    }


def _cacheable(before: Mapping[str, Any] | None, used: int, rules: Cache) -> int:
    """Return how many tokens of the previous prompt the provider could have read from its cache."""
    if before is None:
        return 0
    cacheable = min(_without_memory(before), used)
    return cacheable if rules.minimum is None or cacheable >= rules.minimum else 0


def _without_memory(before: Mapping[str, Any]) -> int:
    """Return the tokens of a prompt without its memory, which comes last and may change."""
    return int(before["used"] - (before["categories"] or {}).get("memory", 0))


def _lost_cost(lost: int, call: Mapping[str, Any]) -> float | None:
    """Return the extra cost of tokens that were not read from the cache; `None` if a price is unknown."""
    whole, read = (cost(call["model"], call["unit"], call["used"], cached) for cached in (0, lost))
    return None if whole is None or read is None else round(whole - read, 8)


def _why(call: Mapping[str, Any], before: Mapping[str, Any] | None, rules: Cache, part: str | None) -> str:
    if before is None:
        return "first"
    if part in ("tools", "system"):
        return part
    if call["compacted"]:
        return "compacted"
    expected, actual = call["stable_prefix"], call["cached"]
    if part == "messages" and actual is None:
        return "moved"
    if expected is None or actual is None:
        return "unknown"
    grew = part == "" and not call["truncated"]
    if expected + _NEAR < _without_memory(before) and not grew:
        return "moved"
    if actual + _NEAR >= expected:
        return "cached"
    if rules.minimum is not None and expected < rules.minimum:
        return "minimum"
    if rules.ttl and call["at"] - before["at"] > rules.ttl[0]:
        return "expired"
    return "missed"


def _inputs(store: Store, session: str) -> Iterator[Mapping[str, Any] | None]:
    """Yield the tools, the system prompt and the messages of each prompt; `None` if they were not recorded."""
    bodies: dict[int, Mapping[str, Any]] = {}
    for entry in store.entries(session, kinds=["message", "note", "prompt"]):
        if entry.kind != "prompt":
            bodies[entry.number] = entry.body
        elif "recorded" in entry.body:
            messages = [bodies[number]["message"] for number in numbers_in(entry.body["recorded"])]
            yield {**bodies[entry.body["attached"]], "messages": messages, "options": {}}
        else:
            receipt = entry.body.get("receipt")
            found = receipt.get("capture") if isinstance(receipt, Mapping) else None
            yield found if isinstance(found, Mapping) and isinstance(found.get("messages"), Sequence) else None


def _difference(
    old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> tuple[str | None, dict[str, Any] | None]:
    """Return which part differs first, and where; `""` if the new prompt is only longer, `None` if unknown."""
    if old is None or new is None:
        return None, None
    for part in ("tools", "system"):
        if old.get(part) != new.get(part):
            return part, {"index": None, "role": part, **_excerpts(str(old.get(part)), str(new.get(part)))}
    for i, (left, right) in enumerate(zip(old["messages"], new["messages"], strict=False)):
        if left is not right and left != right:
            return _changed(i, left, right, new["options"].get("format") or format_of([right]))
    return "messages" if len(new["messages"]) < len(old["messages"]) else "", None


def _changed(at: int, left: Any, right: Any, format: str | None) -> tuple[str, dict[str, Any]]:
    """Return which part two messages belong to, and where they begin to differ."""
    (before, old), (role, new) = role_and_text(left, format), role_and_text(right, format)
    part = "system" if before == role == "system" else "messages"
    return part, {"index": at, "role": role, **_excerpts(old, new)}


def _excerpts(old: str, new: str) -> dict[str, Any]:
    """Return where two texts start to differ, and an excerpt of each, a quarter of which precedes the difference."""
    pairs = enumerate(zip(old, new, strict=False))
    at = next((i for i, (left, right) in pairs if left != right), min(len(old), len(new)))
    start = max(0, at - EXCERPT // 4)
    return {"offset": at, "before": old[start : start + EXCERPT], "after": new[start : start + EXCERPT]}


def _sums(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of all calls."""
    known = [row for row in rows if row["actual"] is not None]
    costs = [row["lost_usd"] for row in rows]
    return {
        "calls": len(rows),
        "known": len(known),
        **{name: sum(row[name] for row in known) for name in ("expected", "actual", "used")},
        "lost": sum(row["lost"] for row in rows),
        "lost_usd": round(sum(costs), 6) if costs and None not in costs else None,
    }
