"""LlamaIndex: the old buffer and the new memory."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench import peers
from bench.frameworks.base import Converted, parsed, written_call
from bench.suite import Message
from bench.trimmers import plain_texts_only


class LlamaBuffer(Converted):
    """LlamaIndex's ChatMemoryBuffer, the system message counted in beforehand."""

    name = "LlamaIndex ChatMemoryBuffer"
    apart = True

    def __init__(self) -> None:
        super().__init__()
        self.types = import_module("llama_index.core.base.llms.types")
        self.library = import_module("llama_index.core.memory")
        self.encode = peers.tiktoken_encoding().encode_ordinary

    def forth(self, messages: Sequence[Message]) -> list[Any]:
        plain_texts_only(messages)
        return [self._forth(message) for message in messages]

    def _forth(self, message: Message) -> Any:
        blocks: list[Any] = [self.types.TextBlock(text=message["content"])] if message.get("content") else []
        for call in message.get("tool_calls") or ():
            told = call["function"]
            blocks.append(
                self.types.ToolCallBlock(
                    tool_call_id=call["id"], tool_name=told["name"], tool_kwargs=parsed(told["arguments"])
                )
            )
        extra = {"tool_call_id": message["tool_call_id"]} if message["role"] == "tool" else {}
        return self.types.ChatMessage(role=message["role"], blocks=blocks, additional_kwargs=extra)

    def back(self, native: Any) -> list[Message]:
        calls = [
            written_call(block.tool_call_id, block.tool_name, block.tool_kwargs)
            for block in native.blocks
            if isinstance(block, self.types.ToolCallBlock)
        ]
        made: Message = {"role": native.role.value, "content": native.content or ""}
        made |= {"tool_calls": calls} if calls else {}
        answers = native.additional_kwargs.get("tool_call_id")
        return [made | ({"tool_call_id": answers} if answers else {})]

    def trim(self, taken: Any, budget: int) -> Any:
        memory = self.library.ChatMemoryBuffer.from_defaults(
            chat_history=taken, token_limit=budget, tokenizer_fn=self.encode
        )
        return memory.get(initial_token_count=budget - self.room)


class LlamaMemory(LlamaBuffer):
    """LlamaIndex's Memory, which gets each message when it is added."""

    name = "LlamaIndex Memory"

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = import_module("llama_index.core.storage.chat_store.sql").SQLAlchemyChatStore(table_name="kept")
        self.sessions = 0

    def begin(self) -> None:
        super().begin()
        self.kept: Any = None

    def trim(self, taken: Any, budget: int) -> Any:  # noqa: ARG002
        return self.loop.run_until_complete(self._trim(taken))

    async def _trim(self, taken: Any) -> Any:
        if self.kept is None:
            self.sessions += 1
            self.told = 0
            self.kept = self.library.Memory.from_defaults(
                session_id=f"session {self.sessions}",
                token_limit=max(self.room, 1),
                tokenizer_fn=self.encode,
                chat_store=self.store,
            )
        await self.kept.aput_messages(taken[self.told :])
        self.told = len(taken)
        return await self.kept.aget()
