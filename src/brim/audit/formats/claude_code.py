"""Sessions of Claude Code: one event a line, of which those with a `message` are what was said.

One answer comes in several lines with the same id, one for each of its blocks, and results may come between them. So
an answer is put together, and what the user said and the tools returned after it is one message, as it was sent.
What a line leaves out, the system prompt and the tools, is not in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.formats.bodies import usage_of
from brim.audit.trace import RecordedRequest, TraceItem, TraceStep, text
from brim.wire.overflow import is_overflow

NAME = "claude-code"
_EVENTS = (
    *("summary", "system", "progress", "queue-operation", "file-history-snapshot", "pr-link", "permission-mode"),
    *("attachment", "last-prompt", "custom-title", "ai-title", "agent-name", "tag", "mode"),
)
"""Lines that hold nothing that was said to the model."""
_MARKS = ("sessionId", "leafUuid", "messageId", "parentUuid")


def claims(record: Any) -> bool:
    """Return whether a record is a line of a session."""
    if not isinstance(record, Mapping):
        return False
    if record.get("type") in ("user", "assistant"):
        return isinstance(record.get("message"), Mapping) and ("sessionId" in record or "parentUuid" in record)
    return record.get("type") in _EVENTS and any(key in record for key in _MARKS)


def items(record: Mapping[str, Any]) -> list[TraceItem]:
    """Return the line, if it says something; that of a sub-agent belongs to a conversation of its own."""
    told = record.get("type") in ("user", "assistant") or record.get("subtype") == "compact_boundary"
    if not told:
        return []
    own = text(record.get("agentId")) or ("side" if record.get("isSidechain") is True else "")
    return [TraceItem(key=f"claude-code {text(record.get('sessionId')) or ''} {own}", log=NAME, body=record)]


class ClaudeCodeSession:
    """Puts the messages of a session together, and tells where a request was made."""

    def __init__(self) -> None:
        self._messages: list[Any] = []
        self._seen = 0
        self._id: str | None = None
        self._answer: list[Any] = []
        self._heard: list[Any] = []

    def feed(self, body: Mapping[str, Any]) -> Iterator[TraceStep]:
        """Yield the request that a line is the first answer to."""
        if body.get("type") == "system":
            self.restart()
            return
        message = body["message"]
        blocks = _blocks(message.get("content"))
        if body.get("type") == "user":
            self._heard += blocks
            return
        failed = body.get("isApiErrorMessage") is True
        if failed or message.get("model") == "<synthetic>":
            if failed and is_overflow(str(blocks)) is not None:
                yield self._step(None, None, overflowed=True)
            return
        named = text(message.get("id"))
        if named is None or named != self._id:
            yield self._step(text(message.get("model")), usage_of(message), overflowed=False)
            self._id = named
        self._answer += blocks

    def rest(self) -> Iterator[TraceStep]:
        """Yield nothing: what has no answer was perhaps not sent."""
        return iter(())

    def _step(self, model: str | None, usage: tuple[int, int] | None, *, overflowed: bool) -> TraceStep:
        """Return the request of all that was said so far."""
        if self._answer:
            self._messages.append({"role": "assistant", "content": self._answer})
        if self._heard:
            self._messages.append({"role": "user", "content": self._heard})
        self._answer, self._heard = [], []
        kept, self._seen = self._seen, len(self._messages)
        reported, cached = usage if usage is not None else (None, None)
        ask = RecordedRequest(
            messages=(), format="anthropic", model=model, reported=reported, cached=cached, overflowed=overflowed
        )
        return TraceStep(self._messages, len(self._messages), kept, ask)

    def restart(self) -> None:
        """Forget what was said: the session was compacted and a summary follows, or there is too much of it."""
        self._messages, self._seen, self._id, self._answer, self._heard = [], 0, None, [], []


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [each for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []
