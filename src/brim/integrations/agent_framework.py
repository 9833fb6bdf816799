"""Microsoft Agent Framework: a middleware under which every call of the model fits; a compaction strategy as well.

`Agent(..., middleware=[BrimCompaction()])` is all. As a middleware it sees the tools and what the answers report, and
changes nothing but the call. As `compaction_strategy=` it sees the messages alone, and marks what is left out.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from brim.integrations import missing
from brim.integrations.parts import MessagePart, Spoken, format_for, unwired, wired
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest

try:
    from agent_framework import EXCLUDE_REASON_KEY, EXCLUDED_KEY, ChatMiddleware, Content, Message, ResponseStream
    from agent_framework import included_messages as _included
except ImportError as error:
    raise missing("agent-framework") from error

_MINE = "_brim"
"""Marks what brim has put into a list of messages, and why it has left out others."""
_UNSENT = ("usage", "function_approval_request", "function_approval_response", "oauth_consent_request")
_ROLES = ("system", "user", "assistant", "tool")


class BrimCompaction(ChatMiddleware):
    """Fits each call of the model into its window, learns from what the answer reports, and tries a refused one again.

    The id of the agent's session names that of brim.
    """

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        model: str | None = None,
        instructions: str | None = None,
        tools: Sequence[Any] = (),
        conversations: Conversations | None = None,
        **settings: Any,
    ) -> None:
        """Begin.

        Args:
            window: what the model holds; without it, what the catalogue knows of each model.
            model: the model, where the call does not name it: as a compaction strategy it never does.
            instructions: those of the agent, for a compaction strategy, which is not told of them.
            tools: its tools, likewise.
            conversations: where the sessions live, if they are shared with something else.
            settings: further arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
        """
        self.conversations = Conversations(window, **settings) if conversations is None else conversations
        self._model = model
        self._beside = {"instructions": instructions, "tools": tools}

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model with what fits; one whose history the provider keeps is called as it came."""
        options = context.options or {}
        if options.get("conversation_id"):
            return await call_next()
        given = list(context.messages)
        model = options.get("model") or getattr(context.client, "model", None) or self._model
        fitted = await asyncio.to_thread(
            self._fitted, given, model, options, getattr(context.session, "session_id", None)
        )
        context.messages = _messages(fitted, given)
        if context.stream:
            await call_next()
            context.result = _streamed(context, call_next, fitted, given)
            return None
        try:
            await call_next()
        except Exception as error:  # Whatever a provider raises may tell of an overflow; all else goes on.
            fitted = await _smaller(context, fitted, given, error)
            await call_next()
        await asyncio.to_thread(fitted.answered, _usage(context.result))
        return None

    async def __call__(self, messages: list[Any]) -> bool:
        """Mark what does not fit as left out, and put in what stands for it; return whether that changed anything."""
        before = _included(messages)
        own = [message for message in messages if _MINE not in message.additional_properties]
        for message in own:
            if message.additional_properties.get(EXCLUDE_REASON_KEY) == _MINE:
                message.additional_properties[EXCLUDED_KEY] = False
        given = _included(own)
        fitted = await asyncio.to_thread(self._fitted, given, self._model, self._beside, None)
        sent = _messages(fitted, given)
        whole = {id(message) for message in given}
        stay = {id(message) for message in sent if id(message) in whole}
        for message in given:
            if id(message) not in stay:
                message.additional_properties |= {EXCLUDED_KEY: True, EXCLUDE_REASON_KEY: _MINE}
        for message in sent:
            if id(message) not in whole:
                message.additional_properties |= {_MINE: True, EXCLUDED_KEY: False}
        messages[:] = _merged(own, sent)
        after = _included(messages)
        return [*map(id, before)] != [*map(id, after)]

    def _fitted(self, given: Sequence[Any], model: str | None, options: Any, name: str | None) -> FittedRequest:
        return self.conversations.request(
            wired([_spoken(item) for item in _items(given)], format_for(model)),
            model=model,
            tools=[*map(_tool, options.get("tools") or ())] or None,
            system=options.get("instructions") or None,
            format=format_for(model),
            answer=options.get("max_tokens"),
            session=name,
        )


async def _smaller(context: Any, fitted: FittedRequest, given: list[Any], error: Exception) -> FittedRequest:
    """Return a smaller request after a refusal, and put it into the call; any other error goes on."""
    smaller = await asyncio.to_thread(fitted.refused, error)
    if smaller is None:
        raise error
    context.messages = _messages(smaller, given)
    return smaller


def _streamed(context: Any, call_next: Callable[[], Awaitable[None]], fitted: FittedRequest, given: list[Any]) -> Any:
    """Return the stream of an answer, which begins once more where its request was refused before anything came."""
    answer = context.result

    async def updates() -> AsyncIterator[Any]:
        nonlocal fitted, answer
        begun = False
        try:
            async for update in answer:
                begun = True
                yield update
        except Exception as error:  # As above; what has begun to come cannot be taken back.
            if begun:
                raise
            fitted = await _smaller(context, fitted, given, error)
        else:
            return
        await call_next()
        answer = context.result
        async for update in answer:
            yield update

    async def final(_: Any) -> Any:
        whole = await answer.get_final_response()
        await asyncio.to_thread(fitted.answered, _usage(whole))
        return whole

    return ResponseStream(updates(), finalizer=final)


class FrameworkItem(NamedTuple):
    """What becomes one message of a provider: a message, or one of the results in it."""

    at: int | None
    """Which message of the list it belongs to; `None` for what brim says."""
    message: Any
    """The message, with nothing in it but this."""


def _items(given: Sequence[Any]) -> list[FrameworkItem]:
    return [FrameworkItem(at, each) for at, message in enumerate(given) for each in _split(message)]


def _split(message: Any) -> list[Any]:
    """Return a message of several results as one for each."""
    if message.role != "tool" or len(message.contents) < 2:
        return [message]
    return [_copied(message, contents=[content]) for content in message.contents]


def _messages(fitted: FittedRequest, given: list[Any]) -> list[Any]:
    """Return what is sent: results of one message together again, and a message that is whole is the caller's own."""
    if not fitted.changed:
        return given
    items = _items(given)
    spoken = [_spoken(item) for item in items]
    out: list[FrameworkItem] = []
    for item in unwired(fitted, spoken, items, _changed, lambda text: FrameworkItem(None, Message("user", [text]))):
        if out and item.at is not None and item.at == out[-1].at:
            joined = [*out[-1].message.contents, *item.message.contents]
            out[-1] = FrameworkItem(item.at, _copied(item.message, contents=joined))
        else:
            out.append(item)
    return [item.message if item.at is None else _own(item.message, given[item.at]) for item in out]


def _own(message: Any, given: Any) -> Any:
    """Return the caller's own message, if this one has all that is in it."""
    same = [*map(id, message.contents)] == [*map(id, given.contents)]
    return given if same else message


def _merged(own: Sequence[Any], sent: Sequence[Any]) -> list[Any]:
    """Return all messages in their order, with what brim has made where it stands in what is sent."""
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
    """Return what an answer reports; nothing where it reports nothing."""
    usage = getattr(answer, "usage_details", None) or {}
    if not usage.get("input_token_count"):
        return None
    read, made = usage.get("cache_read_input_token_count"), usage.get("cache_creation_input_token_count")
    told = {"input_tokens": usage["input_token_count"], "output_tokens": usage.get("output_token_count")}
    return {**told, "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": made}}


def _spoken(item: FrameworkItem) -> Spoken:
    message = item.message
    role = message.role if message.role in _ROLES else "system" if message.role == "developer" else "user"
    contents = message.contents
    if role == "tool" and contents and contents[0].type == "function_result":
        return Spoken(role, tuple(map(_part, _returned(contents[0]))), contents[0].call_id or "")
    if role == "tool":
        role = "user"
    return Spoken(role, tuple(map(_part, contents)), name=message.author_name or "")


def _returned(content: Any) -> list[Any]:
    said = content.result
    text = said if isinstance(said, str) else "" if said is None else json.dumps(said, default=str)
    return list(content.items or [Content.from_text(text)])


def _part(content: Any) -> MessagePart:
    kind = content.type
    if kind == "text":
        return MessagePart("text", content.text or "")
    if kind == "text_reasoning":
        sealed = not content.text and content.protected_data
        return MessagePart(
            "thinking", content.protected_data if sealed else content.text or "", name="sealed" if sealed else ""
        )
    if kind == "function_call":
        said = content.arguments
        text = said if isinstance(said, str) else json.dumps(dict(said or {}), ensure_ascii=False)
        return MessagePart("call", text, content.call_id or "", content.name or "")
    if kind in ("data", "uri"):
        media = str(content.media_type or "").split("/")[0]
        return MessagePart(media if media in ("image", "audio") else "file", content.uri or "")
    return MessagePart("text") if kind in _UNSENT else MessagePart("other", json.dumps(content.to_dict(), default=str))


def _changed(item: FrameworkItem, texts: Sequence[str | None]) -> FrameworkItem:
    """Return a copy of an item in which its parts say what they are told to; all else stays."""
    message, spoken = item.message, _spoken(item)
    inside = _returned(message.contents[0]) if spoken.role == "tool" else message.contents
    told = zip(inside, spoken.parts, texts, strict=True)
    kept = [each if text == part.text else _with(each, part, text) for each, part, text in told if text is not None]
    if spoken.role == "tool":
        text = "\n".join(each.text for each in kept if each.type == "text")
        kept = [_copied(message.contents[0], items=kept, result=text)]
    return FrameworkItem(item.at, _copied(message, contents=kept))


def _with(content: Any, part: MessagePart, text: str) -> Any:
    """Return a copy of a content that says something else; what is no text becomes one."""
    if part.kind in ("text", "call"):
        return _copied(content, **{"text" if part.kind == "text" else "arguments": text})
    return Content.from_text(text)


def _copied(value: Any, **new: Any) -> Any:
    """Return a copy of a message or a content with other fields; what it says of itself is its own."""
    made = copy.copy(value)
    made.additional_properties = dict(value.additional_properties)
    for name, each in new.items():
        setattr(made, name, each)
    return made
