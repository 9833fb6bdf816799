"""Reads a stream of events as it passes: a rejection of the prompt, the usage, an error."""

from __future__ import annotations

import re
from typing import Any

from brim.gateway.client.body import json_value
from brim.sessions.learning.usage import usage_in
from brim.wire.overflow import Overflow, is_overflow

_PRELIMINARY = ("response.created", "response.in_progress", "response.queued", "message_start", "ping", "keepalive")
"""Types of events after which a rejection may still follow."""
_SIGNS = (b'"usage', b'"error"', b'"stop_reason"')
"""After the first content, only lines that contain one of these are parsed."""
_LONGEST_LINE = 4 * 1024 * 1024
"""Bytes of the longest line that is kept to be parsed."""
_ERROR = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
"""An error type that may be shown."""


class EventStream:
    """What a stream of events has reported so far."""

    def __init__(self) -> None:
        self.decided = False
        """Whether an event had content or an error, so that the prompt was accepted or rejected."""
        self.refusal: Overflow | None = None
        """The overflow that the first of these events reports as an error."""
        self.stopped: Overflow | None = None
        """The overflow in an event: an error, or a stop reason."""
        self.usage: Any = None
        """The reported usage."""
        self.error = ""
        """The type of the error in an event."""
        self._rest: list[bytes] = []
        """The pieces of the last line, which is incomplete."""
        self._size = 0

    def feed(self, piece: bytes) -> None:
        """Read the next bytes."""
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest, self._size = [], 0
            for line in lines:
                self._read_line(line.rstrip(b"\r"))
        self._rest.append(rest)
        self._size += len(rest)
        if self._size > _LONGEST_LINE:
            self._rest = [b"..."]

    def end(self) -> None:
        """Read the last line, which may lack its end."""
        self._read_line(b"".join(self._rest))

    def _read_line(self, line: bytes) -> None:
        if line.startswith(b"data:") and (not self.decided or any(sign in line for sign in _SIGNS)):
            self._read(json_value(line[5:]))

    def _read(self, event: Any) -> None:
        is_error = isinstance(event, dict) and (event.get("error") or event.get("type") in ("error", "response.failed"))
        refusal = is_overflow(event) if is_error else None
        if not self.decided and not _is_preliminary(event):
            self.decided, self.refusal = True, refusal
        self.stopped = self.stopped or refusal
        if isinstance(event, dict) and isinstance(delta := event.get("delta"), dict):
            self.stopped = self.stopped or is_overflow({"stop_reason": delta.get("stop_reason")})
        self.error = self.error or _error_type(event)
        usage = usage_in(event)
        if usage is not None:
            self.usage = {**(self.usage or {}), **usage}


def _is_preliminary(event: Any) -> bool:
    """Return whether an event has neither content nor an error."""
    if not isinstance(event, dict) or event.get("error"):
        return False
    if "type" in event:
        return event["type"] in _PRELIMINARY
    choices = event.get("choices")
    return isinstance(choices, list) and all(_is_empty(choice) for choice in choices)


def _is_empty(choice: Any) -> bool:
    """Return whether a choice of Chat Completions holds at most a role."""
    if not isinstance(choice, dict) or choice.get("finish_reason"):
        return False
    delta = choice.get("delta")
    return isinstance(delta, dict) and not any(value for key, value in delta.items() if key != "role")


def _error_type(event: Any) -> str:
    """Return the type of the error in an event, or `error` if the type cannot be shown; empty without an error."""
    if not isinstance(event, dict):
        return ""
    inner = event.get("response")
    error = (inner if isinstance(inner, dict) else event).get("error")
    if not error and event.get("type") != "error":
        return ""
    found = error.get("type") or error.get("code") if isinstance(error, dict) else event.get("code")
    return found if isinstance(found, str) and _ERROR.fullmatch(found) else "error"
