"""Strands: its sliding window, before and after the model has refused."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from bench.frameworks.base import Converted, parsed, written_call
from bench.suite import Message
from bench.trimmers import plain_texts_only


class Strands(Converted):
    """Strands' sliding window, which counts messages."""

    name = "Strands sliding window"
    apart = True
    lasting = True

    def __init__(self) -> None:
        super().__init__()
        self.kind = import_module("strands.agent.conversation_manager").SlidingWindowConversationManager
        self.overflow = import_module("strands.types.exceptions").ContextWindowOverflowException

    def forth(self, messages: Sequence[Message]) -> list[Any]:
        plain_texts_only(messages)
        made: list[Any] = []
        for message in messages:
            if message["role"] != "tool":
                made.append(_strands(message))
                continue
            block = {
                "toolUseId": message["tool_call_id"],
                "status": "success",
                "content": [{"text": message.get("content") or ""}],
            }
            if made and any("toolResult" in part for part in made[-1]["content"]):
                made[-1]["content"].append({"toolResult": block})
            else:
                made.append({"role": "user", "content": [{"toolResult": block}]})
        return made

    def back(self, native: Any) -> list[Message]:
        results = [part["toolResult"] for part in native["content"] if "toolResult" in part]
        if results:
            return [
                {"role": "tool", "tool_call_id": each["toolUseId"], "content": each["content"][0]["text"]}
                for each in results
            ]
        text = "".join(part["text"] for part in native["content"] if "text" in part)
        uses = [part["toolUse"] for part in native["content"] if "toolUse" in part]
        calls = [written_call(use["toolUseId"], use["name"], use["input"]) for use in uses]
        return [{"role": native["role"], "content": text} | ({"tool_calls": calls} if calls else {})]

    def trim(self, taken: Any, budget: int) -> Any:  # noqa: ARG002 - it counts messages
        agent = SimpleNamespace(messages=taken)
        self.kind(window_size=max(1, self.number)).apply_management(agent)
        return agent.messages


class StrandsReactive(Strands):
    """The same after the model has refused: reduce, ask again, until it fits."""

    name = "Strands reactive"

    def trim(self, taken: Any, budget: int) -> Any:
        agent, window = SimpleNamespace(messages=taken), self.kind()
        while self.judge.size(self.give(agent.messages)) > budget:
            window.reduce_context(agent, e=self.overflow("too long"))
        return agent.messages


def _strands(message: Message) -> Message:
    parts: list[Any] = [{"text": message["content"]}] if message.get("content") else []
    for call in message.get("tool_calls") or ():
        told = call["function"]
        parts.append({"toolUse": {"toolUseId": call["id"], "name": told["name"], "input": parsed(told["arguments"])}})
    return {"role": message["role"], "content": parts or [{"text": ""}]}
