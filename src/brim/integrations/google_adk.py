"""Google ADK: a plugin that fits every request to the model.

Use `App(..., plugins=[BrimPlugin()])`. The events of the session are not changed: only the contents of each request to
a model are fitted.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCall, FittedCalls, OpenCalls, usage_of
from brim.meter.window import Window
from brim.wire.base import jsonable

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ImportError as error:
    raise missing("google-adk", error) from error


class BrimPlugin(FittedCalls, BasePlugin):
    """Fits each request into the model's window, records the reported usage, and retries a refused call once.

    The framework's name of a conversation is that of the session, and the branch or the agent.
    """

    def __init__(self, window: Window | int | None = None, **options: Any) -> None:
        BasePlugin.__init__(self, name="brim")
        FittedCalls.__init__(self, window, **options)
        self._calls: OpenCalls[FittedCall] = OpenCalls()

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Replace the contents of a request by those that fit."""
        key = _key(callback_context)
        self._send(key, llm_request, await asyncio.to_thread(self._call, llm_request, key))

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Record the usage in an answer or at the end of a stream."""
        usage = llm_response.usage_metadata
        if llm_response.partial or usage is None or not usage.prompt_token_count:
            return
        call = self._calls.pop(_key(callback_context), None)
        if call is not None:
            counts = usage.prompt_token_count, usage.candidates_token_count, usage.cached_content_token_count
            await asyncio.to_thread(call.answered, usage_of(*counts))

    async def on_model_error_callback(self, *, callback_context: Any, llm_request: Any, error: Exception) -> Any:
        """Return the answer to a smaller request, if the model refused one as too long."""
        key = _key(callback_context)
        call = self._calls.pop(key, None)
        if call is None or not await asyncio.to_thread(call.shrink, error):
            return None
        self._send(key, llm_request, call)
        model = callback_context.get_invocation_context().agent.canonical_model
        answers = [each async for each in model.generate_content_async(llm_request, stream=False)]
        return answers[-1] if answers else None

    def _call(self, request: Any, key: str) -> FittedCall:
        config = request.config
        fitted = self.conversations.request(
            [content.model_dump(mode="json", exclude_none=True) for content in request.contents],
            model=request.model,
            tools=_tools(config) or None,
            system=jsonable(config.system_instruction) or None,
            format="gemini",
            answer=config.max_output_tokens,
            session=self.session or key,
        )
        return FittedCall(fitted, request.contents, _content)

    def _send(self, key: str, request: Any, call: FittedCall) -> None:
        if call.request.changed:
            request.contents = call.messages
        self._calls[key] = call


def _key(context: Any) -> str:
    """Return the key of a call in progress, which names its conversation: the session, and the branch or the agent."""
    return f"{context.session.id}/{context.branch or context.agent_name}"


def _tools(config: Any) -> list[Any]:
    """Return the tools as JSON values; a Python function is not sent as a tool."""
    return [
        tool.model_dump(mode="json", exclude_none=True) for tool in config.tools or () if hasattr(tool, "model_dump")
    ]


def _content(values: dict[str, Any]) -> Any:
    return types.Content.model_validate_json(json.dumps(values))  # Only JSON has bytes as base64.
