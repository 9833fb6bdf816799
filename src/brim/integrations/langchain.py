"""LangChain and LangGraph: a middleware that fits every model call.

Use `create_agent(..., middleware=[BrimMiddleware()])`. The agent's state is not changed: only the messages of each
call are fitted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCalls, TranslatedCall, arun, function_tool, run, usage_of
from brim.integrations.messages import (
    FrameworkMessage,
    KeptPart,
    MessagePart,
    Translation,
    joined_text,
    read_block,
    read_call,
    write_block,
    write_parts,
)

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
except ImportError as error:
    raise missing("langchain", error) from error

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system", "developer": "system"}


class BrimMiddleware(FittedCalls, AgentMiddleware):
    """Fits each call into the model's window, records the reported usage, and retries a refused call once.

    The framework's name of a conversation is the run's `thread_id`.
    """

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model with a request that fits."""
        return run(self._call(request), lambda call: handler(_override(request, call)), _usage)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Call the model with a request that fits; the fit runs in a thread."""
        call = await asyncio.to_thread(self._call, request)
        return await arun(call, lambda call: handler(_override(request, call)), _usage)

    def invoke(self, model: Any, messages: Sequence[Any], tools: Sequence[Any] = ()) -> Any:
        """Return the answer of a model to the fitted messages, for use in your own graph."""
        request = _request(model, messages, tools)
        return self.wrap_model_call(request, lambda sent: _bound(sent).invoke(_all_messages(sent)))

    async def ainvoke(self, model: Any, messages: Sequence[Any], tools: Sequence[Any] = ()) -> Any:
        """Return the answer of a model to the fitted messages, for use in your own graph."""
        request = _request(model, messages, tools)
        return await self.awrap_model_call(request, lambda sent: _bound(sent).ainvoke(_all_messages(sent)))

    def _call(self, request: Any) -> TranslatedCall:
        system = request.system_message
        return TranslatedCall(
            self.conversations,
            TRANSLATION,
            request.messages,
            model=_model_name(request.model),
            tools=_tools(request) or None,
            system=None if system is None else system.content,
            answer=request.model_settings.get("max_tokens") or getattr(request.model, "max_tokens", None),
            session=self.session or _thread(),
        )


def _override(request: Any, call: TranslatedCall) -> Any:
    return request.override(messages=call.messages) if call.request.changed else request


def _request(model: Any, messages: Sequence[Any], tools: Sequence[Any]) -> Any:
    first = messages[0] if messages and isinstance(messages[0], SystemMessage) else None
    rest = list(messages if first is None else messages[1:])
    return ModelRequest(model=model, messages=rest, system_message=first, tools=list(tools))


def _bound(request: Any) -> Any:
    return request.model.bind_tools(request.tools) if request.tools else request.model


def _all_messages(request: Any) -> list[Any]:
    return [*([request.system_message] if request.system_message else []), *request.messages]


def _model_name(model: Any) -> str | None:
    model = getattr(model, "bound", model)
    names = (getattr(model, key, None) for key in ("model_name", "model", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), None)


def _thread() -> str | None:
    """Return the name of the conversation: the thread of the run, and the agent's nodes in a larger graph.

    An agent that is run by a tool has no name, since several may run at once.
    """
    try:
        config = get_config().get("configurable", {})
    except RuntimeError:  # Called outside of a graph.
        return None
    nodes = [step.split(":")[0] for step in str(config.get("checkpoint_ns") or "").split("|")[:-1]]
    thread = config.get("thread_id")
    return None if thread is None or "tools" in nodes else "/".join([str(thread), *nodes])


def _tools(request: Any) -> list[dict[str, Any]]:
    """Return the tools, and the schema of the answer, which is sent in a similar way."""
    tools = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in request.tools]
    form = request.response_format
    specs = getattr(form, "schema_specs", None) or filter(None, [getattr(form, "schema_spec", None)])
    return [*tools, *(function_tool(spec.name, spec.description, spec.json_schema) for spec in specs)]


def _usage(answer: Any) -> dict[str, Any] | None:
    """Return the usage in an answer, or `None`."""
    answer = getattr(answer, "model_response", answer)
    answers = [each for each in getattr(answer, "result", [answer]) if isinstance(each, AIMessage)]
    usage: Any = (answers[-1].usage_metadata if answers else None) or {}
    details = usage.get("input_token_details") or {}
    return usage_of(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        details.get("cache_read"),
        details.get("cache_creation"),
    )


def _read(message: BaseMessage) -> FrameworkMessage:
    """Return a message with a part for each block and for each call without a block."""
    calls = {call.get("id") or "": call for call in _calls(message)}
    parts = [read_block(block, calls) for block in _blocks(message)]
    shown = {part.id for part in parts if part.kind == "call"}
    parts += [read_call(call) for name, call in calls.items() if name not in shown]
    thought = message.additional_kwargs.get("reasoning_content")
    if isinstance(thought, str) and thought:
        parts.append(MessagePart("thinking", thought))
    role = _ROLES.get(message.type) or _ROLES.get(getattr(message, "role", ""), getattr(message, "role", "user"))
    role = role if role in ("system", "user", "assistant", "tool") else "user"
    call_id = getattr(message, "tool_call_id", "") if role == "tool" else ""
    return FrameworkMessage(role, tuple(parts), call_id, "" if role == "tool" else message.name or "")


def _blocks(message: BaseMessage) -> list[Any]:
    content = message.content
    return ([content] if content else []) if isinstance(content, str) else list(content)


def _calls(message: BaseMessage) -> list[Any]:
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


def _write(message: BaseMessage, kept: Sequence[KeptPart]) -> BaseMessage:
    """Return a copy of a message with its kept parts."""
    parts, blocks = _read(message).parts, _blocks(message)
    shown = [each for each in kept if each.at is None or each.at < len(blocks)]
    content = message.content
    update: dict[str, Any] = {
        "content": joined_text(shown, content) if isinstance(content, str) else write_parts(shown, blocks, write_block)
    }
    texts = {each.at: each.text for each in kept}
    calls = {part.id: at for at, part in enumerate(parts) if part.kind == "call"}
    if any(texts.get(at, "") is not None for at in calls.values()):
        for key in ("tool_calls", "invalid_tool_calls"):
            update[key] = [
                call if texts[at] is None else {**call, "args": json.loads(texts[at] or "")}
                for call in getattr(message, key)
                if (at := calls[call.get("id") or ""]) in texts
            ]
    thinks = any(part.kind == "thinking" and at in texts for at, part in enumerate(parts))
    gone = ["tool_calls"] * ("tool_calls" in update) + ["reasoning_content"] * (not thinks)
    update["additional_kwargs"] = {key: value for key, value in message.additional_kwargs.items() if key not in gone}
    return message.model_copy(update=update)


TRANSLATION = Translation(lambda messages: [*map(_read, messages)], _write, lambda text: HumanMessage(content=text))
