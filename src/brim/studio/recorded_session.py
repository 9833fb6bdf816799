"""One conversation of an opened file, written to a store as a session, so that every screen can show it.

brim did not send these requests, so it did not cut them. Each message is written once, and a prompt lists the entries
of its messages. What the program left out of a request is found by comparing it with the previous one.

The size of a prompt is the reported size, if there is one. A log may lack the system prompt and the tools. The tokens
that the provider counted in addition to the messages of the shortest request form a separate category, and the
estimates of the messages are scaled to the rest, so that the parts add up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise, takewhile
from typing import Any

from brim.audit.models import facts_of
from brim.audit.trace import Place, RecordedRequest, TraceStep, is_reply
from brim.errors import BrimError
from brim.history.history import History
from brim.meter import BaseMeter
from brim.meter.window import Window
from brim.sessions.context import Context
from brim.store.store import Store
from brim.wire import Format

KIND = "file"
"""The kind of a session that was read from a file."""
ASSUMED = 128_000
"""The window of a model that is not in the catalogue, in tokens."""
UNLOGGED = "not in the log"
"""The category of tokens that the provider counted but the log lacks: usually the system prompt and the tools."""
_BELIEVED = 2
"""A reported size is ignored if the messages count more than this many times as much."""


class RecordedSession:
    """Writes the requests of one conversation to a store."""

    def __init__(self, store: Store, name: str, file: str) -> None:
        """Create a session with this name, read from a file."""
        self.name = name
        self.prompts = 0
        self._store, self._file = store, file
        self._lines: list[tuple[str, dict[str, Any]]] = []
        self._number = 0
        self._known: dict[bytes, int] = {}
        """The entry of each message, by a hash of the message."""
        self._sizes: dict[int, tuple[int, str]] = {}
        """The tokens and the category of each message, by its entry."""
        self._now: list[int] = []
        """The entries of the messages of the last request."""
        self._attached: tuple[Any, Any] = (None, None)
        """The tools and the system prompt of the last request."""
        self._attached_entry = 0
        self._status: dict[str, Any] = dict.fromkeys(("peak", "warnings", "compactions", "overflows", "used"), 0)
        self._model: str | None = None
        self._facts = facts_of(None, None)
        self._context = Context(self._facts.scale)
        self._format: Format = "openai"
        self._last: TraceStep | None = None
        self._unlogged, self._least = 0, 10**12
        """Tokens of each request that are not in the log, estimated from the shortest request, and the logged tokens of
        that request.
        """
        self._at: float | None = None
        """The time of the last request, if the log has times."""

    def step(self, step: TraceStep, place: Place) -> None:  # noqa: ARG002 - the protocol of the reader
        """Write one request."""
        if not step.length:
            return
        if step.at is not None and step.at != self._at:
            self._flush()
            self._at = step.at
        if self._last is None or step.request.model not in (None, self._model):
            self._model = step.request.model or self._model
            self._facts, self._format = facts_of(self._model, None), step.request.format or "openai"
            self._context = Context(self._facts.scale, format=self._format)
        self._last = step
        self._request(step.messages, step.length, step)

    def finish(self) -> None:
        """Write the remaining entries, and the status."""
        step = self._last
        if step is None:
            return
        if step.request.whole and len(step.messages) > step.length:
            # A file with messages and no model is a transcript; its last message may still need an answer.
            if is_reply(step.messages[-1]):
                self._entries(step.messages[step.length :])
            else:
                self._request(step.messages, len(step.messages), step._replace(kept=step.length))
        self._status |= {"model": self._model, "prompts": self.prompts, "assumed": self._facts.window is None}
        self._flush({"kind": KIND, "status": self._status, "file": self._file, "at": self._at})

    def _window(self, answer: int) -> Window:
        window = self._facts.window or Window(ASSUMED)
        return Window(window.size, reserve=min(answer, window.size - 1), limit=window.limit)

    def _request(self, messages: Sequence[Any], length: int, step: TraceStep) -> None:
        request, before = step.request, self._now
        now = self._now = [*before[: step.kept], *self._entries(messages[min(step.kept, len(before)) : length])]
        attached = (request.tools, request.system if isinstance(request.system, str | list | dict) else None)
        same = attached == self._attached
        if not same or not self._attached_entry:
            self._attached = attached
            self._attached_entry = self._write("note", {"tools": attached[0], "system": attached[1]})
        extra, exact = extra_in(self._facts.scale, self._format, messages[:1], *attached)
        categories = {name: units for name, units in (("system", extra["system"]), ("tools", extra["tools"])) if units}
        for entry in now:
            units, category = self._sizes[entry]
            categories[category] = categories.get(category, 0) + units
        if extra["reply"]:
            categories["framing"] = categories.get("framing", 0) + extra["reply"]
        size = self._measured(categories, request, exact=exact)
        used, window = size["used"], self._window(request.answer)
        shared = len([*takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))])
        start = extra["tools"] + extra["system"] + sum(self._sizes[entry][0] for entry in now[:shared])
        prefix = min(used, (size["unlogged"] or 0) + round(start * size["scale"]))
        gone = sum(self._sizes[entry][1] != "system" for entry in set(before) - set(now))
        cut = None
        if gone and self.prompts:
            self._status["compactions"] += 1
            reason = f"the program left {gone:,} earlier messages out of this request"
            cut = {"before": self._status["used"], "after": used, "replaced": gone, "reason": reason}
        self.prompts += 1
        body = {
            **size,
            "budget": window.budget,
            "unit": "tokens",
            "messages": len(now),
            "truncated": False,
            "stable_prefix": prefix if same and before and self.prompts > 1 else 0,
            "cut": cut,
            "model": self._model,
            "format": self._format,
            "recorded": _ranges(now),
            "attached": self._attached_entry,
        }
        self._status |= {name: body[name] for name in ("used", "exact", "budget", "unit")}
        self._status |= {"peak": max(self._status["peak"], used), "window": window.size, "warning": window.warning}
        self._write("prompt", body)
        self._usage(step)

    def _measured(self, counted: dict[str, int], request: RecordedRequest, *, exact: bool) -> dict[str, Any]:
        """Return the size of a request with its parts: the counted tokens, corrected by the reported usage."""
        total, reported = sum(counted.values()), None if request.usage is None else request.usage[0]
        if reported is not None and reported * _BELIEVED < total:  # Some logs omit cached tokens.
            reported = None
        holds_all = bool({"system", "tools"} & counted.keys())
        if reported is not None and not holds_all and total <= self._least:
            self._unlogged, self._least = max(0, reported - total), total
        unlogged = 0 if holds_all else self._unlogged
        used = total + unlogged if reported is None else reported
        unlogged = min(unlogged, used)
        categories = dict(zip(counted, scaled([*counted.values()], used - unlogged), strict=True))
        return {
            "used": used,
            "exact": exact and not unlogged if reported is None else True,
            "reported": reported is not None,
            "unlogged": unlogged or None,
            "scale": (used - unlogged) / max(1, total),
            "categories": {**categories, **({UNLOGGED: unlogged} if unlogged else {})},
        }

    def _usage(self, step: TraceStep) -> None:
        """Write what the provider reported, and whether it refused the request."""
        request = step.request
        if request.overflowed:
            self._status["overflows"] += 1
            self._write("event", {"event": "overflow", "used_tokens": self._status["used"]})
        if request.usage is not None:
            self._write("usage", dict(zip(("input", "cached"), request.usage, strict=True)))
        self._entries(request.reply)

    def _entries(self, messages: Sequence[Any]) -> list[int]:
        """Return the entry of each message; a message that is new is written."""
        found = []
        for raw in messages:
            key = blake2b(json.dumps(raw, sort_keys=True).encode("utf-8", "surrogatepass"), digest_size=16).digest()
            entry = self._known.get(key)
            if entry is None:
                units, category = size_in(self._context, self._facts.scale, raw)
                entry = self._write("message", {"message": raw})
                self._known[key], self._sizes[entry] = entry, (units, category)
            found.append(entry)
        return found

    def _write(self, kind: str, body: dict[str, Any]) -> int:
        """Add an entry, and return its number."""
        self._lines.append((kind, body))
        self._number += 1
        return self._number

    def _flush(self, meta: Mapping[str, Any] | None = None) -> None:
        if self._lines or meta is not None:
            self._store.append(self.name, self._lines, at=self._at, meta=meta)
        self._lines = []


def size_in(context: Context, scale: BaseMeter, raw: Any) -> tuple[int, str]:
    """Return the tokens and the category of a message; one that cannot be read counts as its text."""
    try:
        sums = context.sizes(raw)
    except BrimError:
        return scale.count(json.dumps(raw, ensure_ascii=False)), "other"
    return sum(sums.values()), max(sums, key=lambda name: sums[name]) if sums else "framing"


def extra_in(
    scale: BaseMeter, format: Format, first: Sequence[Any], tools: Any, system: Any
) -> tuple[dict[str, int], bool]:
    """Return the tokens of a request except its messages, and whether the whole count is exact."""
    history = History(meter=scale, format=format)
    try:
        history.extend(first)
        extra, exact = history.extra_units(tools, system)
    except BrimError:
        extra, exact = History(meter=scale, format=format).extra_units()[0], False
        extra["tools"] = scale.count(json.dumps(tools)) if tools else 0
        extra["system"] = scale.count(json.dumps(system)) if system else 0
    return extra, exact and scale.exact and not history.turns.chat.estimated


def scaled(sizes: Sequence[int], total: int) -> list[int]:
    """Return sizes in the same proportions that add up to a total."""
    whole = sum(sizes)
    ends = [total * end // max(1, whole) for end in accumulate(sizes)]
    return [stop - start for start, stop in pairwise([0, *ends])]


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    """Return numbers as ranges: the first, and one past the last."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1][1] += 1
        else:
            found.append([number, number + 1])
    return found
