"""Translates the messages of a framework to a provider's wire format, and the fitted messages back.

The module of a framework reads each message into parts. In the wire format, every message and part carries its
position, which is neither counted nor sent. So the original is found again, and keeps everything that was not cut.
`read_block` and `write_block` are for frameworks whose messages contain a provider's blocks.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from brim.sessions.conversations.request import FittedRequest
from brim.wire import Format

PLACE, _PART = "place", "part"
"""The keys of the position of a message and of a part; neither is counted."""


class MessagePart(NamedTuple):
    """One part of a message."""

    kind: str
    """`text`, `thinking`, `call`, `image`, `audio` or `file`; `other` is counted and never cut."""
    text: str = ""
    """The text, the arguments of a call as JSON, the address or the data of media, or the JSON of any other part."""
    id: str = ""
    """The id that joins a call to its result."""
    name: str = ""
    """The name of the called tool, the detail of an image, or `sealed` for encrypted thinking."""


class FrameworkMessage(NamedTuple):
    """One message of a framework, which is one message of the wire format."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    parts: tuple[MessagePart, ...]
    call_id: str = ""
    """The id of the call that a tool result answers."""
    name: str = ""
    """The name of the author."""


FrameworkMessages = Sequence[FrameworkMessage | Sequence[FrameworkMessage]]
"""Messages of a framework; one that contains several, such as the results of several calls, is a list of them."""


class KeptPart(NamedTuple):
    """One part of a message after a fit; parts that were dropped have none."""

    at: int | None
    """The index of the part; `None` for a text that brim added."""
    text: str | None = None
    """The new text; `None` if the part is unchanged."""
    inside: tuple[KeptPart, ...] | None = None
    """What was kept of a message in a list; `None` if it is unchanged."""


class Translation(NamedTuple):
    """How a framework's messages are read and written."""

    read: Callable[[Sequence[Any]], FrameworkMessages]
    """Reads all messages of a request, one for one."""
    write: Callable[[Any, Sequence[KeptPart]], Any]
    """Returns a copy of a message that has only the kept parts."""
    say: Callable[[str], Any]
    """Returns a new message of the user."""


class _WireMessage(NamedTuple):
    """A message, and where the framework has it."""

    place: int
    """The index of the framework's message."""
    at: int | None
    """The index in its list, if it contains several."""
    message: FrameworkMessage


def format_for(model: str | None) -> Format:
    """Return the wire format of the model's provider: `openai` or `anthropic`."""
    return "anthropic" if model is not None and "claude" in model.casefold() else "openai"


def to_wire(messages: FrameworkMessages, format: Format) -> list[dict[str, Any]]:
    """Return messages in the wire format `openai` or `anthropic`, each with its position."""
    write = _anthropic if format == "anthropic" else _chat
    return [{**write(each.message), PLACE: at} for at, each in enumerate(_flat(messages))]


def from_wire(
    request: FittedRequest, messages: FrameworkMessages, originals: Sequence[Any], translation: Translation
) -> list[Any]:
    """Return the messages of a fitted request as messages of the framework; unchanged ones are the originals.

    Args:
        request: the fitted request made from `to_wire(messages, format)`.
        messages: the framework's messages, read into parts.
        originals: the framework's messages, one for each.
        translation: writes changed messages.
    """
    known = _flat(messages)

    def place_of(row: tuple[Mapping[str, Any], int | None]) -> int | None:
        return known[row[0][PLACE]].place if PLACE in row[0] else None

    out: list[Any] = []
    for place, group in groupby(zip(request.messages, request.places, strict=True), place_of):
        if place is None:
            out += [translation.say("\n\n".join(map(_text, _blocks(raw.get("content"))))) for raw, _ in group]
            continue
        kept: list[KeptPart] = []
        for raw, own in group:
            _, at, message = known[raw[PLACE]]
            whole = _whole(message.parts)
            parts = whole if own is not None else _kept(raw, message.parts)
            kept += parts if at is None else [KeptPart(at, inside=None if parts == whole else tuple(parts))]
        read = messages[place]
        unchanged = kept == _whole(read.parts if isinstance(read, FrameworkMessage) else read)
        out.append(originals[place] if unchanged else translation.write(originals[place], kept))
    return out


def write_parts(kept: Sequence[KeptPart], contents: Sequence[Any], write: Callable[[Any, KeptPart], Any]) -> list[Any]:
    """Return the kept parts of a message, unchanged ones as they are.

    Args:
        kept: what was kept.
        contents: the framework's parts, one for each that was read.
        write: returns a copy of a part with its new text; the part is `None` for a text that brim added.
    """
    return [
        write(None, each)
        if each.at is None
        else contents[each.at]
        if each.text is None and each.inside is None
        else write(contents[each.at], each)
        for each in kept
    ]


def joined_text(kept: Sequence[KeptPart], text: str) -> str:
    """Return the kept parts of a message with a single text as one text."""
    return "\n\n".join(text if each.text is None else each.text for each in kept)


def json_values(text: str) -> Any:
    """Return the values of a JSON text; the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _flat(messages: FrameworkMessages) -> list[_WireMessage]:
    """Return the messages of the wire format."""
    flat: list[_WireMessage] = []
    for place, read in enumerate(messages):
        if isinstance(read, FrameworkMessage) or not read:
            flat.append(_WireMessage(place, None, read or FrameworkMessage("user", ())))  # type: ignore[arg-type]
        else:
            flat += [_WireMessage(place, at, each) for at, each in enumerate(read)]
    return flat


def _whole(parts: Sequence[Any]) -> list[KeptPart]:
    return [KeptPart(at) for at in range(len(parts))]


def _chat(message: FrameworkMessage) -> dict[str, Any]:
    """Return a message of Chat Completions, where calls and thinking are not part of the content."""
    content: list[tuple[int, MessagePart]] = []
    thoughts: list[str] = []
    calls: list[Any] = []
    for at, part in enumerate(message.parts):
        if part.kind == "call":
            function = {"name": part.name, "arguments": part.text}
            calls.append({"id": part.id, "type": "function", "function": function})
        elif part.kind == "thinking":
            thoughts.append(part.text)
        else:
            content.append((at, part))
    raw: dict[str, Any] = {"role": message.role, "content": _content(content, _chat_block)}
    if message.name:
        raw["name"] = message.name
    if message.role == "tool":
        raw["tool_call_id"] = message.call_id
    if thoughts:
        raw["reasoning_content"] = "\n".join(thoughts)
    if calls:
        raw["tool_calls"] = calls
        raw["content"] = raw["content"] or None
    return raw


def _anthropic(message: FrameworkMessage) -> dict[str, Any]:
    """Return a message in Anthropic's format; a system prompt is counted anywhere."""
    parts = [*enumerate(message.parts)]
    if message.role != "tool":
        return {"role": message.role, "content": [{**_anthropic_block(part), _PART: at} for at, part in parts]}
    content = _content(parts, _anthropic_block)
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": message.call_id, "content": content}],
    }


def _content(
    parts: Sequence[tuple[int, MessagePart]], block: Callable[[MessagePart], dict[str, Any]]
) -> str | list[Any]:
    """Return the content of a message: a string if it is one text."""
    if not parts or (len(parts) == 1 and parts[0][1].kind == "text"):
        return parts[0][1].text if parts else ""
    return [{**block(part), _PART: at} for at, part in parts]


def _chat_block(part: MessagePart) -> dict[str, Any]:
    kind, text = part.kind, part.text
    if kind == "text":
        return {"type": "text", "text": text}
    if kind == "image":
        detail = {"detail": part.name} if part.name else {}
        return {"type": "image_url", "image_url": {"url": text, **detail}}
    if kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": text}}
    if kind == "file":
        return {"type": "file", "file": {"file_data": text}}
    return {"type": kind, "value": text}


def _anthropic_block(part: MessagePart) -> dict[str, Any]:
    kind, text = part.kind, part.text
    if kind == "text":
        return {"type": "text", "text": text}
    if kind == "thinking":
        sealed = part.name == "sealed"
        return {"type": "redacted_thinking", "data": text} if sealed else {"type": "thinking", "thinking": text}
    if kind == "call":
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": json_values(text)}
    if kind in ("image", "file"):
        return {"type": "image" if kind == "image" else "document", "source": {"type": "url", "url": text}}
    return {"type": kind, "value": text}


def _kept(raw: Mapping[str, Any], parts: Sequence[MessagePart]) -> list[KeptPart]:
    """Return the parts that are left in a message of the wire format."""
    texts: dict[int, str] = {}
    added: list[KeptPart] = []
    first = next((at for at, part in enumerate(parts) if part.kind == "text"), None)
    for block in _blocks(raw.get("content")):
        if isinstance(block, str) and first is not None:
            texts[first] = block
        elif not isinstance(block, str) and _PART in block:
            texts[block[_PART]] = _block_text(block, parts[block[_PART]])
        elif said := _text(block):
            added.append(KeptPart(None, said))
    calls = {call["id"]: call["function"]["arguments"] for call in raw.get("tool_calls") or ()}
    for at, part in enumerate(parts):
        if part.kind == "call" and part.id in calls:
            texts[at] = calls[part.id]
        elif part.kind == "thinking" and "reasoning_content" in raw:
            texts[at] = part.text
    return [KeptPart(at, None if text == parts[at].text else text) for at, text in sorted(texts.items())] + added


def _blocks(content: Any) -> list[Any]:
    """Return the blocks of a content, a string as one block; those of a result stand for it."""
    if content is None or isinstance(content, str):
        return [content or ""]
    return [
        each
        for block in content
        for each in (_blocks(block.get("content")) if block.get("type") == "tool_result" else [block])
    ]


def _text(block: Any) -> str:
    return block if isinstance(block, str) else str(block.get("text") or "")


def _block_text(block: Mapping[str, Any], part: MessagePart) -> str:
    """Return the text of a kept block."""
    if part.kind == "text":
        return _text(block)
    if part.kind != "call":
        return part.text
    values = block.get("input")
    return part.text if values == json_values(part.text) else json.dumps(values, ensure_ascii=False)


_CALLS = {"tool_use": "input", "tool_call": "args", "function_call": "arguments"}
"""Types of blocks that are tool calls, and the key of their arguments."""
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "reasoning_content")
_MEDIA = {"image": "image", "audio": "audio", "file": "file", "document": "file", "input_file": "file", "video": "file"}


def read_block(block: Any, calls: Mapping[str, Any]) -> MessagePart:
    """Return the part of one content block.

    Args:
        block: a text, or a block in the format of Chat Completions, Responses, Anthropic or LangChain.
        calls: the calls of the message by id, each with `name` and `args`; the block of an unknown call is counted as
            JSON.
    """
    if isinstance(block, str):
        return MessagePart("text", block)
    kind = str(block.get("type"))
    if isinstance(block.get("text"), str) and kind.endswith("text"):
        return MessagePart("text", block["text"])
    name = str(block.get("call_id") or block.get("id") or "")
    if kind in _CALLS and name in calls:
        return read_call(calls[name])
    if kind == "redacted_thinking":
        return MessagePart("thinking", str(block.get("data") or ""), name="sealed")
    if kind in _THOUGHTS:
        text = block.get("thinking") or block.get("reasoning")
        return MessagePart("thinking", text if isinstance(text, str) else json_text({**block, "type": ""}))
    if kind == "image_url":
        image = block.get("image_url")
        image = image if isinstance(image, Mapping) else {"url": image}
        return MessagePart("image", str(image.get("url") or ""), name=str(image.get("detail") or ""))
    if kind == "input_audio" and isinstance(block.get("input_audio"), dict):
        return MessagePart("audio", str(block["input_audio"].get("data") or ""))
    if kind in _MEDIA and (address := _address(block)):
        return MessagePart(_MEDIA[kind], address)
    return MessagePart("other", json_text(block))


def read_call(call: Mapping[str, Any]) -> MessagePart:
    """Return the part of a tool call with its `id`, `name` and `args`."""
    arguments = {} if call["args"] is None else call["args"]
    return MessagePart("call", json_text(arguments), call.get("id") or "", call["name"] or "")


def write_block(block: Any, kept: KeptPart) -> Any:
    """Return a copy of a block with its new text; a block without text is replaced by a text."""
    text = kept.text or ""
    if isinstance(block, str):
        return text
    if block is not None and isinstance(block.get("text"), str) and str(block.get("type")).endswith("text"):
        return {**block, "text": text}
    if block is not None and (key := _CALLS.get(block.get("type"))):
        return {**block, key: text if key == "arguments" else json.loads(text)}
    return {"type": "text", "text": text}


def json_text(value: Any) -> str:
    """Return a value as JSON; a string is returned as is, and other objects as their strings."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def data_uri(kind: str | None, data: bytes | None) -> str:
    """Return data as a data URI."""
    return f"data:{kind or 'application/octet-stream'};base64,{base64.b64encode(data or b'').decode()}"


def _address(block: dict[str, Any]) -> str:
    """Return the URL of media, or their data as a data URI."""
    inner = next((block[key] for key in ("source", "file") if isinstance(block.get(key), dict)), block)
    url = next((inner[key] for key in ("url", "file_url", "file_id") if isinstance(inner.get(key), str)), "")
    data = next((inner[key] for key in ("base64", "data", "file_data") if isinstance(inner.get(key), str)), "")
    kind = inner.get("mime_type") or inner.get("media_type") or "application/octet-stream"
    return data if data.startswith("data:") else f"data:{kind};base64,{data}" if data else url
