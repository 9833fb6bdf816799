"""The Gemini API, scripted, and what it refuses whatever its length."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.agents.script import ScriptedAnswer, Seen
from scripts.agents.server import ApiReply
from scripts.agents.upstream import (
    Decided,
    IllegalRequest,
    ProviderApi,
    ReadRequest,
    after_answer,
    event,
    signature,
    text_of,
)


class GeminiApi(ProviderApi):
    """Answers `models/NAME:generateContent`, its stream, and `countTokens`."""

    paths = re.compile(r"/models/[^/:]+:(generateContent|streamGenerateContent|countTokens)$")

    def read(self, request: dict[str, Any]) -> ReadRequest:
        contents = request.get("contents") or []
        declared = [each for tool in request.get("tools") or [] for each in tool.get("functionDeclarations") or []]
        system = text_of(request.get("systemInstruction"))
        answered = after_answer(contents, lambda content: content.get("role") == "model")
        tail = [part for content in answered for part in content.get("parts") or []]
        seen = Seen(
            text=text_of(contents),
            tail=[part["text"] for part in tail if "text" in part],
            results=[str(part["functionResponse"].get("id")) for part in tail if "functionResponse" in part],
            tools={
                each["name"]: _lower(each.get("parametersJsonSchema") or each.get("parameters")) for each in declared
            },
            system=system,
        )
        fixed, parts = [*map(self.tool, declared), self.part(system)], [self.part(each) for each in contents]
        return ReadRequest(seen=seen, fixed=fixed, messages=parts, check=lambda: check_gemini(contents))

    def answer(self, decided: Decided, answer: ScriptedAnswer, request: Mapping[str, Any]) -> dict[str, Any]:
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
        parts = [*([{"text": text}] if text else []), *calls]
        usage = {
            "promptTokenCount": decided.tokens,
            "candidatesTokenCount": self.tokens(parts),
            "totalTokenCount": decided.tokens + self.tokens(parts),
            "cachedContentTokenCount": decided.use.read,
        }
        return {"candidates": [_candidate(parts, ends=True)], "usageMetadata": usage, "modelVersion": "gemini-2.5-pro"}

    def events(self, value: dict[str, Any], request: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG002
        *before, last = value["candidates"][0]["content"]["parts"]
        for part in before:
            yield _event({**value, "candidates": [_candidate([part], ends=False)]})
        yield _event({**value, "candidates": [_candidate([last], ends=True)]})

    def error(self, status: int, said: str, param: str | None = None, code: str | None = None) -> ApiReply:  # noqa: ARG002
        kind = "NOT_FOUND" if status == 404 else "INVALID_ARGUMENT"
        return ApiReply(status=status, value={"error": {"code": status, "message": said, "status": kind}})

    def overflow(self, decided: Decided, request: Mapping[str, Any]) -> ApiReply:  # noqa: ARG002
        said = f"The input token count ({decided.tokens}) exceeds the maximum number of tokens allowed"
        return self.error(400, f"{said} ({self.upstream.window}).")


def _event(value: dict[str, Any]) -> str:
    return event(value).replace("\n", "\r\n")  # As Google sends it.


def _candidate(parts: list[dict[str, Any]], *, ends: bool) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": parts}, "index": 0, **({"finishReason": "STOP"} if ends else {})}


def _lower(schema: Any) -> Any:
    """Return a schema with its types as JSON Schema writes them: Gemini's own are in capitals."""
    if isinstance(schema, dict):
        return {k: v.lower() if k == "type" and isinstance(v, str) else _lower(v) for k, v in schema.items()}
    return [_lower(each) for each in schema] if isinstance(schema, list) else schema or {}


def _example(schema: Mapping[str, Any]) -> Any:
    plain: dict[str, Any] = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}
    return (schema.get("enum") or [plain.get(str(schema.get("type")), "x")])[0]


def check_gemini(contents: list[Mapping[str, Any]]) -> None:
    """Check a conversation.

    Raises:
        IllegalRequest: the provider would refuse it.
    """
    if not contents:
        raise IllegalRequest("* GenerateContentRequest.contents: contents is not specified")
    for i, content in enumerate(contents):
        if (content.get("role") or "user") not in ("user", "model", "function"):
            raise IllegalRequest("Please use a valid role: user, model.")
        if not content.get("parts") or any(
            not set(part) - {"thought", "thoughtSignature"} for part in content["parts"]
        ):
            raise IllegalRequest(f"* GenerateContentRequest.contents[{i}].parts: contents.parts must not be empty.")
    if contents[0].get("role") == "model":
        raise IllegalRequest("Please ensure that multiturn requests begin with a user turn")
    if contents[-1].get("role") == "model":
        raise IllegalRequest("Please ensure that single turn requests end with a user role or the role field is empty.")
    _check_pairs(contents)


def _check_pairs(contents: list[Mapping[str, Any]]) -> None:
    """Check that the results of a turn's calls are the next turn, and stand nowhere else."""
    for i, content in enumerate(contents):
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        results = [part for part in content["parts"] if "functionResponse" in part]
        if calls and i and contents[i - 1].get("role") == "model":
            raise IllegalRequest(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        following = contents[i + 1]["parts"] if calls and i + 1 < len(contents) else []
        answered = [part["functionResponse"] for part in following if "functionResponse" in part]
        if len(answered) != len(calls):
            raise IllegalRequest(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        if {call.get("id") for call in calls} != {answer.get("id") for answer in answered}:
            raise IllegalRequest("function response ids do not match the function call ids")
        if results and not (i and any("functionCall" in part for part in contents[i - 1]["parts"])):
            raise IllegalRequest(
                "Please ensure that function response turn comes immediately after a function call turn."
            )
