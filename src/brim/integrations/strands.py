"""Strands Agents: a conversation manager that fits every model call.

Use `Agent(..., conversation_manager=BrimConversationManager())`. It does not change `agent.messages`: it wraps each
model call, where the whole request is known, and fits only what is sent.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCalls, TranslatedCall, astream, usage_of
from brim.integrations.messages import (
    FrameworkMessage,
    KeptPart,
    MessagePart,
    Translation,
    data_uri,
    json_text,
    json_values,
    write_parts,
)
from brim.meter.window import Window

try:
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AgentInitializedEvent
    from strands.middleware import InvokeModelStage
    from strands.types.events import ModelStopReason
except ImportError as error:
    raise missing("strands") from error

_MEDIA = {"image": "image", "document": "file", "video": "file", "audio": "file"}


class BrimConversationManager(FittedCalls, ConversationManager):
    """Fits each call into the model's window, records the reported usage, and retries a refused call once."""

    def __init__(self, window: Window | int | None = None, *, session: str | None = None, **options: Any) -> None:
        """Begin.

        Args:
            window: the window of the model; by default that of the settings or the catalogue.
            session: the name of the conversation, for a manager of one agent; by default the agent's session and id.
            options: more arguments of `FittedCalls`: `conversations`, `store`, `summarise`, `on_notice`, ...
        """
        ConversationManager.__init__(self)
        FittedCalls.__init__(self, window, **options)
        self._session = session

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        """Wrap the model calls of the agent."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._join)

    def apply_management(self, agent: Any, **_: Any) -> None:
        """Do not change the agent's messages."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **_: Any) -> None:  # noqa: ARG002
        """Raise the error, since the call was already retried with a smaller request.

        Raises:
            ContextWindowOverflowException: `e`.
        """
        if e is not None:
            raise e

    def _join(self, event: Any) -> None:
        event.agent.add_middleware(InvokeModelStage, self._invoke)

    async def _invoke(self, context: Any, model: Callable[[Any], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        async def send(call: TranslatedCall) -> AsyncIterator[Any]:
            return model(context.replace(messages=call.messages) if call.request.changed else context)

        call = await asyncio.to_thread(self._call, context)
        async for event in astream(call, send, _usage):
            yield event

    def _call(self, context: Any) -> TranslatedCall:
        config = context.model.get_config()
        config = config if isinstance(config, Mapping) else vars(config)
        params = config.get("params") or {}
        return TranslatedCall(
            self.conversations,
            TRANSLATION,
            context.messages,
            model=config.get("model_id"),
            tools=[_tool(spec) for spec in context.tool_specs] or None,
            system=_system(context.system_prompt) or None,
            format="anthropic",
            answer=config.get("max_tokens") or params.get("max_tokens") or params.get("max_completion_tokens"),
            session=self._session or _session(context.agent),
        )


def _session(agent: Any) -> str | None:
    session = getattr(agent, "session_id", None)
    return None if session is None else f"{session}/{agent.agent_id}"


def _system(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(block["text"] for block in prompt or () if "text" in block)


def _tool(spec: Mapping[str, Any]) -> dict[str, Any]:
    schema = spec.get("inputSchema") or {}
    return {"name": spec["name"], "description": spec["description"], "input_schema": schema.get("json", schema)}


def _usage(event: Any) -> dict[str, Any] | None:
    """Return the usage in the last event; some models do not count cached tokens as input."""
    if not isinstance(event, ModelStopReason):
        return None
    usage: Mapping[str, Any] = event.usage
    answer = usage.get("outputTokens") or 0
    prompt = max((usage.get("totalTokens") or 0) - answer, usage.get("inputTokens") or 0)
    return usage_of(prompt, answer, usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens"))


def _read(messages: Sequence[Mapping[str, Any]]) -> list[FrameworkMessage]:
    return [FrameworkMessage(each["role"], tuple(_part(block) for block in each["content"])) for each in messages]


def _part(block: Mapping[str, Any]) -> MessagePart | FrameworkMessage:
    if "toolResult" in block:
        result = block["toolResult"]
        return FrameworkMessage("tool", tuple(_part(part) for part in result["content"]), result["toolUseId"])
    if "toolUse" in block:
        use = block["toolUse"]
        return MessagePart("call", json_text(use["input"]), use["toolUseId"], use["name"])
    if "reasoningContent" in block:
        thought = block["reasoningContent"]
        if "redactedContent" in thought:
            return MessagePart("thinking", base64.b64encode(thought["redactedContent"]).decode(), name="sealed")
        return MessagePart("thinking", (thought.get("reasoningText") or {}).get("text") or "")
    if isinstance(block.get("text"), str):
        return MessagePart("text", block["text"])
    if "json" in block:
        return MessagePart("text", json_text(block["json"]))
    for key, kind in _MEDIA.items():
        if key in block:
            source = block[key].get("source") or {}
            address = (source.get("location") or source.get("s3Location") or {}).get("uri")
            return MessagePart(kind, address or data_uri(f"{key}/{block[key].get('format', '')}", source.get("bytes")))
    return MessagePart("other", json_text(block))


def _write(message: Any, kept: Sequence[KeptPart]) -> Any:
    return {**message, "content": write_parts(kept, message["content"], _write_block)}


def _write_block(block: Any, kept: KeptPart) -> Any:
    """Return a copy of a block with its new content; a block without text is replaced by a text."""
    if kept.inside is not None:
        content = write_parts(kept.inside, block["toolResult"]["content"], _write_block)
        return {**block, "toolResult": {**block["toolResult"], "content": content}}
    text = kept.text or ""
    if block is not None and "toolUse" in block:
        return {**block, "toolUse": {**block["toolUse"], "input": json.loads(text)}}
    if block is not None and "json" in block:
        values = json_values(text)
        return {"text": text} if isinstance(values, str) else {"json": values}
    return {**(block if block is not None and "text" in block else {}), "text": text}


TRANSLATION = Translation(_read, _write, lambda text: {"role": "user", "content": [{"text": text}]})
