"""Google ADK: a plugin that fits every request to the model.

Use `App(..., plugins=[BrimPlugin()])`. The events of the session are not changed: only the contents of each request to
a model are fitted.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCalls, OpenCalls, TranslatedCall, usage_of
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
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ImportError as error:
    raise missing("google-adk") from error


class BrimPlugin(FittedCalls, BasePlugin):
    """Fits each request into the model's window, records the reported usage, and retries a refused call once.

    The conversation is named after the session of the run and the agent.
    """

    def __init__(self, window: Window | int | None = None, *, name: str = "brim", **options: Any) -> None:
        """Begin.

        Args:
            window: the window of the model; by default that of the settings or the catalogue.
            name: the name of the plugin in the app.
            options: more arguments of `FittedCalls`: `conversations`, `store`, `summarise`, `on_notice`, ...
        """
        BasePlugin.__init__(self, name=name)
        FittedCalls.__init__(self, window, **options)
        self._calls: OpenCalls[TranslatedCall] = OpenCalls()

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Replace the contents of a request by those that fit."""
        name = _session(callback_context)
        self._send(name, llm_request, await asyncio.to_thread(self._call, llm_request, name))

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Record the usage in an answer or at the end of a stream."""
        usage = llm_response.usage_metadata
        if llm_response.partial or usage is None or not usage.prompt_token_count:
            return
        call = self._calls.pop(_session(callback_context), None)
        if call is not None:
            counts = usage.prompt_token_count, usage.candidates_token_count, usage.cached_content_token_count
            await asyncio.to_thread(call.answered, usage_of(*counts))

    async def on_model_error_callback(self, *, callback_context: Any, llm_request: Any, error: Exception) -> Any:
        """Return the answer to a smaller request, if the model refused one as too long."""
        name = _session(callback_context)
        call = self._calls.pop(name, None)
        if call is None or not await asyncio.to_thread(call.shrink, error):
            return None
        self._send(name, llm_request, call)
        model = callback_context.get_invocation_context().agent.canonical_model
        answers = [each async for each in model.generate_content_async(llm_request, stream=False)]
        return answers[-1] if answers else None

    def _call(self, request: Any, name: str) -> TranslatedCall:
        config = request.config
        return TranslatedCall(
            self.conversations,
            TRANSLATION,
            request.contents,
            model=request.model,
            tools=_tools(config) or None,
            system=_system(config.system_instruction) or None,
            format="anthropic",
            answer=config.max_output_tokens,
            session=name,
        )

    def _send(self, name: str, request: Any, call: TranslatedCall) -> None:
        if call.request.changed:
            request.contents = call.messages
        self._calls[name] = call


def _session(context: Any) -> str:
    """Return the name of a conversation: the session, and the branch or the agent."""
    return f"{context.session.id}/{context.branch or context.agent_name}"


def _system(instruction: Any) -> str:
    """Return the text of a system instruction in any form."""
    if instruction is None or isinstance(instruction, str):
        return instruction or ""
    if isinstance(instruction, list | tuple):
        return "\n".join(filter(None, map(_system, instruction)))
    fields = instruction if isinstance(instruction, dict) else getattr(instruction, "__dict__", {})
    if fields.get("parts") is not None:
        return _system(list(fields["parts"]))
    return fields.get("text") or ""


def _tools(config: Any) -> list[dict[str, Any]]:
    """Return the declared functions; the provider's own tools use no tokens."""
    tools = []
    for tool in config.tools or ():
        for declared in getattr(tool, "function_declarations", None) or ():
            schema = declared.parameters_json_schema
            if schema is None and declared.parameters is not None:
                schema = declared.parameters.model_dump(mode="json", exclude_none=True)
            names = {"name": declared.name or "", "description": declared.description or ""}
            tools.append({**names, "input_schema": schema or {"type": "object", "properties": {}}})
    return tools


def _read(contents: Sequence[Any]) -> list[FrameworkMessage]:
    """Return contents with their parts; a result without an id belongs to the first call of its name."""
    read: list[FrameworkMessage] = []
    waiting: dict[str, str] = {}
    for place, content in enumerate(contents):
        parts: list[MessagePart | FrameworkMessage] = []
        for at, part in enumerate(content.parts or ()):
            key = f"{place}.{at}"
            if part.function_call:
                call = part.function_call
                waiting[call.id or key] = call.name or ""
                parts.append(MessagePart("call", json_text(call.args or {}), call.id or key, call.name or ""))
            elif part.function_response:
                answer = part.function_response
                named = (call for call, name in waiting.items() if name == (answer.name or ""))
                call_id = answer.id if answer.id in waiting else next(named, answer.id or key)
                waiting.pop(call_id, None)
                media = [_media(each.inline_data or each.file_data) for each in answer.parts or ()]
                # The model reads the values as JSON, then the media.
                parts.append(FrameworkMessage("tool", (MessagePart("text", _values_text(answer)), *media), call_id))
            else:
                parts.append(_part(part))
        read.append(FrameworkMessage("assistant" if content.role == "model" else "user", tuple(parts)))
    return read


def _part(part: Any) -> MessagePart:
    media = part.inline_data or part.file_data
    if media is not None:
        return _media(media)
    if part.thought and part.text:
        return MessagePart("thinking", part.text)
    if part.text is not None:
        return MessagePart("text", part.text)
    if part.thought_signature and not part.tool_call and not part.tool_response:
        return MessagePart("thinking", base64.b64encode(part.thought_signature).decode(), name="sealed")
    return MessagePart("other", json_text(part.model_dump(mode="json", exclude_none=True)))


def _media(media: Any) -> MessagePart:
    if media is None:
        return MessagePart("other")
    kind = "image" if (media.mime_type or "").startswith("image/") else "file"
    address = getattr(media, "file_uri", None)
    return MessagePart(kind, address or data_uri(media.mime_type, media.data))


def _values_text(answer: Any) -> str:
    return json_text(answer.response or {})


def _write(content: Any, kept: Sequence[KeptPart]) -> Any:
    return content.model_copy(update={"parts": write_parts(kept, content.parts or [], _write_part)})


def _write_part(part: Any, kept: KeptPart) -> Any:
    """Return a copy of a part with its new content; a cut text loses its signature."""
    if part is None:
        return types.Part(text=kept.text)
    if kept.inside is not None:
        return part.model_copy(update={"function_response": _write_answer(part.function_response, kept.inside)})
    if part.function_call:
        call = part.function_call.model_copy(update={"args": json.loads(kept.text or "")})
        return part.model_copy(update={"function_call": call})
    return part.model_copy(update={"text": kept.text, "thought_signature": None})


def _write_answer(answer: Any, kept: Sequence[KeptPart]) -> Any:
    """Return a copy of a function response: its values, then its media."""
    media = [answer.parts[each.at - 1] for each in kept if each.at]
    update: dict[str, Any] = {"parts": media or None}
    texts = [each for each in kept if not each.at]
    if texts != [KeptPart(0)]:
        text = "\n".join(_values_text(answer) if each.text is None else each.text for each in texts)
        values = json_values(text)
        update["response"] = values if isinstance(values, dict) else {"result": text}
    return answer.model_copy(update=update)


TRANSLATION = Translation(_read, _write, lambda text: types.Content(role="user", parts=[types.Part(text=text)]))
