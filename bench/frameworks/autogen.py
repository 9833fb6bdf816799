"""AutoGen: its token-limited context."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench.frameworks.base import Converted, written_call
from bench.suite import Message, judge
from bench.trimmers import plain_texts_only


class AutoGen(Converted):
    """AutoGen's token-limited context with the OpenAI client's own count."""

    name = "AutoGen token-limited"

    def __init__(self) -> None:
        super().__init__()
        self.call = import_module("autogen_core").FunctionCall
        self.models = import_module("autogen_core.models")
        self.context = import_module("autogen_core.model_context").TokenLimitedChatCompletionContext
        clients = import_module("autogen_ext.models.openai")
        self.client = clients.OpenAIChatCompletionClient(model="gpt-4o", api_key="none")
        self.loop = asyncio.new_event_loop()

    def forth(self, messages: Sequence[Message]) -> list[Any]:
        plain_texts_only(messages)
        made: list[Any] = []
        for message in messages:
            if message["role"] != "tool":
                made.append(self._forth(message))
                continue
            answer = self.models.FunctionExecutionResult(
                call_id=message["tool_call_id"], content=message.get("content") or "", name="tool", is_error=False
            )
            if made and isinstance(made[-1], self.models.FunctionExecutionResultMessage):
                made[-1].content.append(answer)
            else:
                made.append(self.models.FunctionExecutionResultMessage(content=[answer]))
        return made

    def _forth(self, message: Message) -> Any:
        text = message.get("content") or ""
        if message["role"] in judge.LEADING:
            return self.models.SystemMessage(content=text)
        if message["role"] == "user":
            return self.models.UserMessage(content=text, source="user")
        calls = [
            self.call(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]
        return self.models.AssistantMessage(
            content=calls or text, source="assistant", thought=(text or None) if calls else None
        )

    def back(self, native: Any) -> list[Message]:
        if isinstance(native, self.models.FunctionExecutionResultMessage):
            return [{"role": "tool", "tool_call_id": each.call_id, "content": each.content} for each in native.content]
        role = native.type.removesuffix("Message").lower()
        if isinstance(native.content, str):
            return [{"role": role, "content": native.content}]
        calls = [written_call(call.id, call.name, call.arguments) for call in native.content]
        return [{"role": role, "content": native.thought, "tool_calls": calls}]

    def trim(self, taken: Any, budget: int) -> Any:
        context = self.context(self.client, token_limit=budget, initial_messages=taken)
        return self.loop.run_until_complete(context.get_messages())
