"""The Gemini API, scripted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.agents.cache import PromptPart
from scripts.agents.count import OPENAI, content_tokens, tool_tokens
from scripts.agents.gemini_rules import check_gemini
from scripts.agents.illegal import signature
from scripts.agents.script import ScriptedAnswer, Seen
from scripts.agents.server import ApiReply
from scripts.agents.upstream import Decided, ReadRequest, Upstream, compared, text_of

_PATH = re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$")


class GeminiApi:
    """Answers `models/NAME:generateContent`, its stream, and `countTokens`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def get(self, path: str, headers: Mapping[str, str]) -> ApiReply:  # noqa: ARG002 - the shape of an API
        """Refuse: no client of ours asks."""
        return _error(404, "NOT_FOUND", "Not found")

    def post(self, path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ApiReply:
        """Answer or refuse a request."""
        found = _PATH.search(path.partition("?")[0])
        if found is None:
            return _error(404, "NOT_FOUND", "Not found")
        read = _read(path, request, headers)
        if found[2] == "countTokens":
            return ApiReply(value={"totalTokens": read.tokens})
        decided = self._upstream.decide(read)
        if decided.illegal is not None:
            return _error(400, "INVALID_ARGUMENT", str(decided.illegal), decided.request_id)
        if decided.answer is None:
            said = f"The input token count ({decided.tokens}) exceeds the maximum number of tokens allowed"
            return _error(400, "INVALID_ARGUMENT", f"{said} ({self._upstream.window}).", decided.request_id)
        parts = _parts(decided.answer, request)
        if found[2] == "streamGenerateContent":
            return ApiReply(events=_events(decided, parts, found[1]), request_id=decided.request_id)
        return ApiReply(value=_response(decided, parts, found[1]), request_id=decided.request_id)


def _read(path: str, request: dict[str, Any], headers: Mapping[str, str]) -> ReadRequest:
    contents = request.get("contents") or []
    declared = [each for tool in request.get("tools") or [] for each in tool.get("functionDeclarations") or []]
    system = text_of(request.get("systemInstruction"))
    last = max((i for i, content in enumerate(contents) if content.get("role") == "model"), default=-1)
    tail = [part for content in contents[last + 1 :] for part in content.get("parts") or []]
    return ReadRequest(
        body=request,
        seen=Seen(
            text=text_of(contents),
            tail=[part["text"] for part in tail if "text" in part],
            results=[str(part["functionResponse"].get("id")) for part in tail if "functionResponse" in part],
            tools={
                each["name"]: _lower(each.get("parametersJsonSchema") or each.get("parameters")) for each in declared
            },
            system=system,
        ),
        fixed=[
            *(PromptPart(compared(each), tool_tokens(each, OPENAI)) for each in declared),
            PromptPart(system, content_tokens(system, OPENAI)),
        ],
        messages=[PromptPart(compared(each), content_tokens(each, OPENAI)) for each in contents],
        asked=(request.get("generationConfig") or {}).get("maxOutputTokens") or 0,
        check=lambda: check_gemini(contents),
        path=path,
        client=headers.get("user-agent", ""),
    )


def _lower(schema: Any) -> Any:
    """Return a schema with its types as JSON Schema writes them: Gemini's own are in capitals."""
    if isinstance(schema, dict):
        return {k: v.lower() if k == "type" and isinstance(v, str) else _lower(v) for k, v in schema.items()}
    return [_lower(each) for each in schema] if isinstance(schema, list) else schema or {}


def _parts(answer: ScriptedAnswer, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    config = request.get("generationConfig") or {}
    schema = _lower(config.get("responseJsonSchema") or config.get("responseSchema")).get("properties")
    text = answer.text.replace("summary>", "state_snapshot>")
    if answer.kind == "side" and schema:
        text = json.dumps({name: _example(each) for name, each in schema.items()})
    calls: list[dict[str, Any]] = [
        {"functionCall": {"id": each.id, "name": each.name, "args": each.arguments}} for each in answer.calls
    ]
    if calls:
        calls[0] |= {"thoughtSignature": signature(calls[0]["functionCall"]["id"])}
    return [*([{"text": text}] if text else []), *calls]


def _example(schema: Mapping[str, Any]) -> Any:
    plain: dict[str, Any] = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}
    return (schema.get("enum") or [plain.get(str(schema.get("type")), "x")])[0]


def _response(decided: Decided, parts: list[dict[str, Any]], model: str, *, ends: bool = True) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **({"finishReason": "STOP"} if ends else {})}
    out = content_tokens(parts, OPENAI)
    usage = {
        "promptTokenCount": decided.tokens,
        "candidatesTokenCount": out,
        "totalTokenCount": decided.tokens + out,
        "cachedContentTokenCount": decided.use.read,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": decided.request_id}


def _events(decided: Decided, parts: list[dict[str, Any]], model: str) -> Iterator[str]:
    for i, part in enumerate(parts):
        value = _response(decided, [part], model, ends=i == len(parts) - 1)
        yield f"data: {json.dumps(value, ensure_ascii=False)}\r\n\r\n"


def _error(status: int, kind: str, said: str, request_id: str = "req_none") -> ApiReply:
    value = {"error": {"code": status, "message": said, "status": kind}}
    return ApiReply(status=status, value=value, request_id=request_id)
