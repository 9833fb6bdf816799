"""The messages of a framework as a fit reads them, and what was cut of them back into the framework's own.

A framework says what each of its messages is made of. Written as a message of Chat Completions or of Anthropic, it
carries the place of the original and of each part, which providers never see: whatever brim cuts, clears or sums up
later, the original is found again and keeps everything that was not cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from brim.sessions.request import FittedRequest

T = TypeVar("T")

_PLACE, _PART = "place", "part"
"""Where a message and a part of it carry which of the caller's they are; neither is counted."""
_APART = ("call", "thinking")
"""Kinds that Chat Completions has beside the content."""


class MessagePart(NamedTuple):
    """One part of a message."""

    kind: str
    """`text`, `thinking`, `call`, `image`, `audio` or `file`; `other` for what is counted and nothing else."""
    text: str = ""
    """What it says: a text, the arguments of a call as JSON, the address or the data of media, any other's JSON."""
    id: str = ""
    """What joins a call to its result."""
    name: str = ""
    """What is called; the detail of an image; `sealed` for thinking that only its maker can read."""


class Spoken(NamedTuple):
    """One message of a framework."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    parts: tuple[MessagePart, ...]
    answers: str = ""
    """The call that it answers, where it is the result of a tool."""
    name: str = ""
    """Who it is from, beyond the role."""


Change = Callable[[T, Sequence[str | None]], T]
"""Makes a copy of a message in which each part says what it is told to, and is left out where that is nothing.

A part that is no text and is told another one than its own becomes a text.
"""


def format_for(model: str | None) -> str:
    """Return the shape to fit the messages of a framework in: the one whose rules the model's provider has."""
    return "anthropic" if model is not None and "claude" in model.casefold() else "openai"


def wired(spoken: Sequence[Spoken], format: str) -> list[Any]:
    """Return messages in the shape of `openai` or `anthropic`, each with its place."""
    write = _anthropic if format == "anthropic" else _chat
    return [write(each, place) for place, each in enumerate(spoken)]


def unwired(
    request: FittedRequest, spoken: Sequence[Spoken], given: Sequence[T], change: Change[T], say: Callable[[str], T]
) -> list[T]:
    """Return what a request sends in the framework's own messages; those that were not changed are the caller's own.

    Args:
        request: what came of the messages that `wired` made.
        spoken: what the framework's messages were said to be.
        given: the framework's messages, one for each.
        change: makes a copy of one with other texts.
        say: makes a message of the user with what brim has to say: a summary, a note.
    """
    out: list[T] = []
    for raw, place in zip(request.messages, request.places, strict=True):
        if place is not None:
            out.append(given[place])
            continue
        of = raw.get(_PLACE)
        texts, said = _left(raw, spoken[of].parts if of is not None else ())
        if of is not None:
            out.append(change(given[of], texts))
        out += map(say, said)
    return out


def _chat(spoken: Spoken, place: int) -> dict[str, Any]:
    """Return a message of Chat Completions."""
    raw: dict[str, Any] = {"role": spoken.role, "content": "", _PLACE: place}
    content: list[tuple[int, MessagePart]] = []
    thoughts: list[str] = []
    calls: list[Any] = []
    for i, part in enumerate(spoken.parts):
        if part.kind == "call":
            said = {"name": part.name, "arguments": part.text}
            calls.append({"id": part.id, "type": "function", "function": said})
        elif part.kind == "thinking":
            thoughts.append(part.text)
        else:
            content.append((i, part))
    raw["content"] = _content(content, _chat_block)
    if spoken.name:
        raw["name"] = spoken.name
    if spoken.role == "tool":
        raw["tool_call_id"] = spoken.answers
    if thoughts:
        raw["reasoning_content"] = "\n".join(thoughts)
    if calls:
        raw["tool_calls"] = calls
        raw["content"] = raw["content"] or None
    return raw


def _anthropic(spoken: Spoken, place: int) -> dict[str, Any]:
    """Return a message of Anthropic; a system prompt is counted wherever it stands."""
    parts = [*enumerate(spoken.parts)]
    if spoken.role == "tool":
        result = {"type": "tool_result", "tool_use_id": spoken.answers, "content": _content(parts, block_of)}
        return {"role": "user", "content": [result], _PLACE: place}
    return {"role": spoken.role, "content": [block_of(part, i) for i, part in parts], _PLACE: place}


def _content(parts: Sequence[tuple[int, MessagePart]], block: Callable[[MessagePart, int], dict[str, Any]]) -> Any:
    """Return the content of a message: a text where it is one."""
    if not parts:
        return ""
    first = parts[0][1]
    return first.text if len(parts) == 1 and first.kind == "text" else [block(part, i) for i, part in parts]


def _chat_block(part: MessagePart, at: int) -> dict[str, Any]:
    kind, text = part.kind, part.text
    if kind == "text":
        return {"type": "text", "text": text, _PART: at}
    if kind == "image":
        detail = {"detail": part.name} if part.name else {}
        return {"type": "image_url", "image_url": {"url": text, **detail}, _PART: at}
    if kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": text}, _PART: at}
    if kind == "file":
        return {"type": "file", "file": {"file_data": text}, _PART: at}
    return {"type": kind, "value": text, _PART: at}


def block_of(part: MessagePart, at: int) -> dict[str, Any]:
    """Return a block of Anthropic."""
    kind, text = part.kind, part.text
    if kind == "text":
        return {"type": "text", "text": text, _PART: at}
    if kind == "thinking":
        sealed = part.name == "sealed"
        said = {"type": "redacted_thinking", "data": text} if sealed else {"type": "thinking", "thinking": text}
        return {**said, _PART: at}
    if kind == "call":
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": values_of(text), _PART: at}
    if kind in ("image", "file"):
        kind = "image" if kind == "image" else "document"
        return {"type": kind, "source": {"type": "url", "url": text}, _PART: at}
    return {"type": kind, "value": text, _PART: at}


def values_of(text: str) -> Any:
    """Return the arguments of a call as values; as the text where they are no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _left(raw: Mapping[str, Any], parts: Sequence[MessagePart]) -> tuple[list[str | None], list[str]]:
    """Return what each part of a message says after a fit, nothing where it went, and what brim has added."""
    texts: list[str | None] = [None] * len(parts)
    said: list[str] = []
    content = raw.get("content")
    blocks = content if isinstance(content, list) else []
    if blocks and blocks[0].get("type") == "tool_result":
        content, blocks = blocks[0].get("content"), blocks[1:]
        blocks = [*content, *blocks] if isinstance(content, list) else blocks
    if isinstance(content, str):
        _whole(content, parts, texts, said)
    for block in blocks:
        at = block.get(_PART)
        if at is None:
            said.append(str(block.get("text") or ""))
        else:
            texts[at] = _said(block, parts[at])
    calls = {call["id"]: call["function"]["arguments"] for call in raw.get("tool_calls") or ()}
    for at, part in enumerate(parts):
        if part.kind == "call" and part.id in calls:
            texts[at] = calls[part.id]
        elif part.kind == "thinking" and "reasoning_content" in raw:
            texts[at] = part.text
    return texts, said


def _whole(content: str, parts: Sequence[MessagePart], texts: list[str | None], said: list[str]) -> None:
    """Put a text in the place of all the content of a message: what it said itself, or what stands for it now."""
    own = [i for i, part in enumerate(parts) if part.kind not in _APART]
    if own:
        texts[next((i for i in own if parts[i].kind == "text"), own[0])] = content
    elif content:
        said.append(content)


def _said(block: Mapping[str, Any], part: MessagePart) -> str:
    """Return what a block says that is still there."""
    if part.kind == "text":
        return str(block.get("text"))
    if part.kind != "call":
        return part.text
    values = block.get("input")
    return part.text if values == values_of(part.text) else json.dumps(values, ensure_ascii=False)
