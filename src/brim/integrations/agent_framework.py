"""Microsoft Agent Framework: a middleware that fits every model call.

Use `Agent(..., middleware=[BrimCompaction()])`. A middleware sees the tools and the reported usage; the framework's
`compaction_strategy=` sees only the messages, so it is not used.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCalls, TranslatedCall, arun, astream, usage_of
from brim.integrations.messages import (
    FrameworkMessage,
    FrameworkMessages,
    KeptPart,
    MessagePart,
    Translation,
    joined_text,
    json_text,
    write_parts,
)

try:
    from agent_framework import ChatMiddleware, Content, Message, ResponseStream
except ImportError as error:
    raise missing("agent-framework", error) from error

_UNSENT = ("usage", "function_approval_request", "function_approval_response", "oauth_consent_request")
_ROLES = {"system": "system", "developer": "system", "assistant": "assistant"}


class BrimCompaction(FittedCalls, ChatMiddleware):
    """Fits each call into the model's window, records the reported usage, and retries a refused call once.

    The framework's name of a conversation is the id of the agent's session.
    """

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model with the fitted messages; a call whose history is stored by the provider is not changed."""
        options = context.options or {}
        if options.get("conversation_id"):
            return await call_next()
        model = options.get("model") or getattr(context.client, "model", None)
        session = self.session or getattr(context.session, "session_id", None)
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
    """Return the stream of an answer, which is restarted if the request is refused before the first update."""
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


def _tool(tool: Any) -> Any:
    spec = getattr(tool, "to_json_schema_spec", None)
    return spec() if spec is not None else tool if isinstance(tool, dict) else {"type": type(tool).__name__}


def _usage(answer: Any) -> dict[str, Any] | None:
    """Return the usage in an answer, or `None`."""
    usage = getattr(answer, "usage_details", None) or {}
    return usage_of(
        usage.get("input_token_count"),
        usage.get("output_token_count"),
        usage.get("cache_read_input_token_count"),
        usage.get("cache_creation_input_token_count"),
    )


def _read(messages: Sequence[Any]) -> FrameworkMessages:
    return [
        [_content(each, content) for content in each.contents]
        if any(content.type == "function_result" for content in each.contents)
        else FrameworkMessage(_role(each), tuple(map(_part, each.contents)), name=each.author_name or "")
        for each in messages
    ]


def _role(message: Any) -> str:
    return _ROLES.get(message.role, "user")


def _content(message: Any, content: Any) -> FrameworkMessage:
    """Return a content of a message with results as a message."""
    if content.type == "function_result":
        return FrameworkMessage("tool", tuple(map(_part, _result_items(content))), content.call_id or "")
    return FrameworkMessage(_role(message), (_part(content),))


def _part(content: Any) -> MessagePart:
    kind = content.type
    if kind == "text":
        return MessagePart("text", content.text or "")
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
    """Return a copy of a content with its new text; a content without text is replaced by a text."""
    if kept.inside is not None and content.type == "function_result":
        items = write_parts(kept.inside, _result_items(content), _write_content)
        return _copied(content, items=items, result="\n".join(each.text for each in items if each.type == "text"))
    text = joined_text(kept.inside or (kept,), "")
    fields = {"text": "text", "function_call": "arguments"}
    if content is None or content.type not in fields:
        return Content.from_text(text)
    return _copied(content, **{fields[content.type]: text})


def _copied(value: Any, **fields: Any) -> Any:
    """Return a copy of a message or a content with other fields."""
    copied = copy.copy(value)
    copied.additional_properties = dict(value.additional_properties)
    for name, each in fields.items():
        setattr(copied, name, each)
    return copied


TRANSLATION = Translation(_read, _write, lambda text: Message("user", [text]))
