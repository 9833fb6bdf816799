"""Sessions of Claude Code: one event per line; the messages are in the lines with a `message`.

One answer is written as several lines with the same id, one for each of its blocks, and results may come between them.
So the blocks of an answer are joined, and everything that the user and the tools wrote after it becomes one message, as
it was sent. The system prompt and the tools are not in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.fields import rows, text
from brim.audit.formats.bodies import usage_of
from brim.audit.trace import SessionLog, TraceItem, TraceStep, refused

NAME = "claude-code"
_EVENTS = ("summary", "system", "progress", "queue-operation", "file-history-snapshot", "pr-link", "permission-mode")
"""Types of lines that are not sent to the model, even if they have no session id."""
_MARKS = ("sessionId", "leafUuid", "messageId", "parentUuid")
_BODIES = ("message", "messages", "input", "request", "body", "params", "response")
"""Fields that hold a request; a record with one of them is not a session event."""


def items(record: Any) -> list[TraceItem] | None:
    """Return the line if it is sent to the model; a line of a sub-agent belongs to a conversation of its own."""
    if not isinstance(record, Mapping):
        return None
    if record.get("type") in ("user", "assistant"):
        if not isinstance(record.get("message"), Mapping) or not ("sessionId" in record or "parentUuid" in record):
            return None
    elif not _is_event(record):
        return None
    elif record.get("subtype") != "compact_boundary":
        return []
    agent = text(record.get("agentId")) or ("side" if record.get("isSidechain") is True else "")
    return [
        TraceItem(key=f"{NAME} {text(record.get('sessionId')) or ''} {agent}", session=ClaudeCodeSession, line=record)
    ]


def _is_event(record: Mapping[str, Any]) -> bool:
    """Return whether a line is an event of a session: new versions may write unknown types."""
    if record.get("type") in _EVENTS:
        return any(key in record for key in _MARKS)
    typed = isinstance(record.get("type"), str) and "sessionId" in record
    return typed and not any(key in record for key in _BODIES)


class ClaudeCodeSession(SessionLog):
    """Joins the messages of a session: each new id of an answer is a request."""

    def restart(self) -> None:
        """Forget the messages: the session was compacted, and a summary follows."""
        super().restart()
        self._id: str | None = None
        self._answer: list[Any] = []
        self._heard: list[Any] = []

    def feed(self, line: Mapping[str, Any]) -> Iterator[TraceStep]:
        """Yield a request if the line is the first part of its answer."""
        if line.get("type") not in ("user", "assistant"):
            self.restart()
            return
        message = line["message"]
        blocks = _blocks(message.get("content"))
        if line.get("type") == "user":
            if line.get("isCompactSummary") is True:
                self.restart()
            self._heard += blocks
            return
        failed = line.get("isApiErrorMessage") is True
        if failed or message.get("model") == "<synthetic>":
            if failed and refused(str(blocks)):
                yield self._request(overflowed=True)
            return
        named = text(message.get("id"))
        if named is None or named != self._id:
            yield self._request(model=text(message.get("model")), usage=usage_of(message))
            self._id = named
        self._answer += blocks

    def _request(self, **fields: Any) -> TraceStep:
        if self._answer:
            self.messages.append({"role": "assistant", "content": self._answer})
        if self._heard:
            self.messages.append({"role": "user", "content": self._heard})
        self._answer, self._heard = [], []
        return self.step(format="anthropic", **fields)


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(rows(content))
