"""Microsoft Agent Framework: a middleware that fits every call of the model; a compaction strategy as well.

`Agent(..., middleware=[BrimCompaction()])` is all. As a middleware it sees the tools and the reported usage, and
changes nothing but the call. As `compaction_strategy=` it sees only the messages, and marks those it leaves out.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCalls, TranslatedCall, arun, astream, usage_of
from brim.integrations.content import json_text
from brim.integrations.messages import FrameworkMessage, KeptPart, MessagePart, Translation, write_parts
from brim.meter.window import Window

try:
    from agent_framework import EXCLUDE_REASON_KEY, EXCLUDED_KEY, ChatMiddleware, Content, Message, ResponseStream
    from agent_framework import included_messages as _included
except ImportError as error:
    raise missing("agent-framework") from error

_MARK = "_brim"
"""Marks the messages that brim has added to a list, and is the reason why it left out others."""
_UNSENT = ("usage", "function_approval_request", "function_approval_response", "oauth_consent_request")
_ROLES = {"system": "system", "developer": "system", "assistant": "assistant"}


class BrimCompaction(FittedCalls, ChatMiddleware):
    """Fits each call into the model's window, records the reported usage, and retries a refused call once.

    The id of the agent's session names that of brim.
    """

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        model: str | None = None,
        instructions: str | None = None,
        tools: Sequence[Any] = (),
        **options: Any,
    ) -> None:
        """Begin.

        Args:
            window: the window of the model; by default that of the catalogue.
            model: the model, if the call does not name it: as a compaction strategy it never does.
            instructions: those of the agent, which a compaction strategy does not see.
            tools: its tools, likewise.
            options: further arguments of `FittedCalls`: `conversations`, `store`, `summarise`, `on_notice`, ...
        """
        super().__init__(window, **options)
        self._model = model
        self._options = {"instructions": instructions, "tools": tools}

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model with the messages that fit; a call whose history the provider keeps is left as it is."""
        options = context.options or {}
        if options.get("conversation_id"):
            return await call_next()
        model = options.get("model") or getattr(context.client, "model", None) or self._model
        session = getattr(context.session, "session_id", None)
        call = await asyncio.to_thread(self._call, context.messages, model, options, session)

        async def send(call: TranslatedCall) -> Any:
            context.messages = call.messages
            await call_next()
            return context.result

        if context.stream:
            context.result = _streamed(call, await send(call), send)
        else:
            await arun(call, send, _usage)
        return None

    async def __call__(self, messages: list[Any]) -> bool:
        """Mark messages that do not fit as left out, and add what replaces them; return whether anything changed."""
        before = _included(messages)
        own = [message for message in messages if _MARK not in message.additional_properties]
        for message in own:
            if message.additional_properties.get(EXCLUDE_REASON_KEY) == _MARK:
                message.additional_properties[EXCLUDED_KEY] = False
        included = _included(own)
        call = await asyncio.to_thread(self._call, included, self._model, self._options, None)
        sent = call.messages
        known, kept = {*map(id, included)}, {*map(id, sent)}
        for message in included:
            if id(message) not in kept:
                message.additional_properties |= {EXCLUDED_KEY: True, EXCLUDE_REASON_KEY: _MARK}
        for message in sent:
            if id(message) not in known:
                message.additional_properties |= {_MARK: True, EXCLUDED_KEY: False}
        messages[:] = _merged(own, sent)
        return [*map(id, before)] != [*map(id, _included(messages))]

    def _call(self, messages: Sequence[Any], model: str | None, options: Any, session: str | None) -> TranslatedCall:
        return TranslatedCall(
            self.conversations,
            TRANSLATION,
            messages,
            model=model,
            tools=[*map(_tool, options.get("tools") or ())] or None,
            system=options.get("instructions") or None,
            answer=options.get("max_tokens"),
            session=session,
        )


def _streamed(call: TranslatedCall, answer: Any, send: Callable[[TranslatedCall], Awaitable[Any]]) -> Any:
    """Return the stream of an answer, which begins again if its request was refused before the first update."""
    first = call.request

    async def updates(call: TranslatedCall) -> AsyncIterable[Any]:
        nonlocal answer
        if call.request is not first:
            answer = await send(call)
        return answer  # type: ignore[no-any-return]

    async def final(_: Any) -> Any:
        whole = await answer.get_final_response()
        await asyncio.to_thread(call.answered, _usage(whole))
        return whole

    return ResponseStream(astream(call, updates), finalizer=final)


def _merged(own: Sequence[Any], sent: Sequence[Any]) -> list[Any]:
    """Return all messages in their order, with those that brim has added at their places."""
    places = {id(message): at for at, message in enumerate(own)}
    out: list[Any] = []
    done = 0
    for message in sent:
        at = places.get(id(message))
        if at is not None:
            out += own[done : at + 1]
            done = at + 1
        else:
            out.append(message)
    return [*out, *own[done:]]


def _tool(tool: Any) -> Any:
    spec = getattr(tool, "to_json_schema_spec", None)
    return spec() if spec is not None else tool if isinstance(tool, dict) else {"type": type(tool).__name__}


def _usage(answer: Any) -> dict[str, Any] | None:
    """Return the usage that an answer reports; `None` if it reports none."""
    usage = getattr(answer, "usage_details", None) or {}
    return usage_of(
        usage.get("input_token_count"),
        usage.get("output_token_count"),
        usage.get("cache_read_input_token_count"),
        usage.get("cache_creation_input_token_count"),
    )


def _read(messages: Sequence[Any]) -> list[FrameworkMessage]:
    return [
        FrameworkMessage(_ROLES.get(each.role, "user"), tuple(map(_part, each.contents)), name=each.author_name or "")
        for each in messages
    ]


def _part(content: Any) -> MessagePart | FrameworkMessage:
    kind = content.type
    if kind == "text":
        return MessagePart("text", content.text or "")
    if kind == "function_result":
        return FrameworkMessage("tool", tuple(map(_part, _result_items(content))), content.call_id or "")
    if kind == "text_reasoning":
        if not content.text and content.protected_data:
            return MessagePart("thinking", content.protected_data, name="sealed")
        return MessagePart("thinking", content.text or "")
    if kind == "function_call":
        arguments = content.arguments
        text = arguments if isinstance(arguments, str) else json_text(dict(arguments or {}))
        return MessagePart("call", text, content.call_id or "", content.name or "")
    if kind in ("data", "uri"):
        media = str(content.media_type or "").split("/")[0]
        return MessagePart(media if media in ("image", "audio") else "file", content.uri or "")
    return MessagePart("text") if kind in _UNSENT else MessagePart("other", json_text(content.to_dict()))


def _result_items(content: Any) -> list[Any]:
    result = content.result
    return list(content.items or [Content.from_text("" if result is None else json_text(result))])


def _write(message: Any, kept: Sequence[KeptPart]) -> Any:
    return _copied(message, contents=write_parts(kept, message.contents, _write_content))


def _write_content(content: Any, kept: KeptPart) -> Any:
    """Return a copy of a content with its new text; a content that has no text is replaced by one."""
    if kept.inside is not None:
        items = write_parts(kept.inside, _result_items(content), _write_content)
        return _copied(content, items=items, result="\n".join(each.text for each in items if each.type == "text"))
    text = kept.text or ""
    fields = {"text": "text", "function_call": "arguments"}
    if content is None or content.type not in fields:
        return Content.from_text(text)
    return _copied(content, **{fields[content.type]: text})


def _copied(value: Any, **fields: Any) -> Any:
    """Return a copy of a message or a content with other fields and its own properties."""
    copied = copy.copy(value)
    copied.additional_properties = dict(value.additional_properties)
    for name, each in fields.items():
        setattr(copied, name, each)
    return copied


TRANSLATION = Translation(_read, _write, lambda text: Message("user", [text]))
