"""LlamaIndex: a model that only ever gets what fits, and a memory that keeps everything and gives what fits.

An agent keeps the calls of a run outside of its memory until the run ends, so a memory alone cannot keep the run within
the window. `BrimLLM` stands around the model, where messages, system prompt and tools are all known; `BrimMemory` is
for chat engines, and for agents beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from brim.errors import UnknownName
from brim.integrations import missing
from brim.integrations.llama_messages import changed
from brim.integrations.llama_messages import spoken as read
from brim.integrations.parts import Spoken, format_for, unwired, wired
from brim.meter import meter as meter_of
from brim.meter.estimate import OTHER
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest
from brim.wire import plain

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import PrivateAttr, SerializeAsAny
    from llama_index.core.llms import LLM
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.memory.types import BaseChatStoreMemory
    from llama_index.core.storage.chat_store import SimpleChatStore
except ImportError as error:
    raise missing("llama-index") from error


class _Sent(NamedTuple):
    """A request, and its messages as LlamaIndex has them."""

    request: FittedRequest
    messages: list[Any]
    given: list[Any]
    spoken: list[Spoken]


class BrimLLM(FunctionCallingLLM):
    """A model that gets what fits its window: its usage is learned from, and a refused call is made once more."""

    llm: SerializeAsAny[LLM]
    _conversations: Conversations = PrivateAttr()
    _session: str | None = PrivateAttr()

    def __init__(
        self,
        llm: Any,
        window: Window | int | None = None,
        *,
        session: str | None = None,
        conversations: Conversations | None = None,
        **settings: Any,
    ) -> None:
        """Stand around a model.

        Args:
            llm: the model.
            window: what it holds; without it, what the catalogue knows of it.
            session: the name of the conversation, where there is one; without it, it is told by its messages.
            conversations: where the sessions live, if they are shared with something else.
            settings: further arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
        """
        super().__init__(
            llm=llm, callback_manager=llm.callback_manager, pydantic_program_mode=llm.pydantic_program_mode
        )
        self._conversations, self._session = conversations or Conversations(window, **settings), session

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex knows it by."""
        return "BrimLLM"

    @property
    def conversations(self) -> Conversations:
        """The conversations that were had with it."""
        return self._conversations

    @property
    def metadata(self) -> Any:
        """What the model says of itself."""
        return self.llm.metadata

    def chat(self, messages: Sequence[Any], **kwargs: Any) -> Any:
        """Call the model with what fits."""
        sent = self._fitted(messages, kwargs)
        try:
            answer = self.llm.chat(sent.messages, **kwargs)
        except Exception as error:  # Whatever a provider raises may tell of an overflow; all else goes on.
            sent = _smaller(sent, error)
            answer = self.llm.chat(sent.messages, **kwargs)
        sent.request.answered(_usage(answer))
        return answer

    async def achat(self, messages: Sequence[Any], **kwargs: Any) -> Any:
        """Call the model with what fits; the fit is made in a thread."""
        sent = await asyncio.to_thread(self._fitted, messages, kwargs)
        try:
            answer = await self.llm.achat(sent.messages, **kwargs)
        except Exception as error:  # As above.
            sent = await asyncio.to_thread(_smaller, sent, error)
            answer = await self.llm.achat(sent.messages, **kwargs)
        await asyncio.to_thread(sent.request.answered, _usage(answer))
        return answer

    def stream_chat(self, messages: Sequence[Any], **kwargs: Any) -> Generator[Any, None, None]:
        """Call the model with what fits, and yield its answer as it comes."""
        sent, answer = self._fitted(messages, kwargs), None
        try:
            for answer in self.llm.stream_chat(sent.messages, **kwargs):
                yield answer
        except Exception as error:  # As above.
            if answer is not None:
                raise
            sent = _smaller(sent, error)
            for answer in self.llm.stream_chat(sent.messages, **kwargs):
                yield answer
        sent.request.answered(_usage(answer))

    async def astream_chat(self, messages: Sequence[Any], **kwargs: Any) -> AsyncGenerator[Any, None]:
        """Call the model with what fits, and return its answer as it comes."""
        sent = await asyncio.to_thread(self._fitted, messages, kwargs)

        async def told(sent: _Sent) -> AsyncGenerator[Any, None]:
            answer = None
            try:
                async for answer in await self.llm.astream_chat(sent.messages, **kwargs):
                    yield answer
            except Exception as error:  # As above.
                if answer is not None:
                    raise
                sent = await asyncio.to_thread(_smaller, sent, error)
                async for answer in await self.llm.astream_chat(sent.messages, **kwargs):
                    yield answer
            await asyncio.to_thread(sent.request.answered, _usage(answer))

        return told(sent)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Pass a text on as it is."""
        return self.llm.complete(prompt, formatted=formatted, **kwargs)

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Pass a text on as it is."""
        return await self.llm.acomplete(prompt, formatted=formatted, **kwargs)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Pass a text on as it is."""
        return self.llm.stream_complete(prompt, formatted=formatted, **kwargs)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Pass a text on as it is."""
        return await self.llm.astream_complete(prompt, formatted=formatted, **kwargs)

    def get_tool_calls_from_response(self, response: Any, **kwargs: Any) -> Any:
        """Return the calls in an answer, as the model reads them."""
        return self.llm.get_tool_calls_from_response(response, **kwargs)

    def _prepare_chat_with_tools(self, tools: Any, tool_required: bool = False, **kwargs: Any) -> Any:
        return self.llm._prepare_chat_with_tools_compat(tools, tool_required=tool_required, **kwargs)

    def _validate_chat_with_tools_response(self, response: Any, tools: Any, **kwargs: Any) -> Any:
        return self.llm._validate_chat_with_tools_response(response, tools, **kwargs)

    def _fitted(self, messages: Sequence[Any], kwargs: Mapping[str, Any]) -> _Sent:
        tools = [tool for tool in kwargs.get("tools") or () if isinstance(tool, Mapping)]
        answer = kwargs.get("max_tokens") or getattr(self.llm, "max_tokens", None)
        asked = {"model": self.metadata.model_name, "tools": tools or None, "answer": answer, "session": self._session}
        return _fitted(self._conversations, messages, asked)


class BrimMemory(BaseChatStoreMemory):
    """A memory that keeps every message, and gives what of them fits."""

    window: int | None = None
    model: str | None = None
    session: str | None = None
    aside: int = 0
    _conversations: Conversations = PrivateAttr()
    _tools: list[Any] = PrivateAttr()
    _meter: Any = PrivateAttr()

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        model: str | None = None,
        tools: Sequence[Any] = (),
        aside: int = 0,
        session: str | None = None,
        conversations: Conversations | None = None,
        chat_store: Any = None,
        chat_store_key: str = "chat_history",
        **settings: Any,
    ) -> None:
        """Begin with the messages that the chat store has.

        Args:
            window: what the model holds; without it, what the catalogue knows of `model`, and without that no bound.
            model: the model that gets the messages.
            tools: the tools that are sent along, which a memory does not see.
            aside: further units of the prompt that a memory does not see: the system prompt of an agent, and room for
                the calls of a run.
            session: the name of the conversation; without it, it is told by its messages.
            conversations: where the sessions live, if they are shared with something else.
            chat_store: where LlamaIndex keeps the messages.
            chat_store_key: their name there.
            settings: further arguments of `Conversations`: `store`, `meter`, `summarise`, ...
        """
        size = window.size if isinstance(window, Window) else window
        stored = {"chat_store": chat_store or SimpleChatStore(), "chat_store_key": chat_store_key}
        super().__init__(window=size, model=model, session=session, aside=aside, **stored)
        self._meter = _scale(settings.get("meter") or model)
        self._conversations = conversations or Conversations(window, model=model, **settings)
        self._tools = [each if isinstance(each, Mapping) else each.metadata.to_openai_tool() for each in tools]

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex knows it by."""
        return "BrimMemory"

    @classmethod
    def from_defaults(cls, chat_history: Sequence[Any] = (), **kwargs: Any) -> BrimMemory:
        """Return a memory that begins with some messages."""
        made = cls(**kwargs)
        made.set(list(chat_history))
        return made

    def to_dict(self, **_: Any) -> dict[str, Any]:
        """Return it as JSON values, as the context of a workflow keeps it: its messages, and what it goes by."""
        messages = [message.model_dump(mode="json") for message in self.get_all()]
        told = {name: getattr(self, name) for name in ("window", "model", "session", "aside", "chat_store_key")}
        return {**told, "messages": messages, "class_name": self.class_name()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> BrimMemory:
        """Return the memory that `to_dict` wrote; the tools and a store of brim's are given again."""
        told = {key: value for key, value in data.items() if key not in ("class_name", "messages")}
        messages = [ChatMessage.model_validate(message) for message in data["messages"]]
        return cls.from_defaults(messages, **told, **kwargs)

    @property
    def conversations(self) -> Conversations:
        """What it gave, as conversations."""
        return self._conversations

    def tokenizer_fn(self, text: str) -> range:
        """Return as many numbers as a text has units: chat engines count so what they add."""
        return range(self._meter.count(text))

    def get(self, input: str | None = None, initial_token_count: int = 0, **_: Any) -> list[Any]:  # noqa: A002, ARG002
        """Return what fits.

        Args:
            input: the newest question; it is not looked at.
            initial_token_count: units that the caller adds to it.
        """
        return self._given(self.get_all(), initial_token_count)

    async def aget(self, input: str | None = None, initial_token_count: int = 0, **_: Any) -> list[Any]:  # noqa: A002, ARG002
        """Return what fits; the fit is made in a thread."""
        return await asyncio.to_thread(self._given, await self.aget_all(), initial_token_count)

    def _given(self, messages: Sequence[Any], more: int) -> list[Any]:
        asked = {"model": self.model, "tools": self._tools or None, "session": self.session}
        return _fitted(self._conversations, messages, {**asked, "aside": self.aside + more}).messages


def _scale(meter: Any) -> Any:
    try:
        return meter_of(meter or OTHER) if meter is None or isinstance(meter, str) else meter
    except UnknownName:  # Nothing is known of the model, as with the conversations.
        return meter_of(OTHER)


def _fitted(conversations: Conversations, messages: Sequence[Any], asked: Mapping[str, Any]) -> _Sent:
    given, format = list(messages), format_for(asked["model"])
    spoken = read(given)
    return _sent(conversations.request(wired(spoken, format), format=format, **asked), given, spoken)


def _smaller(sent: _Sent, error: Exception) -> _Sent:
    """Return a smaller request after a refusal; any other error goes on."""
    smaller = sent.request.refused(error)
    if smaller is None:
        raise error
    return _sent(smaller, sent.given, sent.spoken)


def _sent(request: FittedRequest, given: list[Any], spoken: list[Spoken]) -> _Sent:
    said = unwired(request, spoken, given, changed, lambda text: ChatMessage(role=MessageRole.USER, content=text))
    return _Sent(request, said if request.changed else given, given, spoken)


def _usage(answer: Any) -> Any:
    """Return what an answer reports; nothing where it reports nothing that is known."""
    raw = plain(getattr(answer, "raw", None))
    usage = plain(raw.get("usage") if isinstance(raw, Mapping) else None) or getattr(answer, "additional_kwargs", None)
    known = isinstance(usage, Mapping) and any(usage.get(key) for key in ("prompt_tokens", "input_tokens"))
    return usage if known else None
