"""LangChain and LangGraph: a middleware under which every call of the model fits.

`create_agent(..., middleware=[BrimMiddleware()])` is all. What the agent keeps in its state stays whole: only what is
sent to the model is fitted, before each call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.content import arguments, part_of, told
from brim.integrations.parts import MessagePart, Spoken, format_for, unwired, wired
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
except ImportError as error:
    raise missing("langchain") from error

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system", "developer": "system"}
Sent = tuple[FittedRequest, Any]


class BrimMiddleware(AgentMiddleware):
    """Fits each call of the model into its window, learns from what the answer reports, and tries a refused one again.

    The run's `thread_id` names the session, where there is one.
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
        super().__init__()
        self.conversations = Conversations(window, **settings) if conversations is None else conversations

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model with what fits."""
        fitted, sent = self._fitted(request)
        try:
            answer = handler(sent)
        except Exception as error:  # Whatever a provider raises may tell of an overflow; all else goes on.
            fitted, sent = self._smaller(request, fitted, error)
            answer = handler(sent)
        fitted.answered(_usage(answer))
        return answer

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Call the model with what fits; the fit is made in a thread."""
        fitted, sent = await asyncio.to_thread(self._fitted, request)
        try:
            answer = await handler(sent)
        except Exception as error:  # Whatever a provider raises may tell of an overflow; all else goes on.
            fitted, sent = await asyncio.to_thread(self._smaller, request, fitted, error)
            answer = await handler(sent)
        await asyncio.to_thread(fitted.answered, _usage(answer))
        return answer

    def invoke(self, model: Any, messages: Sequence[Any], tools: Sequence[Any] = ()) -> Any:
        """Return what a model answers to what fits of the messages, in a graph of your own."""
        return self.wrap_model_call(_asked(model, messages, tools), lambda sent: _bound(sent).invoke(_all(sent)))

    async def ainvoke(self, model: Any, messages: Sequence[Any], tools: Sequence[Any] = ()) -> Any:
        """Return what a model answers to what fits of the messages, in a graph of your own."""

        async def call(sent: Any) -> Any:
            return await _bound(sent).ainvoke(_all(sent))

        return await self.awrap_model_call(_asked(model, messages, tools), call)

    def _fitted(self, request: Any) -> Sent:
        model = _name(request.model)
        spoken = [_spoken(message) for message in request.messages]
        system = request.system_message
        fitted = self.conversations.request(
            wired(spoken, format_for(model)),
            model=model,
            tools=_tools(request) or None,
            system=None if system is None else system.content,
            format=format_for(model),
            answer=request.model_settings.get("max_tokens") or getattr(request.model, "max_tokens", None),
            session=_thread(),
        )
        return fitted, _override(request, fitted, spoken)

    def _smaller(self, request: Any, fitted: FittedRequest, error: Exception) -> Sent:
        """Return a smaller request after a refusal; any other error goes on."""
        smaller = fitted.refused(error)
        if smaller is None:
            raise error
        return smaller, _override(request, smaller, [_spoken(message) for message in request.messages])


def _override(request: Any, fitted: FittedRequest, spoken: Sequence[Spoken]) -> Any:
    if not fitted.changed:
        return request
    said = unwired(fitted, spoken, request.messages, _changed, lambda text: HumanMessage(content=text))
    return request.override(messages=said)


def _asked(model: Any, messages: Sequence[Any], tools: Sequence[Any]) -> Any:
    first = messages[0] if messages and isinstance(messages[0], SystemMessage) else None
    rest = list(messages if first is None else messages[1:])
    return ModelRequest(model=model, messages=rest, system_message=first, tools=list(tools))


def _bound(request: Any) -> Any:
    return request.model.bind_tools(request.tools) if request.tools else request.model


def _all(request: Any) -> list[Any]:
    return [*([request.system_message] if request.system_message else []), *request.messages]


def _name(model: Any) -> str | None:
    model = getattr(model, "bound", model)
    named = (getattr(model, key, None) for key in ("model_name", "model", "model_id"))
    return next((name for name in named if isinstance(name, str) and name), None)


def _thread() -> str | None:
    """Return the name of the conversation: the thread of the run, and the agent's place in a bigger graph.

    An agent that a tool runs has none, since several may run at a time.
    """
    try:
        told = get_config().get("configurable", {})
    except RuntimeError:  # Called outside of a graph.
        return None
    nodes = [step.split(":")[0] for step in str(told.get("checkpoint_ns") or "").split("|")[:-1]]
    thread = told.get("thread_id")
    return None if thread is None or "tools" in nodes else "/".join([str(thread), *nodes])


def _tools(request: Any) -> list[dict[str, Any]]:
    """Return the tools as they are sent, and the form of the answer, which is sent as one or like one."""
    tools = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in request.tools]
    form = request.response_format
    for spec in getattr(form, "schema_specs", None) or filter(None, [getattr(form, "schema_spec", None)]):
        said = {"name": spec.name, "description": spec.description, "parameters": spec.json_schema}
        tools.append({"type": "function", "function": said})
    return tools


def _usage(answer: Any) -> dict[str, Any] | None:
    """Return what an answer reports; nothing where it reports nothing."""
    answer = getattr(answer, "model_response", answer)
    said = [each for each in getattr(answer, "result", [answer]) if isinstance(each, AIMessage)]
    usage: Any = said[-1].usage_metadata if said else None
    if not usage or not usage.get("input_tokens"):
        return None
    details = usage.get("input_token_details") or {}
    cache = {"cached_tokens": details.get("cache_read"), "cache_write_tokens": details.get("cache_creation")}
    told = {"input_tokens": usage["input_tokens"], "output_tokens": usage.get("output_tokens")}
    return {**told, "input_tokens_details": cache}


def _spoken(message: BaseMessage) -> Spoken:
    """Return what a message is made of: a part for each block, and one for each call that is no block."""
    calls = {call.get("id") or "": call for call in _calls(message)}
    parts = [part_of(block, calls) for block in _blocks(message)]
    shown = {part.id for part in parts if part.kind == "call"}
    parts += [
        MessagePart("call", arguments(call["args"]), name, call["name"] or "")
        for name, call in calls.items()
        if name not in shown
    ]
    thought = message.additional_kwargs.get("reasoning_content")
    if isinstance(thought, str) and thought:
        parts.append(MessagePart("thinking", thought))
    role = _ROLES.get(message.type) or _ROLES.get(getattr(message, "role", ""), getattr(message, "role", "user"))
    role = role if role in ("system", "user", "assistant", "tool") else "user"
    answers = getattr(message, "tool_call_id", "") if role == "tool" else ""
    return Spoken(role, tuple(parts), answers, "" if role == "tool" else message.name or "")


def _blocks(message: BaseMessage) -> list[Any]:
    content = message.content
    return ([content] if content else []) if isinstance(content, str) else list(content)


def _calls(message: BaseMessage) -> list[Any]:
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


def _changed(message: BaseMessage, texts: Sequence[str | None]) -> BaseMessage:
    """Return a copy of a message in which its parts say what they are told to; all else stays."""
    parts, blocks = _spoken(message).parts, _blocks(message)
    shown = zip(blocks, parts, texts, strict=False)
    content: Any = [
        block if text == part.text else told(block, part, text) for block, part, text in shown if text is not None
    ]
    if isinstance(message.content, str):
        content = content[0] if content else ""
    update: dict[str, Any] = {"content": content}
    calls = {part.id: (part.text, text) for part, text in zip(parts, texts, strict=True) if part.kind == "call"}
    if any(said != text for said, text in calls.values()):
        for key in ("tool_calls", "invalid_tool_calls"):
            update[key] = [_called(call, *calls[call.get("id") or ""]) for call in getattr(message, key)]
            update[key] = [call for call in update[key] if call is not None]
    thinks = any(part.kind == "thinking" and text for part, text in zip(parts, texts, strict=True))
    gone = ["tool_calls"] * ("tool_calls" in update) + ["reasoning_content"] * (not thinks)
    update["additional_kwargs"] = {key: value for key, value in message.additional_kwargs.items() if key not in gone}
    return message.model_copy(update=update)


def _called(call: Any, said: str, text: str | None) -> Any:
    """Return a call with other arguments; nothing where it went."""
    return None if text is None else call if said == text else {**call, "args": json.loads(text)}
