"""Sessions of Codex: items of the Responses API, one per line, between lines about the turn and its usage.

Each answer of the model implies a request. Its usage comes in a later line, so a request waits for that
line until the next request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from brim.audit.fields import mapping, rows, text, usage_in
from brim.audit.trace import SessionLog, TraceItem, TraceStep, is_reply, refused

NAME = "codex"
_LINES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_PLAIN = ("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "local_shell_call")
_IGNORED = ("ghost_snapshot", "other")


def items(record: Any) -> list[TraceItem] | None:
    """Return the line. It belongs to the session of its file."""
    return [TraceItem(key=NAME, session=CodexSession, line=record)] if _claims(record) else None


def _claims(record: Any) -> bool:
    """Return whether a record is a line of a session, or a bare item, as older versions wrote them."""
    if not isinstance(record, Mapping):
        return False
    kind = record.get("type")
    if kind in _LINES:
        return isinstance(record.get("payload"), Mapping)
    if record.get("record_type") == "state":
        return True
    item = kind in _PLAIN and ("call_id" in record or "summary" in record or isinstance(record.get("content"), list))
    return item or ("instructions" in record and "timestamp" in record and "id" in record)


class CodexSession(SessionLog):
    """Collects the items of a session, and yields a request with its usage."""

    def __init__(self) -> None:
        super().__init__()
        self._model: str | None = None
        self._system: str | None = None
        self._waiting: TraceStep | None = None

    def restart(self) -> None:
        """Forget the items."""
        super().restart()
        self._answering = False

    def feed(self, line: Mapping[str, Any]) -> Iterator[TraceStep]:
        """Yield a request when its usage is known, or when another request follows."""
        kind = line.get("type")
        payload = mapping(line.get("payload")) if kind in _LINES else line
        if kind in (None, "session_meta"):
            instructions = payload.get("base_instructions")
            instructions = text(mapping(instructions).get("text")) or text(instructions)
            self._system = instructions or text(payload.get("instructions")) or self._system
        elif kind == "turn_context":
            self._model = text(payload.get("model")) or self._model
        elif kind == "compacted":
            yield from self.rest()
            self.restart()
            self.messages += rows(payload.get("replacement_history"))
            if not self.messages and (summary := text(payload.get("message"))):
                self.messages.append({"type": "message", "role": "user", "content": summary})
        elif kind == "event_msg":
            yield from self._event(payload)
        elif kind == "response_item" or kind in _PLAIN:
            yield from self._item(payload)

    def rest(self, usage: tuple[int, int] | None = None) -> Iterator[TraceStep]:
        """Yield the last request, whose usage has not arrived."""
        step, self._waiting = self._waiting, None
        if step is not None:
            yield step._replace(request=replace(step.request, usage=usage))

    def _item(self, item: Mapping[str, Any]) -> Iterator[TraceStep]:
        if item.get("type") in _IGNORED or item.get("record_type") is not None:
            return
        reply = is_reply(item)
        if reply and not self._answering and self.messages:
            yield from self.rest()
            self._waiting = self._request()
        self._answering = reply
        self.messages.append(item)

    def _event(self, payload: Mapping[str, Any]) -> Iterator[TraceStep]:
        kind = payload.get("type")
        if kind == "token_count":
            last = mapping(mapping(payload.get("info")).get("last_token_usage"))
            if usage := usage_in(last, ("input_tokens",), ("cached_input_tokens",)):
                yield from self.rest(usage)
        elif kind in ("error", "stream_error") and refused(str(payload.get("message"))):
            yield from self.rest()
            yield self._request(overflowed=True)

    def _request(self, **fields: Any) -> TraceStep:
        return self.step(format="responses", model=self._model, system=self._system, **fields)
