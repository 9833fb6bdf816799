"""smolagents: wraps the model of an agent so that every prompt fits; the agent's memory keeps every step.

Use `fit_steps(agent)`. A step callback that cuts `agent.memory.steps` would change the record of the run, and runs only
after the step that did not fit. A wrapped model gets each prompt with its tools, including plans and the final answer.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCalls, TranslatedCall, function_tool, run, stream, usage_of
from brim.integrations.messages import (
    FrameworkMessage,
    KeptPart,
    MessagePart,
    Translation,
    joined_text,
    read_block,
    write_block,
    write_parts,
)
from brim.meter.window import Window

try:
    from smolagents.models import ChatMessage, MessageRole, get_tool_json_schema
except ImportError as error:
    raise missing("smolagents", error) from error

_ROLES = {"system": "system", "assistant": "assistant", "tool-call": "assistant"}


def fit_steps(agent: Any, window: Window | int | None = None, **options: Any) -> Any:
    """Wrap the model of an agent so that every prompt fits, and return the agent.

    Args:
        agent: the agent; managed agents are wrapped separately.
        window: the window of the model; by default that of the settings or the catalogue.
        options: more arguments of `FittedCalls`: `session`, `conversations`, `store`, ...
    """
    model = agent.model.inner if type(agent.model) is FittedModel else agent.model
    agent.model = FittedModel(model, agent, FittedCalls(window, **options))
    return agent


class FittedModel:
    """A model whose prompts fit; everything else is passed to the inner model."""

    def __init__(self, inner: Any, agent: Any, calls: FittedCalls) -> None:
        self.inner, self.conversations = inner, calls.conversations
        self._agent, self._session = agent, calls.session

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # A saved agent contains the class of its model.
        return type(self.inner)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # Not yet set while it is copied.
            raise AttributeError(name)
        found = getattr(self.inner, name)
        return self._streamed if name == "generate_stream" else found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model with the fitted messages."""
        return self.generate(*args, **kwargs)

    def generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the model with the fitted messages, and retry once with fewer after an overflow.

        The list is changed to the messages that were sent, so that the record of a step shows what the model got.
        """
        call = self._call(messages, kwargs)
        return run(call, lambda call: self.inner.generate(_put(call, messages), *args, **kwargs), _usage)

    def _streamed(self, messages: list[Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Call the model with the fitted messages, and yield the answer as a stream."""
        call = self._call(messages, kwargs)
        return stream(call, lambda call: self.inner.generate_stream(_put(call, messages), *args, **kwargs), _usage)

    def _call(self, messages: Sequence[Any], kwargs: Mapping[str, Any]) -> TranslatedCall:
        given = [each if isinstance(each, ChatMessage) else ChatMessage.from_dict(dict(each)) for each in messages]
        options = getattr(self.inner, "kwargs", None) or {}
        return TranslatedCall(
            self.conversations,
            TRANSLATION,
            given,
            model=getattr(self.inner, "model_id", None),
            tools=_tools(kwargs) or None,
            answer=kwargs.get("max_tokens") or options.get("max_tokens") or options.get("max_completion_tokens"),
            session=self._session if self._is_step(given) else None,
        )

    def _is_step(self, messages: Sequence[Any]) -> bool:
        """Return whether a prompt continues the run; plans and the final answer have other system prompts."""
        system = self._agent.memory.system_prompt.to_messages()
        return bool(messages) and messages[:1] == system[:1]


def _put(call: TranslatedCall, messages: list[Any]) -> list[Any]:
    """Return the list of messages, changed to those that are sent."""
    if call.request.changed:
        messages[:] = call.messages
    return messages


def _tools(kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tools as sent to the model, and the schema of the answer as another tool."""
    tools = [get_tool_json_schema(tool) for tool in kwargs.get("tools_to_call_from") or ()]
    form = (kwargs.get("response_format") or {}).get("json_schema")
    return [*tools, function_tool(form.get("name", ""), "", form.get("schema", {}))] if form else tools


def _usage(answer: Any) -> dict[str, Any] | None:
    usage = getattr(answer, "token_usage", None)
    return None if usage is None else usage_of(usage.input_tokens, usage.output_tokens)


def _read(messages: Sequence[Any]) -> list[FrameworkMessage]:
    """Return messages with their parts; observations of a step become results of its calls."""
    read = [FrameworkMessage(_ROLES.get(each.role, "user"), tuple(map(_part, _contents(each)))) for each in messages]
    for at, message in enumerate(messages):
        if message.role == MessageRole.TOOL_CALL:
            seen = at + 1
            while seen < len(messages) and _is_observation(messages[seen], read[seen]):
                key = f"{at}.{seen}"
                read[at] = read[at]._replace(parts=(*read[at].parts, MessagePart("call", "{}", key)))
                read[seen] = read[seen]._replace(role="tool", call_id=key)
                seen += 1
    return read


def _is_observation(message: Any, read: FrameworkMessage) -> bool:
    """Return whether a message is an observation of a step: output of its tools, or images."""
    pictured = message.role == MessageRole.USER and bool(read.parts) and all(p.kind == "image" for p in read.parts)
    return pictured or message.role == MessageRole.TOOL_RESPONSE


def _contents(message: Any) -> list[Any]:
    content = message.content
    return [content] if isinstance(content, str) else list(content or ())


def _part(content: Any) -> MessagePart:
    if isinstance(content, Mapping) and content.get("type") == "image":
        return MessagePart("image", _image_head(content.get("image")))
    return read_block(content, {})


def _image_head(image: Any) -> str:
    """Return the header of an image with its size, which is enough to count it."""
    if isinstance(image, str):
        return image if image.startswith(("data:", "http")) else f"data:image/png;base64,{image}"
    width, height = getattr(image, "size", (0, 0))
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIB", 13, b"IHDR", width, height, 8) + bytes(8)
    return f"data:image/png;base64,{base64.b64encode(head).decode()}"


def _write(message: Any, kept: Sequence[KeptPart]) -> Any:
    """Return a copy of a message with its kept parts, without the calls that were added."""
    contents = _contents(message)
    kept = [each for each in kept if each.at is None or each.at < len(contents)]
    if isinstance(message.content, str):
        return replace(message, content=joined_text(kept, message.content))
    return replace(message, content=write_parts(kept, contents, write_block))


TRANSLATION = Translation(
    _read, _write, lambda text: ChatMessage(role=MessageRole.USER, content=[{"type": "text", "text": text}])
)
