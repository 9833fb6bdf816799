"""Pydantic AI: a capability under which every request to the model fits.

`Agent(..., capabilities=[Brim()])` is all. The history of the run stays whole: only what goes to the model is fitted,
before each attempt, once it is known which model serves it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from brim.integrations import missing
from brim.integrations.parts import MessagePart, Spoken, format_for, unwired, wired
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest

try:
    from pydantic_ai import RetryModelRequest, messages
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_core import to_json
except ImportError as error:
    raise missing("pydantic-ai") from error

_MEDIA = {"image": "image", "audio": "audio"}
_WHOLE = (messages.ModelResponse, messages.ModelRequest)


class Brim(AbstractCapability[Any]):
    """Fits each request into its model's window, learns from what the answer reports, and tries a refused one again.

    The run's `conversation_id` names the session.
    """

    def __init__(
        self, window: Window | int | None = None, *, conversations: Conversations | None = None, **settings: Any
    ) -> None:
        """Begin.

        Args:
            window: what the model holds; without it, what the catalogue knows of each model.
            conversations: where the sessions live, if they are shared with something else.
            settings: further arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
        """
        self.conversations = Conversations(window, **settings) if conversations is None else conversations
        self._sent: FittedRequest | None = None
        self._smaller: FittedRequest | None = None

    async def for_run(self, ctx: Any) -> Brim:  # noqa: ARG002 - the framework calls it so
        """Return one that follows a run of its own."""
        return Brim(conversations=self.conversations)

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Return the request with what fits.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        return await asyncio.to_thread(self._fitted, request_context, ctx.conversation_id)

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:  # noqa: ARG002
        """Take what an answer reports."""
        usage = response.usage
        if self._sent is not None and usage.input_tokens:
            cache = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
            told = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
            await asyncio.to_thread(self._sent.answered, {**told, "input_tokens_details": cache})
        return response

    async def on_model_request_error(self, ctx: Any, *, request_context: Any, error: Exception) -> Any:  # noqa: ARG002
        """Ask for another attempt with a smaller request, where the model refused this one as too long."""
        if self._sent is not None:
            self._smaller = await asyncio.to_thread(self._sent.refused, error)
        if self._smaller is None:
            raise error
        raise RetryModelRequest from error

    def _fitted(self, context: Any, name: str | None) -> Any:
        items = [item for at, message in enumerate(context.messages) for item in _items(at, message)]
        spoken = [_spoken(item) for item in items]
        model, asked = context.model.model_name, context.model_request_parameters
        fitted, self._smaller = self._smaller, None
        if fitted is None:
            fitted = self.conversations.request(
                wired(spoken, format_for(model)),
                model=model,
                tools=_tools(asked) or None,
                system="\n\n".join(part.content for part in asked.instruction_parts or ()) or None,
                format=format_for(model),
                answer=(context.model_settings or {}).get("max_tokens"),
                session=name,
            )
        self._sent = fitted
        if not fitted.changed:
            return context
        said = unwired(fitted, spoken, items, _changed, lambda text: ModelItem(None, messages.UserPromptPart(text)))
        return replace(context, messages=_messages(said, context.messages))


class ModelItem(NamedTuple):
    """What becomes one message of a provider: a part of a request, or a whole response."""

    at: int | None
    """Which message of the history it belongs to; `None` for what brim says."""
    what: Any


def _items(at: int, message: Any) -> list[ModelItem]:
    parts = message.parts if isinstance(message, messages.ModelRequest) else ()
    return [ModelItem(at, part) for part in parts] or [ModelItem(at, message)]


def _messages(items: Sequence[ModelItem], given: Sequence[Any]) -> list[Any]:
    """Return items as messages: parts of one request together again, and a message that is whole is the run's own."""
    out: list[ModelItem] = []
    for at, what in items:
        if isinstance(what, _WHOLE):
            out.append(ModelItem(at, what))
        elif at is not None and out and at == out[-1].at:
            out[-1] = ModelItem(at, replace(out[-1].what, parts=[*out[-1].what.parts, what]))
        else:
            made = messages.ModelRequest([what]) if at is None else replace(given[at], parts=[what])
            out.append(ModelItem(at, made))
    return [item.what if item.at is None else _own(item.what, given[item.at]) for item in out]


def _own(message: Any, given: Any) -> Any:
    """Return the run's own message, if this one has all that is in it."""
    return given if [*map(id, message.parts)] == [*map(id, given.parts)] else message


def _tools(asked: Any) -> list[dict[str, Any]]:
    """Return the tools as they are sent, and the form of the answer."""
    shown = [tool for tool in asked.function_tools if asked.visibility_of(tool.name) != "withheld"]
    form = [asked.output_object] if asked.output_object is not None else []
    told = [(tool.name, tool.description, tool.parameters_json_schema) for tool in [*shown, *asked.output_tools]]
    told += [(each.name or "output", each.description, each.json_schema) for each in form]
    made: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": name, "description": about or "", "parameters": schema}}
        for name, about, schema in told
    ]
    return [*made, *({"type": tool.kind} for tool in asked.native_tools)]


def _spoken(item: ModelItem) -> Spoken:
    what = item.what
    if isinstance(what, messages.ModelResponse):
        return Spoken("assistant", tuple(map(_said, what.parts)))
    if isinstance(what, messages.UserPromptPart):
        content = [what.content] if isinstance(what.content, str) else what.content
        return Spoken("user", tuple(map(_given, content)))
    if isinstance(what, messages.BaseToolReturnPart):
        text, files = what.model_response_str_and_user_content()
        told = MessagePart("text", text)
        return Spoken(
            "tool",
            (told, *(MessagePart("other", f) if isinstance(f, str) else _given(f) for f in files)),
            what.tool_call_id,
        )
    if isinstance(what, messages.SystemPromptPart):
        return Spoken("system", (MessagePart("text", what.content),))
    if isinstance(what, messages.RetryFeedbackPart | messages.RetryPromptPart):
        call = what.tool_call_id if getattr(what, "tool_name", None) else ""
        return Spoken("tool" if call else "user", (MessagePart("text", what.model_response()),), call)
    return Spoken("system", (MessagePart("other", _json(what)),))  # A note of the framework's own, which has to stay.


def _said(part: Any) -> MessagePart:
    """Return a part of a response."""
    if isinstance(part, messages.TextPart):
        return MessagePart("text", part.content)
    if isinstance(part, messages.ThinkingPart):
        return (
            MessagePart("thinking", part.content)
            if part.content
            else MessagePart("thinking", part.signature or "", name="sealed")
        )
    if isinstance(part, messages.ToolCallPart):
        return MessagePart("call", part.args_as_json_str(), part.tool_call_id, part.tool_name)
    return _given(part.content) if isinstance(part, messages.FilePart) else MessagePart("other", _json(part))


def _given(each: Any) -> MessagePart:
    """Return a piece of what a user or a tool said."""
    if isinstance(each, str | messages.TextContent):
        return MessagePart("text", each if isinstance(each, str) else each.content)
    if isinstance(each, messages.CachePoint):
        return MessagePart("text")
    where = getattr(each, "data_uri", None) or getattr(each, "url", None) or getattr(each, "file_id", None)
    return MessagePart(_MEDIA.get(str(each.media_type or "").split("/")[0], "file"), where or "")


def _json(value: Any) -> str:
    return to_json(value, fallback=str, serialize_unknown=True).decode()


def _changed(item: ModelItem, texts: Sequence[str | None]) -> ModelItem:
    """Return a copy of an item in which its parts say what they are told to; all else stays."""
    what, spoken = item.what, _spoken(item)
    told = [(text, text == part.text) for part, text in zip(spoken.parts, texts, strict=True)]
    text = texts[0] or ""
    if isinstance(what, messages.ModelResponse):
        return ModelItem(item.at, replace(what, parts=_left(what.parts, told, _retold)))
    if isinstance(what, messages.UserPromptPart) and not isinstance(what.content, str):
        return ModelItem(item.at, replace(what, content=_left(what.content, told, lambda _, said: said)))
    if isinstance(what, messages.BaseToolReturnPart):
        files = what.files if all(same for _, same in told[1:]) else []
        kept = {name: getattr(what, name) for name in ("tool_name", "tool_call_id", "metadata", "timestamp")}
        # A failed call's text is counted as it is sent, inside an object, and would be put into another one.
        return ModelItem(item.at, messages.ToolReturnPart(**kept, content=[text, *files] if files else text))
    if spoken.answers:
        return ModelItem(item.at, messages.ToolReturnPart(what.tool_name, text, what.tool_call_id))
    return ModelItem(item.at, replace(what, content=text) if hasattr(what, "content") else what)


def _left(
    given: Sequence[Any], told: Sequence[tuple[str | None, bool]], change: Callable[[Any, str], Any]
) -> list[Any]:
    """Return what is left of some parts, those that say something else as copies."""
    pairs = zip(given, told, strict=True)
    return [each if same else change(each, text) for each, (text, same) in pairs if text is not None]


def _retold(part: Any, text: str) -> Any:
    """Return a part of a response that says something else, without the id by which a provider would find the old."""
    if isinstance(part, messages.ToolCallPart):
        return replace(part, args=text, id=None)
    return replace(part, content=text, id=None) if isinstance(part, messages.TextPart) else messages.TextPart(text)
