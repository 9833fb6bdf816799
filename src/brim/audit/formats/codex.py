"""Sessions of Codex: one line an item of the Responses API, among lines that tell of the turn and of its usage.

A request was made wherever the model begins to speak. What it cost comes in a line after it, so a request waits for
that line until the next one is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.trace import RecordedRequest, TraceItem, TraceStep, is_reply, number, text
from brim.wire.overflow import is_overflow

NAME = "codex"
_LINES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_PLAIN = ("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "local_shell_call")
_IGNORED = ("ghost_snapshot", "other")


def claims(record: Any) -> bool:
    """Return whether a record is a line of a session, or an item alone as older ones have it."""
    if not isinstance(record, Mapping):
        return False
    kind = record.get("type")
    if kind in _LINES:
        return isinstance(record.get("payload"), Mapping)
    if record.get("record_type") == "state":
        return True
    items = kind in _PLAIN and ("call_id" in record or "summary" in record or isinstance(record.get("content"), list))
    return items or ("instructions" in record and "timestamp" in record and "id" in record)


def items(record: Mapping[str, Any]) -> list[TraceItem]:
    """Return the line; which session it is of, only its file tells."""
    return [TraceItem(key="codex", log=NAME, body=record)]


class CodexSession:
    """Puts the items of a session together, and tells where a request was made."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._seen = 0
        self._model: str | None = None
        self._system: str | None = None
        self._speaks = False
        self._waiting: tuple[int, int] | None = None

    def feed(self, body: Mapping[str, Any]) -> Iterator[TraceStep]:
        """Yield a request once it is known what it cost, or that another one was made."""
        kind = body.get("type")
        held = body.get("payload") if kind in _LINES else body
        payload: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
        if kind in (None, "session_meta"):
            self._system = _instructions(payload) or self._system
        elif kind == "turn_context":
            self._model = text(payload.get("model")) or self._model
        elif kind == "compacted":
            yield from self.rest()
            self._begin_anew(payload)
        elif kind == "event_msg":
            yield from self._event(payload)
        elif kind == "response_item" or kind in _PLAIN:
            yield from self._item(payload)

    def rest(self) -> Iterator[TraceStep]:
        """Yield the request that still waits."""
        if self._waiting is not None:
            yield self._step(None, overflowed=False)

    def restart(self) -> None:
        """Forget what was said, because there is too much of it."""
        self._begin_anew({})

    def _item(self, item: Mapping[str, Any]) -> Iterator[TraceStep]:
        if item.get("type") in _IGNORED or item.get("record_type") is not None:
            return
        speaks = is_reply(item)
        if speaks and not self._speaks and self._items:
            yield from self.rest()
            self._waiting = (len(self._items), self._seen)
            self._seen = len(self._items)
        self._speaks = speaks
        self._items.append(item)

    def _event(self, payload: Mapping[str, Any]) -> Iterator[TraceStep]:
        kind = payload.get("type")
        if kind == "token_count" and self._waiting is not None:
            told = payload.get("info")
            last = told.get("last_token_usage") if isinstance(told, Mapping) else None
            if isinstance(last, Mapping) and (count := number(last.get("input_tokens"))) is not None:
                yield self._step((count, number(last.get("cached_input_tokens")) or 0), overflowed=False)
        elif kind in ("error", "stream_error") and is_overflow(str(payload.get("message"))) is not None:
            yield from self.rest()
            self._waiting, self._seen = (len(self._items), self._seen), len(self._items)
            yield self._step(None, overflowed=True)

    def _step(self, usage: tuple[int, int] | None, *, overflowed: bool) -> TraceStep:
        assert self._waiting is not None
        (length, kept), self._waiting = self._waiting, None
        reported, cached = usage if usage is not None else (None, None)
        ask = RecordedRequest(
            messages=(),
            format="responses",
            model=self._model,
            system=self._system,
            reported=reported,
            cached=cached,
            overflowed=overflowed,
        )
        return TraceStep(self._items, length, kept, ask)

    def _begin_anew(self, payload: Mapping[str, Any]) -> None:
        """Go on from what the session was compacted to."""
        held, said = payload.get("replacement_history"), text(payload.get("message"))
        self._items = [item for item in held if isinstance(item, Mapping)] if isinstance(held, list) else []
        if not self._items and said:
            self._items = [{"type": "message", "role": "user", "content": said}]
        self._seen, self._speaks = 0, False


def _instructions(payload: Mapping[str, Any]) -> str | None:
    held = payload.get("base_instructions")
    if isinstance(held, Mapping):
        held = held.get("text")
    return text(held) or text(payload.get("instructions"))
