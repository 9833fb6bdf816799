"""LlamaIndex: a model that fits its messages.

An agent keeps the calls of a run outside its memory until the run ends, so a custom memory cannot keep the run within
the window. `BrimLLM` wraps the model, which gets the messages, the system prompt and the tools.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from io import IOBase
from pathlib import Path
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCalls, TranslatedCall, arun, astream, run, stream
from brim.integrations.messages import (
    FrameworkMessage,
    KeptPart,
    MessagePart,
    Translation,
    data_uri,
    json_text,
    write_parts,
)
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.wire import plain

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
    from llama_index.core.bridge.pydantic import PrivateAttr, SerializeAsAny
    from llama_index.core.llms import LLM
    from llama_index.core.llms.function_calling import FunctionCallingLLM
except ImportError as error:
    raise missing("llama-index", error) from error

_ROLES = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_MEDIA = {
    "image": ("image", "image"),
    "audio": ("audio", "audio"),
    "video": ("file", "video"),
    "document": ("file", "data"),
}
"""The kind of each block of media, and the field of its bytes."""


class BrimLLM(FunctionCallingLLM):
    """A model whose calls fit its window. The usage is recorded, and a refused call is retried once."""

    llm: SerializeAsAny[LLM]
    _calls: FittedCalls = PrivateAttr()

    def __init__(self, llm: Any, window: Window | int | None = None, **options: Any) -> None:
        """Wrap a model.

        Args:
            llm: the model.
            window: its window; by default that of the settings or the catalogue.
            options: more arguments of `FittedCalls`: `session`, `conversations`, `store`, ...
        """
        super().__init__(
            llm=llm, callback_manager=llm.callback_manager, pydantic_program_mode=llm.pydantic_program_mode
        )
        self._calls = FittedCalls(window, **options)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class for LlamaIndex."""
        return "BrimLLM"

    @property
    def conversations(self) -> Conversations:
        """The conversations with the model."""
        return self._calls.conversations

    @property
    def metadata(self) -> Any:
        """The metadata of the model."""
        return self.llm.metadata

    def chat(self, messages: Sequence[Any], **kwargs: Any) -> Any:
        """Call the model with the fitted messages."""
        return run(self._call(messages, kwargs), lambda call: self.llm.chat(call.messages, **kwargs), _usage)

    async def achat(self, messages: Sequence[Any], **kwargs: Any) -> Any:
        """Call the model with the fitted messages; the fit runs in a thread."""
        call = await asyncio.to_thread(self._call, messages, kwargs)
        return await arun(call, lambda call: self.llm.achat(call.messages, **kwargs), _usage)

    def stream_chat(self, messages: Sequence[Any], **kwargs: Any) -> Iterator[Any]:
        """Call the model with the fitted messages, and yield the answer as a stream."""
        call = self._call(messages, kwargs)
        return stream(call, lambda call: self.llm.stream_chat(call.messages, **kwargs), _usage)

    async def astream_chat(self, messages: Sequence[Any], **kwargs: Any) -> AsyncIterator[Any]:
        """Call the model with the fitted messages, and return the answer as a stream."""
        call = await asyncio.to_thread(self._call, messages, kwargs)
        return astream(call, lambda call: self.llm.astream_chat(call.messages, **kwargs), _usage)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Pass a text to the model unchanged."""
        return self.llm.complete(prompt, formatted=formatted, **kwargs)

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Pass a text to the model unchanged."""
        return await self.llm.acomplete(prompt, formatted=formatted, **kwargs)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Pass a text to the model unchanged."""
        return self.llm.stream_complete(prompt, formatted=formatted, **kwargs)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Pass a text to the model unchanged."""
        return await self.llm.astream_complete(prompt, formatted=formatted, **kwargs)

    def get_tool_calls_from_response(self, response: Any, **kwargs: Any) -> Any:
        """Return the tool calls of an answer."""
        return self.llm.get_tool_calls_from_response(response, **kwargs)

    def _prepare_chat_with_tools(self, tools: Any, tool_required: bool = False, **kwargs: Any) -> Any:
        return self.llm._prepare_chat_with_tools_compat(tools, tool_required=tool_required, **kwargs)

    def _validate_chat_with_tools_response(self, response: Any, tools: Any, **kwargs: Any) -> Any:
        return self.llm._validate_chat_with_tools_response(response, tools, **kwargs)

    def _call(self, messages: Sequence[Any], kwargs: Mapping[str, Any]) -> TranslatedCall:
        return TranslatedCall(
            self.conversations,
            TRANSLATION,
            messages,
            model=self.metadata.model_name,
            tools=[tool for tool in kwargs.get("tools") or () if isinstance(tool, Mapping)] or None,
            answer=kwargs.get("max_tokens") or getattr(self.llm, "max_tokens", None),
            session=self._calls.session,
        )


def _usage(answer: Any) -> Any:
    """Return the usage in an answer in a known format, or `None`."""
    raw = plain(getattr(answer, "raw", None))
    usage = plain(raw.get("usage") if isinstance(raw, Mapping) else None) or getattr(answer, "additional_kwargs", None)
    known = isinstance(usage, Mapping) and any(usage.get(key) for key in ("prompt_tokens", "input_tokens"))
    return usage if known else None


def _read(messages: Sequence[Any]) -> list[FrameworkMessage]:
    """Return messages with their parts; a result without an id belongs to the first open call."""
    read, waiting = [], list[str]()
    for place, message in enumerate(messages):
        role, call_id = _ROLES.get(message.role.value, "user"), ""
        parts = _parts(message, place)
        if role == "tool":
            named = message.additional_kwargs.get("tool_call_id")
            call_id = named if named in waiting or not waiting else waiting[0]
            waiting = [call for call in waiting if call != call_id]
        waiting += [part.id for part in parts if part.kind == "call"]
        read.append(FrameworkMessage(role, tuple(parts), call_id or ""))
    return read


def _parts(message: Any, place: int) -> list[MessagePart]:
    """Return a part for each block and for each call without a block."""
    parts = [_part(block, f"{place}.{at}") for at, block in enumerate(message.blocks)]
    shown = {part.id for part in parts if part.kind == "call"}
    for call in _calls(message):
        named = call.get("function") or {}
        if call.get("id") not in shown:
            parts.append(
                MessagePart("call", named.get("arguments") or "", call.get("id") or "", named.get("name") or "")
            )
    return parts


def _calls(message: Any) -> list[Any]:
    """Return the calls that older model integrations keep outside the blocks."""
    return [plain(call) for call in message.additional_kwargs.get("tool_calls") or ()]


def _part(block: Any, key: str) -> MessagePart:
    kind = block.block_type
    if kind == "text":
        return MessagePart("text", block.text)
    if kind == "thinking":
        return MessagePart("thinking", block.content or "")
    if kind == "tool_call":
        return MessagePart("call", json_text(block.tool_kwargs), block.tool_call_id or key, block.tool_name)
    if kind in _MEDIA:
        named, field = _MEDIA[kind]
        detail = getattr(block, "detail", None) or "" if kind == "image" else ""
        return MessagePart(named, _address(block, getattr(block, field)), name=detail)
    return MessagePart("other", block.model_dump_json(exclude_none=True))


def _address(block: Any, data: Any) -> str:
    """Return the URL of media, or their data as a data URI."""
    if block.url:
        return str(block.url)
    if isinstance(data, IOBase):
        data.seek(0)
        return data_uri(None, data.read())
    if data:  # Already encoded.
        return f"data:application/octet-stream;base64,{data.decode()}"
    return data_uri(None, Path(block.path).read_bytes() if block.path else b"")


def _write(message: Any, kept: Sequence[KeptPart]) -> Any:
    """Return a copy of a message with its kept parts."""
    count = len(message.blocks)
    blocks = write_parts([each for each in kept if each.at is None or each.at < count], message.blocks, _write_block)
    update: dict[str, Any] = {"blocks": blocks}
    parts = _parts(message, 0)
    if len(parts) > count:
        texts = {parts[each.at].id: each.text for each in kept if each.at is not None and each.at >= count}
        calls = [_write_call(call, texts[call["id"]]) for call in _calls(message) if call["id"] in texts]
        update["additional_kwargs"] = {**message.additional_kwargs, "tool_calls": calls}
    return message.model_copy(update=update)


def _write_call(call: dict[str, Any], text: str | None) -> dict[str, Any]:
    return call if text is None else {**call, "function": {**call["function"], "arguments": text}}


def _write_block(block: Any, kept: KeptPart) -> Any:
    """Return a copy of a block with its new text; a block without text is replaced by a text."""
    text = kept.text or ""
    if isinstance(block, ToolCallBlock):
        arguments = text if isinstance(block.tool_kwargs, str) else json.loads(text)
        return block.model_copy(update={"tool_kwargs": arguments})
    return block.model_copy(update={"text": text}) if isinstance(block, TextBlock) else TextBlock(text=text)


TRANSLATION = Translation(_read, _write, lambda text: ChatMessage(role=MessageRole.USER, content=text))
