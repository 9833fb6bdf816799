"""smolagents: an agent whose model only ever gets what fits, while its memory keeps every step.

`fit_steps(agent)` is all. A step callback that cuts `agent.memory.steps` would take from the run's own record, and it
comes after the step that did not fit; what stands around the agent's model sees each prompt whole, with the tools that
are sent along, the plans and the last answer too.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.integrations import missing
from brim.integrations.parts import MessagePart, Spoken, format_for, unwired, wired
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest
from brim.wire.base import json_of

try:
    from smolagents.models import ChatMessage, MessageRole, get_tool_json_schema
except ImportError as error:
    raise missing("smolagents") from error

_ROLES = {"system": "system", "assistant": "assistant", "tool-call": "assistant"}


def fit_steps(
    agent: Any,
    window: Window | int | None = None,
    *,
    session: str | None = None,
    conversations: Conversations | None = None,
    **settings: Any,
) -> Any:
    """Let the model of an agent get what fits, and return the agent.

    Args:
        agent: the agent; agents that it manages are given on their own.
        window: what the model holds; without it, what the catalogue knows of it.
        session: the name of the conversation; without it, it is told by its messages.
        conversations: where the sessions live, if they are shared with something else.
        settings: further arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
    """
    known = conversations or Conversations(window, **settings)
    model = agent.model.inner if type(agent.model) is FittedModel else agent.model
    agent.model = FittedModel(model, known, agent, session)
    return agent


class FittedModel:
    """A model that gets what fits; in all else it is the model that it stands around."""

    def __init__(self, inner: Any, conversations: Conversations, agent: Any, session: str | None) -> None:
        self.inner, self.conversations = inner, conversations
        self._agent, self._session = agent, session

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # What is saved of an agent names the class of its model.
        return type(self.inner)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # A copy that is being made has none yet.
            raise AttributeError(name)
        found = getattr(self.inner, name)
        return self._streamed if name == "generate_stream" else found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model with what fits."""
        return self.generate(*args, **kwargs)

    def generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the model with what fits, and once more with less if that is refused.

        The list of messages becomes what was sent, so that the record of a step says what the model saw.
        """
        given = _given(messages)
        request = self._fitted(given, messages, kwargs)
        try:
            answer = self.inner.generate(messages, *args, **kwargs)
        except Exception as error:  # Whatever a provider raises may tell of an overflow; all else goes on.
            request = self._smaller(request, given, messages, error)
            answer = self.inner.generate(messages, *args, **kwargs)
        request.answered(_usage(answer))
        return answer

    def _streamed(self, messages: list[Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Call the model with what fits, and yield its answer as it comes."""
        given, usage, begun = _given(messages), None, False
        request = self._fitted(given, messages, kwargs)
        while True:
            try:
                for event in self.inner.generate_stream(messages, *args, **kwargs):
                    begun, usage = True, _usage(event) or usage
                    yield event
            except Exception as error:  # Whatever a provider raises may tell of an overflow; all else goes on.
                if begun:
                    raise
                request = self._smaller(request, given, messages, error)
            else:
                request.answered(usage)
                return

    def _fitted(self, given: list[Any], messages: list[Any], kwargs: Mapping[str, Any]) -> FittedRequest:
        model, spoken = getattr(self.inner, "model_id", None), _spoken(given)
        asked = getattr(self.inner, "kwargs", None) or {}
        request = self.conversations.request(
            wired(spoken, format_for(model)),
            model=model,
            tools=_tools(kwargs) or None,
            format=format_for(model),
            answer=kwargs.get("max_tokens") or asked.get("max_tokens") or asked.get("max_completion_tokens"),
            session=self._session if self._is_step(given) else None,
        )
        _put(request, spoken, given, messages)
        return request

    def _smaller(
        self, request: FittedRequest, given: list[Any], messages: list[Any], error: Exception
    ) -> FittedRequest:
        """Return a smaller request after a refusal; any other error goes on."""
        smaller = request.refused(error)
        if smaller is None:
            raise error
        _put(smaller, _spoken(given), given, messages)
        return smaller

    def _is_step(self, messages: Sequence[Any]) -> bool:
        """Return whether a prompt goes on with the run; plans and the last answer have system prompts of their own."""
        system = self._agent.memory.system_prompt.to_messages()
        return bool(messages) and messages[:1] == system[:1]


def _put(request: FittedRequest, spoken: Sequence[Spoken], given: Sequence[Any], messages: list[Any]) -> None:
    """Put what is sent into a list of messages."""
    if request.changed:
        messages[:] = unwired(request, spoken, given, _changed, _say)


def _given(messages: Sequence[Any]) -> list[Any]:
    return [each if isinstance(each, ChatMessage) else ChatMessage.from_dict(dict(each)) for each in messages]


def _say(text: str) -> Any:
    return ChatMessage(role=MessageRole.USER, content=[{"type": "text", "text": text}])


def _tools(kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tools as they are sent, and the form of the answer, which is sent like one."""
    tools = [get_tool_json_schema(tool) for tool in kwargs.get("tools_to_call_from") or ()]
    form = (kwargs.get("response_format") or {}).get("json_schema")
    if form:
        tools.append(
            {"type": "function", "function": {"name": form.get("name", ""), "parameters": form.get("schema", {})}}
        )
    return tools


def _usage(answer: Any) -> dict[str, Any] | None:
    usage = getattr(answer, "token_usage", None)
    if usage is None or not usage.input_tokens:
        return None
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}


def _spoken(messages: Sequence[Any]) -> list[Spoken]:
    """Return what messages are made of. What a step observed is joined to what it called, though both are texts."""
    made = [Spoken(_ROLES.get(message.role, "user"), tuple(_parts(message))) for message in messages]
    for at, message in enumerate(messages):
        if message.role == MessageRole.TOOL_CALL:
            seen = at + 1
            while seen < len(messages) and _is_seen(messages[seen]):
                key = f"{at}.{seen}"
                made[at] = made[at]._replace(parts=(*made[at].parts, MessagePart("call", "{}", key)))
                made[seen] = made[seen]._replace(role="tool", answers=key)
                seen += 1
    return made


def _is_seen(message: Any) -> bool:
    """Return whether a message is what a step observed: texts of its tools, and images."""
    parts = _parts(message)
    pictured = message.role == MessageRole.USER and bool(parts) and all(part.kind == "image" for part in parts)
    return pictured or message.role == MessageRole.TOOL_RESPONSE


def _contents(message: Any) -> list[Any]:
    content = message.content
    return [content] if isinstance(content, str) else list(content or ())


def _parts(message: Any) -> list[MessagePart]:
    return [_part(each) for each in _contents(message)]


def _part(content: Any) -> MessagePart:
    if isinstance(content, str) or isinstance(content.get("text"), str):
        return MessagePart("text", content if isinstance(content, str) else content["text"])
    if content.get("type") == "image_url":
        told = content.get("image_url")
        return MessagePart("image", str(told.get("url") if isinstance(told, Mapping) else told))
    if content.get("type") == "image":
        return MessagePart("image", _sized(content.get("image")))
    return MessagePart("other", json_of({key: str(value) for key, value in content.items()}, "content"))


def _sized(image: Any) -> str:
    """Return the head of a picture, which has its size: that is all that is counted of it."""
    if isinstance(image, str):
        return image if image.startswith(("data:", "http")) else f"data:image/png;base64,{image}"
    width, height = getattr(image, "size", (0, 0))
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIB", 13, b"IHDR", width, height, 8) + bytes(8)
    return f"data:image/png;base64,{base64.b64encode(head).decode()}"


def _changed(message: Any, texts: Sequence[str | None]) -> Any:
    """Return a copy of a message in which its parts say what they are told to; all else stays."""
    parts = zip(_contents(message), _parts(message), texts, strict=False)
    content = [each if text == part.text else _told(each, text) for each, part, text in parts if text is not None]
    return replace(message, content="".join(content) if isinstance(message.content, str) else content)


def _told(content: Any, text: str) -> Any:
    """Return a part of a content that says something else; a text in the place of one that cannot."""
    if isinstance(content, str):
        return text
    return {**content, "text": text} if isinstance(content.get("text"), str) else {"type": "text", "text": text}
