"""The rules of the Gemini API: what it refuses whatever its length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.agents.illegal import IllegalRequest


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
