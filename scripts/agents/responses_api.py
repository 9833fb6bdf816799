"""The Responses API, scripted: reasoning items that stay with what they led to, and an overflow inside the stream."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
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
    is_sealed,
    pieces,
    sealed,
    text_of,
)

_OVERFLOW = "Your input exceeds the context window of this model. Please adjust your input and try again."
_CODE = "context_length_exceeded"
OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
}
"""The kind of output by the kind of call."""
REASONED = "call_reasoned_"
"""The start of the id of a call that was made after reasoning."""
_OTHERS = (
    "message",
    "item_reference",
    "compaction",
    "compaction_trigger",
    "web_search_call",
    "tool_search_call",
    "additional_tools",
)
Item = Mapping[str, Any]


class ResponsesApi(ProviderApi):
    """Answers `/v1/responses`."""

    paths = re.compile(r"^/v1/responses$")

    def read(self, request: dict[str, Any]) -> ReadRequest:
        items, tools = request.get("input") or [], request.get("tools") or []
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        tail = after_answer(items, _is_answer)
        hidden = [item["encrypted_content"][5:-64] for item in items if item.get("type") == "compaction"]
        instructions = request.get("instructions") or ""
        seen = Seen(
            text=text_of([*hidden, *items]),
            tail=[text_of(item) for item in tail if item.get("role") == "user"],
            results=[item["call_id"] for item in tail if "call_id" in item],
            tools={tool["name"]: tool.get("parameters") or {} for tool in tools if tool.get("type") == "function"},
            system=instructions,
            thinks=bool(request.get("reasoning")),
            summarizes=any(item.get("type") == "compaction_trigger" for item in tail),
        )
        fixed, parts = [*map(self.tool, tools), self.part(instructions)], [self.part(item) for item in items]
        return ReadRequest(seen=seen, fixed=fixed, messages=parts, check=lambda: check_responses(request))

    def answer(self, decided: Decided, answer: ScriptedAnswer | None, request: Mapping[str, Any]) -> dict[str, Any]:
        output = [] if answer is None else list(_output(decided.number, answer, request))
        out = sum(map(self.tokens, output))
        return {
            "id": f"resp_{decided.number:05d}",
            "object": "response",
            "created_at": 1_763_000_000,
            "model": request.get("model"),
            "status": "completed",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": request.get("tools") or [],
            "metadata": {},
            "error": None,
            "incomplete_details": None,
            "output": output,
            "usage": {
                "input_tokens": decided.tokens,
                "input_tokens_details": {"cached_tokens": decided.use.read},
                "output_tokens": out,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": decided.tokens + out,
            },
        }

    def events(self, value: dict[str, Any], request: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG002
        items = [
            (kind, {"output_index": i, **values})
            for i, item in enumerate(value["output"])
            for kind, values in _item_events(item)
        ]
        return _numbered([*_started(value), *items, ("response.completed", {"response": value})])

    def overflow(self, decided: Decided, request: Mapping[str, Any]) -> ApiReply:
        """Refuse; a stream is accepted and fails inside, as the provider's does."""
        if not request.get("stream"):
            return self.error(400, _OVERFLOW, "input", _CODE)
        response, failure = self.answer(decided, None, request), {"code": _CODE, "message": _OVERFLOW}
        said = {"error": {"type": "invalid_request_error", **failure, "param": "input"}}
        ended = {"response": {**response, "status": "failed", "usage": None, "error": failure}}
        return ApiReply(events=_numbered([*_started(response), ("error", said), ("response.failed", ended)]))


def _is_answer(item: Item) -> bool:
    return item.get("role") == "assistant" or item.get("type") in (*OUTPUTS, "reasoning")


def _output(number: int, answer: ScriptedAnswer, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    items = request.get("input")
    if isinstance(items, list) and any(item.get("type") == "compaction_trigger" for item in items):
        yield {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": sealed(answer.text)}
        return
    if answer.thinking:
        summary = [{"type": "summary_text", "text": f"step {answer.step} is next"}]
        yield {
            "id": f"rs_{number}",
            "type": "reasoning",
            "summary": summary,
            "encrypted_content": sealed(answer.thinking),
        }
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        message = {"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant"}
        yield {**message, "content": content}
    for n, call in enumerate(answer.calls):
        prefix = REASONED if answer.thinking else "call_plain_"
        yield {
            "id": f"fc_{number}_{n}",
            "type": "function_call",
            "status": "completed",
            "call_id": prefix + call.id,
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        }


def _started(response: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}


def _item_events(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    name = {"item_id": item["id"]}
    if item["type"] == "message":
        part, text = {"content_index": 0, **name}, item["content"][0]
        yield "response.output_item.added", {"item": {**item, "status": "in_progress", "content": []}}
        yield "response.content_part.added", {**part, "part": {**text, "text": ""}}
        for piece in pieces(text["text"]):
            yield "response.output_text.delta", {**part, "delta": piece}
        yield "response.output_text.done", {**part, "text": text["text"]}
        yield "response.content_part.done", {**part, "part": text}
    elif item["type"] == "function_call":
        yield "response.output_item.added", {"item": {**item, "status": "in_progress", "arguments": ""}}
        for piece in pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", {**name, "delta": piece}
        yield "response.function_call_arguments.done", {**name, "arguments": item["arguments"]}
    else:
        yield "response.output_item.added", {"item": {**item, "summary": []} if "summary" in item else item}
    yield "response.output_item.done", {"item": item}


def _numbered(events: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    for number, (kind, values) in enumerate(events):
        yield event({"type": kind, "sequence_number": number, **values}, kind)


def check_responses(request: Mapping[str, Any]) -> None:
    """Check a request.

    Raises:
        IllegalRequest: the provider would refuse it.
    """
    items = request.get("input")
    if isinstance(items, str):
        return
    if not items:
        raise IllegalRequest('One of "input" or "previous_response_id" or "prompt" must be provided.', "input")
    _check_ids(items)
    _check_pairs(items)
    for i, item in enumerate(items):
        if item.get("type") == "reasoning":
            _check_reasoning(item, items[i + 1] if i + 1 < len(items) else {})
        if item.get("type") in OUTPUTS and str(item["call_id"]).startswith(REASONED):
            _check_reasoned(items, i)


def _check_ids(items: list[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if (name := item.get("id")) and name in seen:
            raise IllegalRequest(f"Duplicate item found with id {name}. Remove duplicate items and try again.", "input")
        seen.add(str(name))


def _check_pairs(items: list[Item]) -> None:
    """Check that each call has an output of its kind, and each output a call before it."""
    outputs = {item["call_id"]: item["type"] for item in items if str(item.get("type")).endswith("_output")}
    calls: set[str] = set()
    for i, item in enumerate(items):
        kind = str(item.get("type", "message"))
        if kind in OUTPUTS:
            calls.add(item["call_id"])
            if outputs.get(item["call_id"]) != OUTPUTS[kind]:
                raise IllegalRequest(f"No tool output found for function call {item['call_id']}.", "input")
        elif kind.endswith("_output"):
            if item["call_id"] not in calls:
                raise IllegalRequest(
                    f"No tool call found for function call output with call_id {item['call_id']}.", "input"
                )
        elif kind != "reasoning" and kind not in _OTHERS:
            raise IllegalRequest(f"Invalid value: '{kind}'.", f"input[{i}].type")


def _check_reasoning(item: Item, following: Item) -> None:
    content = item.get("encrypted_content")
    if content is not None and not is_sealed(content):
        raise IllegalRequest(
            f"The encrypted content {content[:8]}... could not be verified.", "input", "invalid_encrypted_content"
        )
    own = following.get("type") in (*OUTPUTS, "reasoning") or following.get("role") == "assistant"
    if not own:
        raise IllegalRequest(
            f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.", "input"
        )


def _check_reasoned(items: list[Item], i: int) -> None:
    """Check that the answer in which a call stands begins with its reasoning."""
    j = i - 1
    while j >= 0 and (items[j].get("type") in OUTPUTS or items[j].get("role") == "assistant"):
        j -= 1
    if j < 0 or items[j].get("type") != "reasoning":
        raise IllegalRequest(
            f"Item '{items[i].get('id') or items[i]['call_id']}' of type '{items[i]['type']}' was provided without its "
            "required 'reasoning' item.",
            "input",
        )
