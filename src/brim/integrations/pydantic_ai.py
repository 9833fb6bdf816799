"""Pydantic AI: a capability that fits every request to the model.

Use `Agent(..., capabilities=[Brim()])`. The history of the run is not changed: only the request to the model is fitted,
before each attempt, when the model is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCalls, TranslatedCall, function_tool, usage_of
from brim.integrations.messages import (
    FrameworkMessage,
    FrameworkMessages,
    KeptPart,
    MessagePart,
    Translation,
    joined_text,
    write_parts,
)

try:
    from pydantic_ai import RetryModelRequest, messages
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_core import to_json
except ImportError as error:
    raise missing("pydantic-ai", error) from error

_MEDIA = {"image": "image", "audio": "audio"}


class Brim(FittedCalls, AbstractCapability[Any]):
    """Fits each request into the model's window, records the reported usage, and retries a refused call once.

    The framework's name of a conversation is the `conversation_id`.
    """

    _call: TranslatedCall | None = None
    _again = False
    """Whether the call is repeated with a smaller request."""

    async def for_run(self, ctx: Any) -> Brim:  # noqa: ARG002 - the framework calls it so
        """Return a capability for one run."""
        return Brim(session=self.session, conversations=self.conversations)

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Return the request with the fitted messages.

        Raises:
            DoesNotFit: the required messages exceed the budget.
        """
        call = self._call if self._again else None
        if call is None:
            call = await asyncio.to_thread(self._fitted, request_context, self.session or ctx.conversation_id)
        self._call, self._again = call, False
        return replace(request_context, messages=call.messages) if call.request.changed else request_context

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:  # noqa: ARG002
        """Record the usage of an answer."""
        if self._call is not None:
            usage = response.usage
            cache = usage.cache_read_tokens, usage.cache_write_tokens
            await asyncio.to_thread(self._call.answered, usage_of(usage.input_tokens, usage.output_tokens, *cache))
        return response

    async def on_model_request_error(self, ctx: Any, *, request_context: Any, error: Exception) -> Any:  # noqa: ARG002
        """Retry with a smaller request after an overflow."""
        self._again = self._call is not None and await asyncio.to_thread(self._call.shrink, error)
        if not self._again:
            raise error
        raise RetryModelRequest from error

    def _fitted(self, context: Any, session: str | None) -> TranslatedCall:
        parameters = context.model_request_parameters
        return TranslatedCall(
            self.conversations,
            TRANSLATION,
            context.messages,
            model=context.model.model_name,
            tools=_tools(parameters) or None,
            system="\n\n".join(part.content for part in parameters.instruction_parts or ()) or None,
            answer=(context.model_settings or {}).get("max_tokens"),
            session=session,
        )


def _tools(parameters: Any) -> list[dict[str, Any]]:
    """Return the tools as sent to the model, and the schema of the answer."""
    shown = [tool for tool in parameters.function_tools if parameters.visibility_of(tool.name) != "withheld"]
    tools = [
        function_tool(tool.name, tool.description, tool.parameters_json_schema)
        for tool in [*shown, *parameters.output_tools]
    ]
    form = parameters.output_object
    if form is not None:
        tools.append(function_tool(form.name or "output", form.description, form.json_schema))
    return [*tools, *({"type": tool.kind} for tool in parameters.native_tools)]


def _read(history: Sequence[Any]) -> FrameworkMessages:
    """Return messages with their parts; each part of a request is a message."""
    return [
        FrameworkMessage("assistant", tuple(map(_response_part, message.parts)))
        if isinstance(message, messages.ModelResponse)
        else [*map(_request_part, message.parts)]
        for message in history
    ]


def _request_part(part: Any) -> FrameworkMessage:
    if isinstance(part, messages.UserPromptPart):
        content = [part.content] if isinstance(part.content, str) else part.content
        return FrameworkMessage("user", tuple(map(_content, content)))
    if isinstance(part, messages.BaseToolReturnPart):
        text, files = part.model_response_str_and_user_content()
        rest = (MessagePart("other", each) if isinstance(each, str) else _content(each) for each in files)
        return FrameworkMessage("tool", (MessagePart("text", text), *rest), part.tool_call_id)
    if isinstance(part, messages.SystemPromptPart):
        return FrameworkMessage("system", (MessagePart("text", part.content),))
    if isinstance(part, messages.RetryFeedbackPart | messages.RetryPromptPart):
        call = part.tool_call_id if getattr(part, "tool_name", None) else ""
        return FrameworkMessage("tool" if call else "user", (MessagePart("text", part.model_response()),), call)
    return FrameworkMessage("system", (MessagePart("other", _json(part)),))  # Added by the framework, and never cut.


def _response_part(part: Any) -> MessagePart:
    if isinstance(part, messages.TextPart):
        return MessagePart("text", part.content)
    if isinstance(part, messages.ThinkingPart):
        if part.content:
            return MessagePart("thinking", part.content)
        return MessagePart("thinking", part.signature or "", name="sealed")
    if isinstance(part, messages.ToolCallPart):
        return MessagePart("call", part.args_as_json_str(), part.tool_call_id, part.tool_name)
    return _content(part.content) if isinstance(part, messages.FilePart) else MessagePart("other", _json(part))


def _content(content: Any) -> MessagePart:
    """Return one item of the content of a user or a tool."""
    if isinstance(content, str | messages.TextContent):
        return MessagePart("text", content if isinstance(content, str) else content.content)
    if isinstance(content, messages.CachePoint):
        return MessagePart("text")
    address = getattr(content, "data_uri", None) or getattr(content, "url", None) or getattr(content, "file_id", None)
    return MessagePart(_MEDIA.get(str(content.media_type or "").split("/")[0], "file"), address or "")


def _json(value: Any) -> str:
    return to_json(value, fallback=str, serialize_unknown=True).decode()


def _write(message: Any, kept: Sequence[KeptPart]) -> Any:
    """Return a copy of a message with its kept parts."""
    response = isinstance(message, messages.ModelResponse)
    return replace(
        message, parts=write_parts(kept, message.parts, _write_response_part if response else _write_request_part)
    )


def _write_request_part(part: Any, kept: KeptPart) -> Any:
    if part is None:
        return messages.UserPromptPart(kept.text or "")
    inside = kept.inside or ()
    if isinstance(part, messages.UserPromptPart) and not isinstance(part.content, str):
        return replace(part, content=write_parts(inside, part.content, lambda _, each: each.text))
    if isinstance(part, messages.BaseToolReturnPart):
        text = joined_text([each for each in inside if not each.at], part.model_response_str_and_user_content()[0])
        files = part.files if sum(1 for each in inside if each.at) == len(part.files) else []
        fields = {name: getattr(part, name) for name in ("tool_name", "tool_call_id", "metadata", "timestamp")}
        # The counted text of a failed call is already wrapped in an object, which must not be wrapped again.
        return messages.ToolReturnPart(**fields, content=[text, *files] if files else text)
    read = _request_part(part)
    text = joined_text(inside, read.parts[0].text)
    if read.call_id:
        return messages.ToolReturnPart(part.tool_name, text, part.tool_call_id)
    return replace(part, content=text) if hasattr(part, "content") else part


def _write_response_part(part: Any, kept: KeptPart) -> Any:
    """Return a copy of a part with its new text, without the id of the original at the provider."""
    text = kept.text or ""
    if isinstance(part, messages.ToolCallPart):
        return replace(part, args=text, id=None)
    return replace(part, content=text, id=None) if isinstance(part, messages.TextPart) else messages.TextPart(text)


TRANSLATION = Translation(_read, _write, lambda text: messages.ModelRequest([messages.UserPromptPart(text)]))
