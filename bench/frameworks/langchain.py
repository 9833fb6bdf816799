"""LangChain: trim_messages, and the two middlewares that edit a history."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench import peers
from bench.frameworks.base import Converted
from bench.suite import Message, judge


class LangChain(Converted):
    """langchain-core's trim_messages, set up as its documentation advises."""

    name = "LangChain trim_messages (tiktoken)"

    def __init__(self) -> None:
        super().__init__()
        self.library = import_module("langchain_core.messages")
        self.encode = peers.tiktoken_encoding().encode_ordinary

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
            token_counter=self.counter(),
            strategy="last",
            start_on="human",
            include_system=True,
        )

    def counter(self) -> Any:
        """Return what trim_messages counts with."""
        return self.count


class LangChainApproximate(LangChain):
    """The same with the framework's own estimate."""

    name = "LangChain trim_messages (approximate)"

    def counter(self) -> Any:
        return "approximate"


class LangChainClearing(LangChain):
    """LangChain's middleware that clears old tool results."""

    name = "LangChain ClearToolUses"
    apart = True

    def __init__(self) -> None:
        super().__init__()
        self.edit = import_module("langchain.agents.middleware").ClearToolUsesEdit
        self.estimate = import_module("langchain_core.messages.utils").count_tokens_approximately

    def trim(self, taken: Any, budget: int) -> Any:  # noqa: ARG002 - the room is the budget without the system message
        kept = list(taken)
        self.edit(trigger=max(self.room, 1)).apply(kept, count_tokens=self.estimate)
        return kept


class LangChainSummary(LangChain):
    """LangChain's middleware that summarises, with a summariser that always answers the same."""

    name = "LangChain SummarizationMiddleware"
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
