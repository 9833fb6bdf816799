"""Google ADK: a plugin under which every request to the model fits.

`App(..., plugins=[BrimPlugin()])` is all. The events of the session stay whole: only the contents of a request are
fitted, before each call of a model.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.blocks import BlockMessage, RemainingBlock, Result, blocks_wired, remains
from brim.integrations.parts import MessagePart
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ImportError as error:
    raise missing("google-adk") from error

_MOST = 256
"""Requests that wait for their answer, the oldest going first."""


class BrimPlugin(BasePlugin):
    """Fits each request into the model's window, learns from the usage that comes back, and retries a refused one.

    The session of the run and the agent name the conversation.
    """

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        name: str = "brim",
        conversations: Conversations | None = None,
        **settings: Any,
    ) -> None:
        """Begin.

        Args:
            window: what the model holds; without it, what the catalogue knows of each model.
            name: the plugin's name in the app.
            conversations: where the sessions live, if they are shared with something else.
            settings: further arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
        """
        super().__init__(name=name)
        self.conversations = conversations or Conversations(window, **settings)
        self._asked: OrderedDict[str, tuple[FittedRequest, list[Any], list[BlockMessage]]] = OrderedDict()

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Leave in a request what fits."""
        given, name = list(llm_request.contents), _name(callback_context)
        spoken, fitted = await asyncio.to_thread(self._fitted, llm_request, given, name)
        self._send(name, llm_request, fitted, given, spoken)

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Take the usage of an answer; of a stream, that of its end."""
        usage = llm_response.usage_metadata
        if llm_response.partial or usage is None or not usage.prompt_token_count:
            return
        asked = self._asked.pop(_name(callback_context), None)
        if asked is not None:
            cached = {"cached_tokens": usage.cached_content_token_count}
            told = {"input_tokens": usage.prompt_token_count, "output_tokens": usage.candidates_token_count}
            await asyncio.to_thread(asked[0].answered, {**told, "input_tokens_details": cached})

    async def on_model_error_callback(self, *, callback_context: Any, llm_request: Any, error: Exception) -> Any:
        """Return the answer to a smaller request, where the model refused one that was too long for it."""
        name = _name(callback_context)
        asked = self._asked.pop(name, None)
        smaller = None if asked is None else await asyncio.to_thread(asked[0].refused, error)
        if asked is None or smaller is None:
            return None
        self._send(name, llm_request, smaller, *asked[1:])
        model = callback_context.get_invocation_context().agent.canonical_model
        answers = [each async for each in model.generate_content_async(llm_request, stream=False)]
        return answers[-1] if answers else None

    def _fitted(self, asked: Any, given: Sequence[Any], name: str) -> tuple[list[BlockMessage], FittedRequest]:
        spoken, config = _spoken(given), asked.config
        request = self.conversations.request(
            blocks_wired(spoken),
            model=asked.model,
            tools=_tools(config) or None,
            system=_system(config.system_instruction) or None,
            format="anthropic",
            answer=config.max_output_tokens,
            session=name,
        )
        return spoken, request

    def _send(self, name: str, asked: Any, fitted: FittedRequest, given: list[Any], spoken: list[BlockMessage]) -> None:
        if fitted.changed:
            asked.contents = fitted.written(given, lambda raw: _made(raw, given, spoken))
        self._asked[name] = (fitted, given, spoken)
        self._asked.move_to_end(name)
        while len(self._asked) > _MOST:
            self._asked.popitem(last=False)


def _name(context: Any) -> str:
    """Return the name of a conversation: the session, and in it the branch or the agent."""
    return f"{context.session.id}/{context.branch or context.agent_name}"


def _system(told: Any) -> str:
    """Return the text of a system instruction, in whichever form it comes."""
    if told is None or isinstance(told, str):
        return told or ""
    if isinstance(told, list | tuple):
        return "\n".join(filter(None, map(_system, told)))
    parts = told.get("parts") if isinstance(told, dict) else getattr(told, "parts", None)
    if parts is not None:
        return _system(list(parts))
    return (told.get("text") if isinstance(told, dict) else getattr(told, "text", None)) or ""


def _tools(config: Any) -> list[dict[str, Any]]:
    """Return the functions that are declared; what the provider brings along costs nothing of the window."""
    made = []
    for tool in config.tools or ():
        for declared in getattr(tool, "function_declarations", None) or ():
            schema = declared.parameters_json_schema
            if schema is None and declared.parameters is not None:
                schema = declared.parameters.model_dump(mode="json", exclude_none=True)
            said = {"name": declared.name or "", "description": declared.description or ""}
            made.append({**said, "input_schema": schema or {"type": "object", "properties": {}}})
    return made


def _spoken(contents: Sequence[Any]) -> list[BlockMessage]:
    """Return what contents are made of. Calls may come without an id: a result is then of the first of its name."""
    made: list[BlockMessage] = []
    waiting: dict[str, str] = {}
    for place, content in enumerate(contents):
        blocks: list[MessagePart | Result] = []
        for at, part in enumerate(content.parts or ()):
            key = f"{place}.{at}"
            if part.function_call:
                call = part.function_call
                waiting[call.id or key] = call.name or ""
                blocks.append(MessagePart("call", _json(call.args or {}), call.id or key, call.name or ""))
            elif part.function_response:
                answer = part.function_response
                named = (call for call, name in waiting.items() if name == (answer.name or ""))
                found = answer.id if answer.id in waiting else next(named, answer.id or key)
                waiting.pop(found, None)
                blocks.append(Result(found, _returned(answer)))
            else:
                blocks.append(_part(part))
        made.append(BlockMessage("assistant" if content.role == "model" else "user", tuple(blocks)))
    return made


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
    return MessagePart("other", _json(part.model_dump(mode="json", exclude_none=True)))


def _media(media: Any) -> MessagePart:
    if media is None:
        return MessagePart("other")
    kind = "image" if (media.mime_type or "").startswith("image/") else "file"
    where = getattr(media, "file_uri", None)
    data = "" if where else base64.b64encode(media.data or b"").decode()
    return MessagePart(kind, where or f"data:{media.mime_type or ''};base64,{data}")


def _returned(answer: Any) -> tuple[MessagePart, ...]:
    """Return what a function returned: its values as JSON, which is how a model reads them, then its media."""
    media = [_media(each.inline_data or each.file_data) for each in answer.parts or ()]
    return MessagePart("text", _json(answer.response or {})), *media


def _made(raw: Any, given: Sequence[Any], spoken: Sequence[BlockMessage]) -> Any:
    """Return a content that brim has changed, or a new one with what it has to say."""
    place, left = remains(raw, spoken)
    if place is None:
        return types.Content(role="user", parts=[types.Part(text=each.text) for each in left])
    own = given[place].parts or []
    parts = [types.Part(text=each.text) if each.at is None else _kept(own[each.at], each) for each in left]
    return given[place].model_copy(update={"parts": parts})


def _kept(part: Any, left: RemainingBlock) -> Any:
    """Return what is left of a part; a text that was cut has no signature, which was of the whole."""
    if left.inside is not None:
        return part.model_copy(update={"function_response": _answer(part.function_response, left.inside)})
    if left.text is None:
        return part
    if part.function_call:
        args = json.loads(left.text)
        return part.model_copy(update={"function_call": part.function_call.model_copy(update={"args": args})})
    return part.model_copy(update={"text": left.text, "thought_signature": None})


def _answer(answer: Any, inside: Sequence[RemainingBlock]) -> Any:
    """Return what is left of what a function returned."""
    said = "\n".join(each.text for each in inside if each.text is not None)
    kept = [each.at for each in inside if each.at]
    update: dict[str, Any] = {"parts": [answer.parts[at - 1] for at in kept] if kept else None}
    if said:
        update["response"] = _values(said)
    return answer.model_copy(update=update)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _values(said: str) -> dict[str, Any]:
    """Return values that were cut; as a text where what is left is no object."""
    try:
        values = json.loads(said)
    except ValueError:
        values = None
    return values if isinstance(values, dict) else {"result": said}
