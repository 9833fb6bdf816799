"""Semantic Kernel: its truncation reducer."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench.frameworks.base import Converted, written_call
from bench.suite import Message
from bench.trimmers import plain_texts_only


class SemanticKernel(Converted):
    """Semantic Kernel's truncation reducer, which counts messages."""

    name = "Semantic Kernel truncation"
    lasting = True

    def __init__(self) -> None:
        super().__init__()
        self.library = import_module("semantic_kernel.contents")
        reducers = import_module("semantic_kernel.contents.history_reducer.chat_history_truncation_reducer")
        self.reducer = reducers.ChatHistoryTruncationReducer
        self.loop = asyncio.new_event_loop()

    def forth(self, messages: Sequence[Message]) -> list[Any]:
        plain_texts_only(messages)
        return [self._forth(message) for message in messages]

    def _forth(self, message: Message) -> Any:
        text = message.get("content") or ""
        items: list[Any] = [self.library.TextContent(text=text)] if text and message["role"] != "tool" else []
        if message["role"] == "tool":
            items = [self.library.FunctionResultContent(id=message["tool_call_id"], name="tool", result=text)]
        for call in message.get("tool_calls") or ():
            told = call["function"]
            items.append(
                self.library.FunctionCallContent(id=call["id"], name=told["name"], arguments=told["arguments"])
            )
        return self.library.ChatMessageContent(role=message["role"], items=items)

    def back(self, native: Any) -> list[Message]:
        results = [item for item in native.items if isinstance(item, self.library.FunctionResultContent)]
        if results:
            return [{"role": "tool", "tool_call_id": item.id, "content": str(item.result)} for item in results]
        calls = [
            written_call(item.id, item.name, item.arguments)
            for item in native.items
            if isinstance(item, self.library.FunctionCallContent)
        ]
        return [{"role": native.role.value, "content": native.content} | ({"tool_calls": calls} if calls else {})]

    def trim(self, taken: Any, budget: int) -> Any:  # noqa: ARG002 - it counts messages
        history = self.reducer(target_count=self.number, messages=taken)
        self.loop.run_until_complete(history.reduce())
        self.natives = history.messages
        return self.natives
