"""The rules of the Responses API: pairs of calls and outputs, and reasoning that stays with what it led to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.agents.illegal import IllegalRequest, is_sealed

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
