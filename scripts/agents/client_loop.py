"""A small agent of our own on a provider's client: `client_loop.py CLIENT BASE MODEL TASK plain|wrapped`.

CLIENT is `anthropic`, `chat` or `responses`. It runs the shell calls of the model until the model makes none, and
prints the last answer. Wrapped, the client is given to `brim.wrap`, and standard error states what brim counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
_ABOUT = "Run a shell command."
_KEY = "sk-none"
_ASKED = 4_000
WINDOW = "RIG_WINDOW"
"""The variable with the window that brim is told."""


def _shell(arguments: Any) -> str:
    command = json.loads(arguments)["command"] if isinstance(arguments, str) else arguments["command"]
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


def _wrapped(client: Any) -> Any:
    """Return the client wrapped; the window is the one that the rig names."""
    import brim

    window = os.environ.get(WINDOW)
    return brim.wrap(client, int(window) if window else None)


def _count(client: Any) -> None:
    """Print what brim counted for the request that was just answered."""
    if (conversations := getattr(client, "brim", None)) is not None and (last := conversations.last) is not None:
        budget = last.room.target if last.room is not None and last.changed else None
        print(json.dumps({"after": last.used, "budget_tokens": budget}), file=sys.stderr, flush=True)


def _anthropic_client(base: str) -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=base, api_key=_KEY, max_retries=0)


def _openai_client(base: str) -> Any:
    import openai

    return openai.OpenAI(base_url=f"{base}/v1", api_key=_KEY, max_retries=0)


def _messages(client: Any, model: str, task: str) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": task}]}]
    tools = [{"name": "bash", "description": _ABOUT, "input_schema": _SCHEMA}]
    while True:
        sent = _marked(messages)
        with client.messages.stream(model=model, max_tokens=_ASKED, messages=sent, tools=tools) as stream:
            answer = stream.get_final_message()
        _count(client)
        content = [block.model_dump(exclude_none=True) for block in answer.content]
        messages.append({"role": "assistant", "content": content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in answer.content if block.type == "text")
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": _shell(call.input)} for call in calls]
        messages.append({"role": "user", "content": results})


def _marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with a breakpoint for the cache at their end, as clients move it with each request."""
    *before, block = messages[-1]["content"]
    return [*messages[:-1], {**messages[-1], "content": [*before, {**block, "cache_control": {"type": "ephemeral"}}]}]


def _chat(client: Any, model: str, task: str) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    tools = [{"type": "function", "function": {"name": "bash", "description": _ABOUT, "parameters": _SCHEMA}}]
    while True:
        answer = client.chat.completions.create(model=model, messages=messages, tools=tools, max_tokens=_ASKED)
        _count(client)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            said = _shell(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})


def _responses(client: Any, model: str, task: str) -> str:
    items: list[Any] = [{"role": "user", "content": task}]
    tools = [{"type": "function", "name": "bash", "description": _ABOUT, "parameters": _SCHEMA, "strict": False}]
    options = {"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"], "store": False}
    while True:
        answer = client.responses.create(
            model=model, input=items, tools=tools, max_output_tokens=_ASKED, stream=False, **options
        )
        _count(client)
        items += [item.model_dump(exclude_none=True) for item in answer.output]
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return str(answer.output_text)
        for call in calls:
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": _shell(call.arguments)})


_LOOPS: dict[str, tuple[Callable[[str], Any], Callable[[Any, str, str], str]]] = {
    "anthropic": (_anthropic_client, _messages),
    "chat": (_openai_client, _chat),
    "responses": (_openai_client, _responses),
}


def work(name: str, base: str, model: str, task: str, *, wrapped: bool) -> str:
    """Do a task with one of the clients, and return the last answer."""
    make, loop = _LOOPS[name]
    with make(base) as client:
        return loop(_wrapped(client) if wrapped else client, model, task)


if __name__ == "__main__":
    name, base, model, task, how = sys.argv[1:]
    print(work(name, base, model, task, wrapped=how == "wrapped"))
