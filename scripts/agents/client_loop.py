"""A small agent of our own on a provider's client: `client_loop.py CLIENT BASE MODEL plain|wrapped`.

CLIENT is `anthropic`, `chat`, `responses` or `gemini`. It runs the shell calls of the model until the model makes none,
and prints the last answer. Wrapped, the client is given to `brim.wrap`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from scripts.agents.task import PROMPT

import brim

_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
_ABOUT = "Run a shell command."
_KEY = "sk-none"
_ASKED = 4_000
WINDOW = "RIG_WINDOW"
"""The variable with the window that a wrapped client is told."""


def _shell(arguments: Any) -> str:
    command = json.loads(arguments)["command"] if isinstance(arguments, str) else arguments["command"]
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


def _client(name: str, base: str) -> Any:
    """Return a provider's client."""
    if name == "anthropic":
        import anthropic

        return anthropic.Anthropic(base_url=base, api_key=_KEY, max_retries=0)
    if name == "gemini":
        from google.genai import Client

        return Client(api_key=_KEY, http_options={"base_url": base})
    import openai

    return openai.OpenAI(base_url=f"{base}/v1", api_key=_KEY, max_retries=0)


def _messages(client: Any, model: str, task: str) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": task}]}]
    tools = [{"name": "bash", "description": _ABOUT, "input_schema": _SCHEMA}]
    while True:
        sent = _marked(messages)
        with client.messages.stream(model=model, max_tokens=_ASKED, messages=sent, tools=tools) as stream:
            answer = stream.get_final_message()
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
        items += [item.model_dump(exclude_none=True) for item in answer.output]
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return str(answer.output_text)
        for call in calls:
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": _shell(call.arguments)})


def _gemini(client: Any, model: str, task: str) -> str:
    contents: list[Any] = [{"role": "user", "parts": [{"text": task}]}]
    declared = {"name": "bash", "description": _ABOUT, "parameters_json_schema": _SCHEMA}
    config = {"tools": [{"function_declarations": [declared]}], "automatic_function_calling": {"disable": True}}
    while True:
        answer = client.models.generate_content(model=model, contents=contents, config=config)
        contents.append(answer.candidates[0].content)
        if not answer.function_calls:
            return str(answer.text)
        results = [
            {"function_response": {"id": call.id, "name": call.name, "response": {"output": _shell(call.args)}}}
            for call in answer.function_calls
        ]
        contents.append({"role": "user", "parts": results})


_LOOPS = {"anthropic": _messages, "chat": _chat, "responses": _responses, "gemini": _gemini}


def work(name: str, base: str, model: str, task: str, *, wrapped: bool) -> str:
    """Do a task with one of the clients, wrapped with the window that the rig names, and return the last answer."""
    with _client(name, base) as client:
        return _LOOPS[name](brim.wrap(client, int(os.environ[WINDOW])) if wrapped else client, model, task)


if __name__ == "__main__":
    name, base, model, how = sys.argv[1:]
    print(work(name, base, model, PROMPT, wrapped=how == "wrapped"))
