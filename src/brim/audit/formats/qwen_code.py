"""Sessions of qwen-code: one record per line, with a message in the parts of Gemini.

A record of type `assistant` is an answer, with its model and its usage; results of tools are records of their own.
After a compression the record holds the history that the session continues with. The system prompt and the tools are
not in the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from brim.audit.fields import mapping, rows, text, usage_in
from brim.audit.trace import RecordingFormat, SessionLog, TraceItem, TraceStep

_NAME = "qwen-code"
_TYPES = ("user", "assistant", "tool_result", "system")


def _items(record: Any) -> list[TraceItem] | None:
    """Return the record if it is sent to the model, or if the history begins anew with it."""
    if not isinstance(record, Mapping) or record.get("type") not in _TYPES or "sessionId" not in record:
        return None
    held = isinstance(mapping(record.get("message")).get("parts"), list)
    system = record.get("type") == "system" and "systemPayload" in record
    if not held and not system:
        return None
    if system and not _compressed(record):
        return []
    return [TraceItem(key=f"{_NAME} {text(record.get('sessionId')) or ''}", session=QwenCodeSession, line=record)]


class QwenCodeSession(SessionLog):
    """Collects the messages of a session; each answer is a request."""

    def feed(self, line: Mapping[str, Any]) -> Iterator[TraceStep]:
        """Yield the request that a record is the answer to."""
        if line.get("type") == "system":
            self.restart()
            for content in _compressed(line):
                self.messages += _chat(content)
            return
        if line.get("type") == "assistant" and self.messages:
            counts = mapping(line.get("usageMetadata"))
            usage = usage_in(counts, ("promptTokenCount",), ("cachedContentTokenCount",))
            yield self.step(format="openai", model=text(line.get("model")), usage=usage)
        self.messages += _chat(mapping(line.get("message")))


def _compressed(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the history after a compression; empty if the record is another event."""
    payload = mapping(record.get("systemPayload"))
    return list(rows(payload.get("compressedHistory")))


def _chat(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a message of Gemini's parts in the format of OpenAI chat: one for each result, one for the rest."""
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    sent: list[dict[str, Any]] = []
    for i, part in enumerate(rows(content.get("parts"))):
        call, result = mapping(part.get("functionCall")), mapping(part.get("functionResponse"))
        if call:
            arguments = json.dumps(call.get("args") or {}, ensure_ascii=False, default=str)
            name = str(call.get("name") or "")
            function = {"name": name, "arguments": arguments}
            calls.append({"id": str(call.get("id") or f"{name}:{i}"), "type": "function", "function": function})
        elif result:
            named = str(result.get("id") or f"{result.get('name')}:{i}")
            sent.append({"role": "tool", "tool_call_id": named, "content": _result(result.get("response"))})
        elif isinstance(part.get("text"), str) and part.get("thought") is not True:
            texts.append(part["text"])
    role = "assistant" if content.get("role") == "model" else "user"
    message: dict[str, Any] = {"role": role, "content": "\n".join(texts) or None}
    if calls:
        return [{**message, "tool_calls": calls}, *sent]
    return [*sent, message] if texts else sent


def _result(response: Any) -> str:
    """Return the text of a tool's result."""
    output = mapping(response).get("output")
    return output if isinstance(output, str) else json.dumps(response, ensure_ascii=False, default=str)


FORMAT = RecordingFormat(_NAME, _items)
