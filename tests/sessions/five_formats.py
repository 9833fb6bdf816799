"""The same talk in five formats; nothing here shares code with brim."""

import json

FORMATS = ("openai", "responses", "anthropic", "gemini", "bedrock")


def user(format, text):
    """Return a message of the user."""
    return {
        "openai": {"role": "user", "content": text},
        "responses": {"role": "user", "content": text},
        "anthropic": {"role": "user", "content": text},
        "gemini": {"role": "user", "parts": [{"text": text}]},
        "bedrock": {"role": "user", "content": [{"text": text}]},
    }[format]


def says(format, text):
    """Return a message of the model."""
    return {
        "openai": {"role": "assistant", "content": text},
        "responses": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
        "anthropic": {"role": "assistant", "content": [{"type": "text", "text": text}]},
        "gemini": {"role": "model", "parts": [{"text": text}]},
        "bedrock": {"role": "assistant", "content": [{"text": text}]},
    }[format]


def calls(format, name, arguments, text=""):
    """Return the messages of a call of a tool, with what the model says before it."""
    said = json.dumps(arguments)
    if format == "openai":
        function = {"name": "read", "arguments": said}
        call = {"id": name, "type": "function", "function": function}
        return [{"role": "assistant", "content": text or None, "tool_calls": [call]}]
    if format == "responses":
        call = {"type": "function_call", "call_id": name, "name": "read", "arguments": said}
        return [*([says(format, text)] if text else []), call]
    if format == "anthropic":
        block = {"type": "tool_use", "id": name, "name": "read", "input": arguments}
        return [{"role": "assistant", "content": [*([{"type": "text", "text": text}] if text else []), block]}]
    before = [{"text": text}] if text else []
    if format == "gemini":
        return [
            {"role": "model", "parts": [*before, {"functionCall": {"id": name, "name": "read", "args": arguments}}]}
        ]
    use = {"toolUse": {"toolUseId": name, "name": "read", "input": arguments}}
    return [{"role": "assistant", "content": [*before, use]}]


def results(format, name, text):
    """Return the message with the result of a call."""
    return {
        "openai": {"role": "tool", "tool_call_id": name, "content": text},
        "responses": {"type": "function_call_output", "call_id": name, "output": text},
        "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": text}]},
        "gemini": {
            "role": "user",
            "parts": [{"functionResponse": {"id": name, "name": "read", "response": {"result": text}}}],
        },
        "bedrock": {"role": "user", "content": [{"toolResult": {"toolUseId": name, "content": [{"text": text}]}}]},
    }[format]


def written(format, events, prefix="c"):
    """Return events as messages: `(kind, text)` of the user and the model, and `("call", text, arguments, result)`."""
    made = []
    for number, (kind, text, *more) in enumerate(events):
        if kind == "user":
            made.append(user(format, text))
        elif kind == "says":
            made.append(says(format, text))
        else:
            name = f"{prefix}{number}"
            made += [*calls(format, name, more[0], text), results(format, name, more[1])]
    return made


def strings(value):
    """Yield every text in JSON values; JSON inside a text is read too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings(each)
