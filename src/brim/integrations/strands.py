"""Strands Agents: a conversation manager that fits every model call.

Use `Agent(..., conversation_manager=BrimConversationManager())`. It does not change `agent.messages`: it wraps each
model call, where the whole request is known, and fits only what is sent. Its messages have the format of Bedrock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from brim.integrations import missing
from brim.integrations.bedrock import decoded
from brim.integrations.calls import FittedCall, FittedCalls, astream, usage_of
from brim.integrations.messages import PLACE
from brim.meter.window import Window

try:
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AgentInitializedEvent
    from strands.middleware import InvokeModelStage
    from strands.types.events import ModelStopReason
except ImportError as error:
    raise missing("strands", error) from error


class BrimConversationManager(FittedCalls, ConversationManager):
    """Fits each call into the model's window, records the reported usage, and retries a refused call once."""

    def __init__(self, window: Window | int | None = None, **options: Any) -> None:
        ConversationManager.__init__(self)
        FittedCalls.__init__(self, window, **options)

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
        async def send(call: FittedCall) -> AsyncIterator[Any]:
            return model(context.replace(messages=call.messages) if call.request.changed else context)

        call = await asyncio.to_thread(self._call, context)
        async for event in astream(call, send, _usage):
            yield event

    def _call(self, context: Any) -> FittedCall:
        config = context.model.get_config()
        config = config if isinstance(config, Mapping) else vars(config)
        params = config.get("params") or {}
        request = self.conversations.request(
            [{"role": each["role"], "content": each["content"], PLACE: at} for at, each in enumerate(context.messages)],
            model=config.get("model_id"),
            tools=[{"toolSpec": spec} for spec in context.tool_specs] or None,
            system=_system(context.system_prompt),
            format="bedrock",
            answer=config.get("max_tokens") or params.get("max_tokens") or params.get("max_completion_tokens"),
            session=self.session or _session(context.agent),
        )
        return FittedCall(request, context.messages, partial(_message, context.messages))


def _session(agent: Any) -> str | None:
    session = getattr(agent, "session_id", None)
    return None if session is None else f"{session}/{agent.agent_id}"


def _message(originals: Sequence[Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Return a message that brim made, with the other fields of its original."""
    values = decoded(raw)
    place = values.pop(PLACE, None)
    return values if place is None else {**originals[place], **values}


def _system(prompt: Any) -> list[Any] | None:
    return [{"text": prompt}] if isinstance(prompt, str) and prompt else prompt or None


def _usage(event: Any) -> dict[str, Any] | None:
    """Return the usage in the last event; some models do not count cached tokens as input."""
    if not isinstance(event, ModelStopReason):
        return None
    usage: Mapping[str, Any] = event.usage
    answer = usage.get("outputTokens") or 0
    prompt = max((usage.get("totalTokens") or 0) - answer, usage.get("inputTokens") or 0)
    return usage_of(prompt, answer, usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens"))
