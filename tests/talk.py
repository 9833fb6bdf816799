"""Messages of the three wire shapes, as short to write as they are to read, and what a provider would say to them."""

import base64
import struct


def system(text="rules", role="system"):
    return {"role": role, "content": text}


def user(text="task"):
    return {"role": "user", "content": text}


def model(text="well"):
    return {"role": "assistant", "content": text}


# --- Chat Completions


def calling(*ids, text=None, arguments="{}"):
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def result(call, content="ok"):
    return {"role": "tool", "tool_call_id": call, "content": content}


# --- Anthropic Messages


def says(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def gives(*blocks):
    return {"role": "user", "content": list(blocks)}


def text(said):
    return {"type": "text", "text": said}


def thinking(thought="hm"):
    return {"type": "thinking", "thinking": thought, "signature": "sig"}


def sealed(sealed_text="x" * 40):
    return {"type": "redacted_thinking", "data": sealed_text}


def use(call, **arguments):
    return {"type": "tool_use", "id": call, "name": "f", "input": arguments}


def answer(call, content="ok"):
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def picture(data=None):
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data or png()}}


# --- Responses items


def item_call(call, arguments="{}"):
    return {"type": "function_call", "call_id": call, "name": "f", "arguments": arguments}


def item_output(call, output="ok"):
    return {"type": "function_call_output", "call_id": call, "output": output}


def reasoning(summary="hm", **fields):
    return {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": summary}], **fields}


# --- beside the messages


def png(width=40, height=40):
    """Return the start of an image, which is all that is read of it, as base64."""
    head = struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + b"\x08\x06\x00\x00\x00").decode()


class Dumped:
    """Stands in for an object of a client library, with fields that were never set: those that are `None` here."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def model_dump(self, *, exclude_unset=False, exclude_none=False, **_):
        sparing = exclude_unset or exclude_none
        kept = {key: value for key, value in vars(self).items() if value is not None or not sparing}
        return {key: _dumped(value, sparing) for key, value in kept.items()}


def _dumped(value, sparing):
    if isinstance(value, Dumped):
        return value.model_dump(exclude_unset=sparing)
    return [_dumped(item, sparing) for item in value] if isinstance(value, list) else value


def loop(rounds, size=100, start="task"):
    """Return a task and rounds of one call each, with results of a size."""
    made = [user(start)]
    for i in range(rounds):
        made += [calling(f"c{i}"), result(f"c{i}", f"{i} " * (size // 2))]
    return made


def same(given, returned):
    """Return whether both lists hold the very same objects."""
    return len(given) == len(returned) and all(a is b for a, b in zip(given, returned, strict=True))


# --- what a provider would say


def refusal(messages, format):
    """Return why a provider would answer 400, or an empty text; a second opinion that shares no code with brim."""
    return {"openai": _chat_refusal, "anthropic": _anthropic_refusal, "responses": _responses_refusal}[format](messages)


def _chat_refusal(messages):
    waiting = set()
    for i, message in enumerate(messages):
        role = message["role"]
        if role in ("tool", "function"):
            answered = message.get("tool_call_id", message.get("name"))
            if answered not in waiting:
                return f"messages[{i}] answers {answered!r}, which does not wait"
            waiting.discard(answered)
            continue
        if waiting:
            return f"messages[{i}] comes before the answers to {sorted(waiting)}"
        calls = message.get("tool_calls")
        if calls is not None and not calls:
            return f"messages[{i}] has an empty list of calls"
        old = message.get("function_call")
        if role == "assistant" and not calls and not old and not (message.get("content") or message.get("refusal")):
            return f"messages[{i}] has neither content nor calls"
        waiting = {call["id"] for call in calls or []} | ({old["name"]} if old else set())
    return f"nothing answers {sorted(waiting)}" if waiting else ""


def _anthropic_refusal(messages):
    waiting, goes_on = set(), False
    spoken = [message for message in messages if message["role"] != "system"]
    if spoken and spoken[0]["role"] != "user":
        return "the first message is not the user's"
    for i, message in enumerate(spoken):
        content = message["content"]
        blocks = [text(content)] if isinstance(content, str) else content
        if not blocks or any(block["type"] == "text" and not block["text"] for block in blocks):
            return f"messages[{i}] has an empty text or none"
        if message["role"] == "assistant" and "thinking" in blocks[-1]["type"]:
            return f"messages[{i}] ends with thinking"
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if not set(answered) <= waiting or len(set(answered)) < len(answered):
            return f"messages[{i}] answers {answered}, and {sorted(waiting)} wait"
        waiting -= set(answered)
        combined = goes_on and message["role"] == "assistant"  # With the message before, which is of the model as well.
        goes_on = message["role"] == "assistant"
        if waiting and not combined and not (answered and i + 1 < len(spoken) and spoken[i + 1]["role"] == "user"):
            return f"messages[{i}] leaves {sorted(waiting)} without an answer"
        waiting |= {block["id"] for block in blocks if block["type"] == "tool_use"}
    return f"nothing answers {sorted(waiting)}" if waiting else ""


def _responses_refusal(messages):
    waiting = set()
    for i, item in enumerate(messages):
        kind = item.get("type", "message")
        if kind == "reasoning":
            after = messages[i + 1] if i + 1 < len(messages) else {}
            said = after.get("role") == "assistant" or "call_id" in after or after.get("type") == "reasoning"
            if not said or after.get("type", "").endswith("_output"):
                return f"messages[{i}] is reasoning without what has to follow it"
        if kind.endswith("_output"):
            answered = item.get("call_id") or item.get("id")
            if answered not in waiting:
                return f"messages[{i}] answers {answered!r}, which does not wait"
            waiting.discard(answered)
        elif "call_id" in item:
            waiting.add(item["call_id"])
    return f"nothing answers {sorted(waiting)}" if waiting else ""
