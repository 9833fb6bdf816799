"""Microsoft's agent-framework: its compaction strategies."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from bench import peers
from bench.frameworks.base import Converted, written_call
from bench.suite import Message
from bench.trimmers import plain_texts_only


class AgentFramework(Converted):
    """agent-framework's TruncationStrategy."""

    name = "agent-framework TruncationStrategy"
    lasting = True
    task = False
    """Whether the option that keeps the first user message is on."""

    def __init__(self) -> None:
        super().__init__()
        library = import_module("agent_framework")
        encode = peers.tiktoken_encoding().encode_ordinary
        self.library = library
        self.tokenizer = SimpleNamespace(count_tokens=lambda text: len(encode(text)))
        self.loop = asyncio.new_event_loop()

    def forth(self, messages: Sequence[Message]) -> list[Any]:
        plain_texts_only(messages)
        return [self._forth(message) for message in messages]

    def _forth(self, message: Message) -> Any:
        content = self.library.Content
        text = message.get("content") or ""
        if message["role"] == "tool":
            parts = [content.from_function_result(message["tool_call_id"], result=text)]
        else:
            parts = [content.from_text(text)] if text else []
            parts += [
                content.from_function_call(
                    call["id"], call["function"]["name"], arguments=call["function"]["arguments"]
                )
                for call in message.get("tool_calls") or ()
            ]
        return self.library.Message(message["role"], parts)

    def back(self, native: Any) -> list[Message]:
        results = [part for part in native.contents if part.type == "function_result"]
        if results:
            return [
                {"role": "tool", "tool_call_id": part.call_id, "content": str(part.result or "")} for part in results
            ]
        calls = [
            written_call(part.call_id, part.name, part.arguments)
            for part in native.contents
            if part.type == "function_call"
        ]
        return [{"role": str(native.role), "content": native.text} | ({"tool_calls": calls} if calls else {})]

    def strategy(self, budget: int) -> Any:
        """Return the strategy that compacts to the budget."""
        return self.library.TruncationStrategy(
            max_n=budget, compact_to=budget, tokenizer=self.tokenizer, preserve_first_user_group=self.task
        )

    def trim(self, taken: Any, budget: int) -> Any:
        compact = self.library.apply_compaction(taken, strategy=self.strategy(budget), tokenizer=self.tokenizer)
        return self.loop.run_until_complete(compact)


class AgentFrameworkTask(AgentFramework):
    """The same with the first user message kept, which is off unless asked for."""

    name = "agent-framework Truncation, first user kept"
    task = True


class AgentFrameworkWindow(AgentFramework):
    """agent-framework's strategy for a context window."""

    name = "agent-framework ContextWindow"

    def strategy(self, budget: int) -> Any:
        return self.library.ContextWindowCompactionStrategy(
            max_context_window_tokens=budget, max_output_tokens=0, tokenizer=self.tokenizer
        )
