"""The trimmers of frameworks that have message classes of their own, each behind the calls of `bench.trimmers.Trimmer`.

Each imports its framework when it is made; one that is not installed raises `ImportError`.
"""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
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


class AgentFramework(Converted):
    """agent-framework's TruncationStrategy, with the option that keeps the first user message."""

    name = "agent-framework Truncation, first user kept"
    package = "agent-framework-core"
    lasting = True

    def __init__(self) -> None:
        super().__init__()
        encode = counting.tiktoken_encoding().encode_ordinary
        self.library = import_module("agent_framework")
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

    def trim(self, taken: Any, budget: int) -> Any:
        strategy = self.library.TruncationStrategy(
            max_n=budget, compact_to=budget, tokenizer=self.tokenizer, preserve_first_user_group=True
        )
        compact = self.library.apply_compaction(taken, strategy=strategy, tokenizer=self.tokenizer)
        return self.loop.run_until_complete(compact)


class StrandsReactive(Converted):
    """Strands' sliding window after the model has refused: reduce, ask again, until it fits."""

    name = "Strands reactive"
    package = "strands-agents"
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
