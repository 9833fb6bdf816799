"""Sessions of pi: a header, then one entry per line; the messages are in the entries of type `message`.

Entries form a tree by `parentId`; abandoned branches stay in the file. The request for an answer consists of the
entries on the path from the root to it. The system prompt and the tools are not in the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.fields import mapping, rows, text, usage_in
from brim.audit.trace import SessionLog, TraceItem, TraceStep, refused

NAME = "pi"
_EVENTS = (
    *("session", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom", "custom_message"),
    *("label", "session_info"),
)


def items(record: Any) -> list[TraceItem] | None:
    """Return the line. It belongs to the session of its file."""
    if not isinstance(record, Mapping) or "sessionId" in record:
        return None
    kind, message = record.get("type"), mapping(record.get("message"))
    if kind == "session":
        return [] if "cwd" in record and "id" in record else None
    linked = "parentId" in record and "id" in record
    if kind == "message" and "role" in message and (linked or "timestamp" in record):
        return [TraceItem(key=NAME, session=PiSession, line=record)]
    if kind not in _EVENTS or not linked:
        return None
    sent = kind in ("compaction", "branch_summary", "custom_message")
    return [TraceItem(key=NAME, session=PiSession, line=record)] if sent else []


class PiSession(SessionLog):
    """Follows the branch of each entry; an answer is a request."""

    def restart(self) -> None:
        """Forget the messages: the session was compacted, took another branch, or has become too long."""
        super().restart()
        self._ids: list[str | None] = []
        self._path: dict[str | None, int] = {}

    def feed(self, line: Mapping[str, Any]) -> Iterator[TraceStep]:
        """Yield a request if the line is its answer."""
        self._branch(text(line.get("parentId")))
        if line.get("type") == "compaction":
            self._compact(line)
            return
        message = mapping(line.get("message"))
        if line.get("type") != "message":
            message = {"role": "user", "content": line.get("summary") or line.get("content") or ""}
        if message.get("role") == "assistant":
            yield from self._answer(message)
        for sent in _chat(message):
            self.messages.append(sent)
            self._ids.append(text(line.get("id")))
        self._path[text(line.get("id"))] = len(self.messages)

    def _branch(self, parent: str | None) -> None:
        """Go back to the parent of a line, if that is not the last entry."""
        length = self._path.get(parent)
        if length is not None and length < len(self.messages):
            self.messages, self._ids = self.messages[:length], self._ids[:length]
            self._seen = min(self._seen, length)

    def _compact(self, line: Mapping[str, Any]) -> None:
        """Continue with the summary, and with the entries from the first that was kept."""
        first = text(line.get("firstKeptEntryId"))
        at = self._ids.index(first) if first in self._ids else len(self.messages)
        kept, ids = self.messages[at:], self._ids[at:]
        self.restart()
        self.messages = [{"role": "user", "content": text(line.get("summary")) or ""}, *kept]
        self._ids = [None, *ids]
        self._path = {text(line.get("id")): len(self.messages)}

    def _answer(self, message: Mapping[str, Any]) -> Iterator[TraceStep]:
        failed = message.get("stopReason") == "error"
        if failed and not refused(str(message.get("errorMessage"))):
            return
        if self.messages:
            usage = usage_in(mapping(message.get("usage")), ("input",), ("cacheRead",), ("cacheWrite",))
            model = text(message.get("model"))
            yield self.step(format="openai", model=model, usage=None if failed else usage, overflowed=failed)


def _chat(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an entry's message in the format of OpenAI chat; none if it is not sent."""
    role, content = message.get("role"), message.get("content")
    if role == "bashExecution":
        if message.get("excludeFromContext"):
            return []
        return [{"role": "user", "content": f"$ {message.get('command')}\n{message.get('output')}"}]
    if role in ("branchSummary", "compactionSummary"):
        return [{"role": "user", "content": text(message.get("summary")) or ""}]
    if role == "toolResult":
        return [{"role": "tool", "tool_call_id": str(message.get("toolCallId") or ""), "content": _texts(content)}]
    if role != "assistant":
        return [{"role": "user", "content": content if isinstance(content, str) else _parts(content)}]
    if message.get("stopReason") == "error":
        return []
    calls = [_call(block) for block in rows(content) if block.get("type") == "toolCall"]
    sent: dict[str, Any] = {"role": "assistant", "content": _texts(content) or None}
    return [{**sent, "tool_calls": calls} if calls else sent]


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(block.get("arguments") or {}, ensure_ascii=False, default=str)
    function = {"name": str(block.get("name") or ""), "arguments": arguments}
    return {"id": str(block.get("id") or ""), "type": "function", "function": function}


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text") or "") for block in rows(content) if block.get("type") == "text")


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return the blocks of a person's message; an image is sent as a data URL."""
    return [
        {"type": "image_url", "image_url": {"url": f"data:{block.get('mimeType')};base64,{block.get('data')}"}}
        if block.get("type") == "image"
        else {"type": "text", "text": str(block.get("text") or "")}
        for block in rows(content)
    ]
