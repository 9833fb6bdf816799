"""Strands Agents: a conversation manager under which every call of the model fits.

`Agent(..., conversation_manager=BrimConversationManager())` is all. It removes nothing from `agent.messages`: it stands
around each call of the model, where the whole request is known, and only what is sent is fitted.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.blocks import BlockMessage, RemainingBlock, Result, blocks_wired, remains
from brim.integrations.parts import MessagePart
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest

try:
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AgentInitializedEvent
    from strands.middleware import InvokeModelStage
    from strands.types.events import ModelStopReason
except ImportError as error:
    raise missing("strands") from error

_MEDIA = {"image": "image", "document": "file", "video": "file", "audio": "file"}


class BrimConversationManager(ConversationManager):
    """Fits each call of the model into its window, learns from the usage that comes back, and retries a refused one."""

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        session: str | None = None,
        conversations: Conversations | None = None,
        **settings: Any,
    ) -> None:
        """Begin.

        Args:
            window: what the model holds; without it, what the catalogue knows of each model.
            session: the name of the conversation, where the manager has one agent; without it, the agent's session and
                its id.
            conversations: where the sessions live, if they are shared with something else.
            settings: further arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
        """
        super().__init__()
        self.conversations = conversations or Conversations(window, **settings)
        self._session = session

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        """Stand around the calls of the model as soon as there is an agent."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._join)

    def apply_management(self, agent: Any, **_: Any) -> None:
        """Leave the agent's messages whole."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **_: Any) -> None:  # noqa: ARG002
        """Say that nothing helps: a call that was refused has been tried once more with less.

        Raises:
            ContextWindowOverflowException: as it came.
        """
        if e is not None:
            raise e

    def _join(self, event: Any) -> None:
        event.agent.add_middleware(InvokeModelStage, self._call)

    async def _call(self, context: Any, call: Callable[[Any], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """Call the model with what fits; after a refusal once more, with less."""
        given = list(context.messages)
        spoken, first = await asyncio.to_thread(self._fitted, context, given)
        fitted: FittedRequest | None = first
        begun = False
        while fitted is not None:
            sent = context
            if fitted.changed:
                sent = context.replace(messages=fitted.written(given, lambda raw: _made(raw, given, spoken)))
            try:
                async for event in call(sent):
                    begun = True
                    if isinstance(event, ModelStopReason):
                        await asyncio.to_thread(fitted.answered, _usage(event.usage))
                    yield event
            except Exception as error:  # Whatever a provider raises may tell of an overflow; all else goes on.
                fitted = None if begun else await asyncio.to_thread(fitted.refused, error)
                if fitted is None:
                    raise
            else:
                return

    def _fitted(self, context: Any, given: Sequence[Any]) -> tuple[list[BlockMessage], FittedRequest]:
        spoken = [_spoken(message) for message in given]
        config = context.model.get_config()
        config = config if isinstance(config, Mapping) else vars(config)
        asked = config.get("params") or {}
        request = self.conversations.request(
            blocks_wired(spoken),
            model=config.get("model_id"),
            tools=[_tool(spec) for spec in context.tool_specs] or None,
            system=_system(context.system_prompt) or None,
            format="anthropic",
            answer=config.get("max_tokens") or asked.get("max_tokens") or asked.get("max_completion_tokens"),
            session=self._session or _name(context.agent),
        )
        return spoken, request


def _name(agent: Any) -> str | None:
    session = getattr(agent, "session_id", None)
    return None if session is None else f"{session}/{agent.agent_id}"


def _system(told: Any) -> str:
    return told if isinstance(told, str) else "\n".join(block["text"] for block in told or () if "text" in block)


def _tool(spec: Mapping[str, Any]) -> dict[str, Any]:
    schema = spec.get("inputSchema") or {}
    return {"name": spec["name"], "description": spec["description"], "input_schema": schema.get("json", schema)}


def _usage(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a usage of which the input is the whole prompt: some models count apart what was cached."""
    whole, said = usage.get("totalTokens") or 0, usage.get("outputTokens") or 0
    told = max(whole - said, usage.get("inputTokens") or 0)
    cached = {
        "cached_tokens": usage.get("cacheReadInputTokens"),
        "cache_write_tokens": usage.get("cacheWriteInputTokens"),
    }
    return {"input_tokens": told, "output_tokens": said, "input_tokens_details": cached} if told else None


def _spoken(message: Mapping[str, Any]) -> BlockMessage:
    """Return what a message is made of."""
    return BlockMessage(message["role"], tuple(_block(block) for block in message["content"]))


def _block(block: Mapping[str, Any]) -> MessagePart | Result:
    if "toolResult" in block:
        result = block["toolResult"]
        return Result(result["toolUseId"], tuple(_part(part) for part in result["content"]))
    if "toolUse" in block:
        use = block["toolUse"]
        return MessagePart("call", _json(use["input"]), use["toolUseId"], use["name"])
    if "reasoningContent" in block:
        thought = block["reasoningContent"]
        if "redactedContent" in thought:
            return MessagePart("thinking", _coded(thought["redactedContent"]), name="sealed")
        return MessagePart("thinking", (thought.get("reasoningText") or {}).get("text") or "")
    return _part(block)


def _part(block: Mapping[str, Any]) -> MessagePart:
    if isinstance(block.get("text"), str):
        return MessagePart("text", block["text"])
    if "json" in block:
        return MessagePart("text", _json(block["json"]))
    for key, kind in _MEDIA.items():
        if key in block:
            source = block[key].get("source") or {}
            where = (source.get("location") or source.get("s3Location") or {}).get("uri")
            data = f"data:{key}/{block[key].get('format', '')};base64,{_coded(source.get('bytes') or b'')}"
            return MessagePart(kind, where or data)
    return MessagePart("other", _json(block))


def _made(raw: Any, given: Sequence[Any], spoken: Sequence[BlockMessage]) -> Any:
    """Return a message that brim has changed, or a new one with what it has to say."""
    place, left = remains(raw, spoken)
    if place is None:
        return {"role": "user", "content": [{"text": each.text} for each in left]}
    return {**given[place], "content": [_kept(given[place]["content"], each) for each in left]}


def _kept(own: Sequence[Any], left: RemainingBlock) -> Any:
    """Return what is left of a block."""
    if left.at is None:
        return {"text": left.text}
    block = own[left.at]
    if left.inside is not None:
        content = [_kept(block["toolResult"]["content"], each) for each in left.inside]
        return {**block, "toolResult": {**block["toolResult"], "content": content}}
    if left.text is None:
        return block
    if "toolUse" in block:
        return {**block, "toolUse": {**block["toolUse"], "input": json.loads(left.text)}}
    if "json" in block:
        return _values(left.text)
    return {**block, "text": left.text}


def _values(said: str) -> dict[str, Any]:
    """Return values that were cut; as a text where what is left is no JSON."""
    try:
        return {"json": json.loads(said)}
    except ValueError:
        return {"text": said}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode()
