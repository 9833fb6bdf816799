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
from itertools import accumulate, pairwise
from typing import Any

from brim.audit.models import ModelFacts, facts_of
from brim.audit.trace import Place, RecordedRequest, TraceStep, is_reply
from brim.errors import BrimError
from brim.history.history import History
from brim.meter import DEFAULT, BaseMeter, catalogue
from brim.meter.window import Window
from brim.sessions.context import Context
from brim.sessions.settings import SessionSettings
from brim.sessions.state import Counts
from brim.store.base import Store
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
        self._before: tuple[Any, Any] = (None, None)
        self._before_entry = 0
        self._used = 0
        self._counts = Counts()
        self._model: str | None = None
        self._facts = facts_of(None, None)
        self._context = Context(self._facts.scale)
        self._format: Format = "openai"
        self._settings: SessionSettings | None = None
        self._last: TraceStep | None = None
        self._categories: dict[str, int] = {}
        self._exact = True
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
        if self._settings is None or (step.request.model not in (None, self._model)):
            self._begin(step)
        self._last = step
        self._request(step.messages, step.length, step)

    def finish(self) -> None:
        """Write the remaining entries, and the status."""
        step = self._last
        if self._settings is None or step is None:
            return
        if step.request.whole and len(step.messages) > step.length:
            # A file with messages and no model is a transcript; its last message may still need an answer.
            if is_reply(step.messages[-1]):
                self._entries(step.messages[step.length :])
            else:
                self._request(step.messages, len(step.messages), step._replace(kept=step.length))
        self._flush(
            {
                "kind": KIND,
                "status": self._status(),
                "counts": self._counts.to_dict(),
                "file": self._file,
                "model": self._model,
                "at": self._at,
            }
        )

    def _begin(self, step: TraceStep) -> None:
        """Write the settings: the model, its window and the format."""
        request, first = step.request, self._settings is None
        self._model = request.model or self._model
        self._facts, self._format = facts_of(self._model, None), request.format or "openai"
        self._context = Context(self._facts.scale, format=self._format)
        known = self._model if self._model and catalogue.lookup(self._model) is not None else None
        window = self._window(self._facts, request.answer)
        self._settings = SessionSettings.of(
            window,
            known,
            meter=None if known else DEFAULT,
            options={"format": self._format, "stable": False, "compact_at": "never", "tool_limit": 10**9},
        )
        self._write("note", {"settings": self._settings.to_dict(), **({"calibration": None} if first else {})})

    @staticmethod
    def _window(facts: ModelFacts, answer: int) -> Window:
        window = facts.window or Window(ASSUMED)
        return Window(window.size, reserve=min(answer, window.size - 1), limit=window.limit)

    def _request(self, messages: Sequence[Any], length: int, step: TraceStep) -> None:
        request, before = step.request, self._now
        now = self._now = [*before[: step.kept], *self._entries(messages[min(step.kept, len(before)) : length])]
        attached = (request.tools, request.system if isinstance(request.system, str | list | dict) else None)
        same = attached == self._before
        if not same or not self._before_entry:
            self._before = attached
            self._before_entry = self._write("note", {"tools": attached[0], "system": attached[1]})
        extra, exact = extra_in(self._facts.scale, self._format, messages[:1], *attached)
        categories = {name: units for name, units in (("system", extra["system"]), ("tools", extra["tools"])) if units}
        for entry in now:
            units, category = self._sizes[entry]
            categories[category] = categories.get(category, 0) + units
        if extra["reply"]:
            categories["framing"] = categories.get("framing", 0) + extra["reply"]
        size = self._measured(categories, request, exact=exact)
        used, categories, exact = size["used"], size["categories"], size["exact"]
        window = self._window(self._facts, request.answer)
        shared = next(
            (i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(map(len, (before, now)))
        )
        start = extra["tools"] + extra["system"] + sum(self._sizes[entry][0] for entry in now[:shared])
        prefix = min(used, (size["unlogged"] or 0) + round(start * size["scale"]))
        gone = sum(self._sizes[entry][1] != "system" for entry in set(before) - set(now))
        cut = None
        if gone and self.prompts:
            self._counts.compactions += 1
            reason = f"the program left {gone:,} earlier messages out of this request"
            cut = {"before": self._used, "after": used, "replaced": gone, "reason": reason}
        if self._counts.crosses(used, window.warning):
            fields = {"used_tokens": used, "warning_tokens": window.warning, "window_tokens": window.size}
            self._write("warning", fields)
        self.prompts += 1
        self._counts.prompts, self._counts.peak = self.prompts, max(self._counts.peak, used)
        self._used, self._exact, self._categories = used, exact, categories
        body = {
            **size,
            "budget": window.budget,
            "unit": "tokens",
            "messages": len(now),
            "truncated": False,
            "stable_prefix": prefix if same and before and self.prompts > 1 else 0,
            "units": used,
            "cut": cut,
            "held": None,
            "model": self._model,
            "recorded": _ranges(now),
            "attached": self._before_entry,
            "extra": extra,
        }
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
            self._counts.overflows += 1
            fields = {"limit_tokens": None, "sent_tokens": None, "used_tokens": self._used, "retried": False}
            self._write("event", {"event": "overflow", **fields})
        if request.usage is not None:
            read, cached = request.usage
            self._counts.reported = read
            usage = {"input": read, "cached": cached}
            self._write("usage", {name: value for name, value in usage.items() if value is not None})
        self._entries(request.reply)

    def _entries(self, messages: Sequence[Any]) -> list[int]:
        """Return the entry of each message; a message that is new is written."""
        found = []
        for raw in messages:
            key = blake2b(json.dumps(raw, sort_keys=True).encode("utf-8", "surrogatepass"), digest_size=16).digest()
            entry = self._known.get(key)
            if entry is None:
                units, category = size_in(self._context, self._facts.scale, raw)
                entry = self._write("message", {"message": raw, "units": units, "category": category})
                self._known[key], self._sizes[entry] = entry, (units, category)
                self._counts.messages += 1
            found.append(entry)
        return found

    def _status(self) -> dict[str, Any]:
        assert self._settings is not None
        window = self._settings.window
        names = ("peak", "warnings", "compactions", "overflows", "prompts")
        return {
            **{name: getattr(self._counts, name) for name in names},
            "model": self._model,
            "unit": "tokens",
            "exact": self._exact,
            "used": self._used,
            "budget": window.budget,
            "window": window.size,
            "warning": window.warning,
            "assumed": self._facts.window is None,
        }

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
        sums = context.categories([raw])
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
