"""The trimmers of frameworks that have message classes of their own, each behind the calls of `bench.trimmers.Trimmer`.

Each imports its framework when it is made; one that is not installed raises `ImportError`.
"""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench import counting
from bench.suite import Judge, Message, judge
from bench.trimmers import Trimmer, plain_texts_only

Key = tuple[object, ...]


class Converted(Trimmer):
    """The base of those that have message classes of their own."""

    apart = False
    """Whether the framework stores the leading system messages separately; their size is subtracted from the budget."""
    lasting = False
    """Whether the framework keeps its trimmed history, and gets the new messages only."""

    def __init__(self) -> None:
        counting.tiktoken_encoding()
        self.judge = Judge(count=counting.tiktoken_count())
        self.begin()

    def begin(self) -> None:
        """Forget what was converted."""
        self.known: dict[Key, Message] = {}
        self.natives: list[Any] = []
        self.seen = 0

    def take(self, messages: Sequence[Message], budget: int) -> Any:
        """Return the messages in the framework's classes, and remember the originals."""
        if not self.lasting:
            Converted.begin(self)
        self.head = judge.leading(list(messages)) if self.apart else []
        self.room = budget - self.judge.size(self.head)
        new = messages[max(self.seen, len(self.head)) :]
        self.known |= {_key(message): message for message in new}
        self.natives += self.forth(new)
        self.seen = len(messages)
        return self.natives

    def give(self, kept: Any) -> list[Message]:
        """Return chat messages, the caller's own where they are the same."""
        made = [message for each in kept for message in self.back(each)]
        return [*self.head, *(self.known.get(_key(message), message) for message in made)]

    def forth(self, messages: Sequence[Message]) -> list[Any]:
        """Return chat messages in the framework's classes."""
        raise NotImplementedError

    def back(self, native: Any) -> list[Message]:
        """Return one of the framework's messages as chat messages."""
        raise NotImplementedError


def _key(message: Message) -> Key:
    calls = tuple(call.get("id") for call in message.get("tool_calls") or ())
    content = message.get("content")
    shown = json.dumps(content) if isinstance(content, list) else content or ""
    return message.get("role"), shown, calls, message.get("tool_call_id")


def written_call(call_id: str | None, name: str, arguments: object) -> Message:
    """Return a call as chat messages write it."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def parsed(arguments: str) -> Any:
    """Return the arguments of a call as the mapping that a framework wants."""
    try:
        read = json.loads(arguments)
    except ValueError:
        return {"text": arguments}
    return read if isinstance(read, dict) else {"value": read}


class LangChain(Converted):
    """langchain-core's trim_messages, set up as its documentation advises."""

    name = "LangChain trim_messages (tiktoken)"
    package = "langchain-core"

    def __init__(self) -> None:
        super().__init__()
        self.library = import_module("langchain_core.messages")
        self.encode = counting.tiktoken_encoding().encode_ordinary

    def forth(self, messages: Sequence[Message]) -> list[Any]:
        return list(self.library.convert_to_messages(list(messages)))

    def back(self, native: Any) -> list[Message]:
        made: Message = self.library.convert_to_openai_messages([native])[0]
        return [made]

    def count(self, messages: Any) -> int:
        """Return the tokens of the framework's messages."""
        total = 0
        for message in messages:
            total += judge.PER_MESSAGE + len(self.encode(message.text))
            for call in getattr(message, "tool_calls", ()):
                total += len(self.encode(call["name"])) + len(self.encode(json.dumps(call["args"])))
        return total

    def trim(self, taken: Any, budget: int) -> Any:
        return self.library.trim_messages(
            taken,
            max_tokens=budget,
            token_counter=self.count,
            strategy="last",
            start_on="human",
            include_system=True,
        )


class LangChainSummary(LangChain):
    """LangChain's middleware that summarises, with a summariser that always answers the same.

    The trigger is the budget, and half is kept. The cost of the summary itself is not counted.
    """

    name = "LangChain SummarizationMiddleware"
    package = "langchain"
    apart = True
    lasting = True
    summary = "Several records were looked up. None of them explains the matter yet, and the search goes on. " * 4

    def __init__(self) -> None:
        super().__init__()
        self.kind = import_module("langchain.agents.middleware").SummarizationMiddleware
        models = import_module("langchain_core.language_models.fake_chat_models")
        self.model = models.FakeListChatModel(responses=[self.summary])

    def trim(self, taken: Any, budget: int) -> Any:  # noqa: ARG002
        room = max(self.room, 2)
        middleware = self.kind(
            model=self.model,
            trigger=("tokens", room),
            keep=("tokens", room // 2),
            token_counter=self.count,
            summarizer=lambda _messages: self.summary,
        )
        answer = middleware.before_model({"messages": list(taken)}, None)
        if answer is None:
            return taken
        self.natives = [message for message in answer["messages"] if message.type != "remove"]
        return self.natives


class LlamaMemory(Converted):
    """LlamaIndex's Memory, which gets each message when it is added."""

    name = "LlamaIndex Memory"
    package = "llama-index-core"
    apart = True

    def __init__(self) -> None:
        super().__init__()
        self.types = import_module("llama_index.core.base.llms.types")
        self.library = import_module("llama_index.core.memory")
        self.encode = counting.tiktoken_encoding().encode_ordinary
        self.loop = asyncio.new_event_loop()
        self.store = import_module("llama_index.core.storage.chat_store.sql").SQLAlchemyChatStore(table_name="kept")
        self.sessions = 0

    def begin(self) -> None:
        super().begin()
        self.kept: Any = None

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
