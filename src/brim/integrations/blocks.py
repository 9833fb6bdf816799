"""Messages of blocks, results of several calls among them, as a fit reads them, and what is left of each block.

Frameworks that speak as Bedrock or Gemini do put the results of all calls of a turn into one message of the user. Here
every message is written as one of Anthropic, whose rules hold for them too; each block carries its place, so that what
was cut is found again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brim.integrations.parts import MessagePart, block_of, values_of
from brim.wire.base import json_of


class Result(NamedTuple):
    """What a tool returned."""

    answers: str
    """The call that it answers."""
    parts: tuple[MessagePart, ...]


class BlockMessage(NamedTuple):
    """One message of a framework."""

    role: str
    """`user` or `assistant`."""
    blocks: tuple[MessagePart | Result, ...]


class RemainingBlock(NamedTuple):
    """What is left of one block of a message, or of one part of a result."""

    at: int | None
    """Which of the message's blocks it is; `None` for a text that brim has added."""
    text: str | None = None
    """What it says now; `None` where it is as it was."""
    inside: tuple[RemainingBlock, ...] | None = None
    """What is left of a result; `None` where it is as it was, or no result."""


def blocks_wired(spoken: Sequence[BlockMessage]) -> list[dict[str, Any]]:
    """Return messages in the shape of Anthropic, each with its place."""
    return [
        {"role": each.role, "content": [_block(block, at) for at, block in enumerate(each.blocks)], "place": place}
        for place, each in enumerate(spoken)
    ]


def remains(raw: Mapping[str, Any], spoken: Sequence[BlockMessage]) -> tuple[int | None, list[RemainingBlock]]:
    """Return which message brim has changed, none where it speaks itself, and what is left of its blocks."""
    place = raw.get("place")
    blocks = spoken[place].blocks if place is not None else ()
    content = raw.get("content")
    if isinstance(content, str):
        return place, [RemainingBlock(None, content)]
    return place, [_left(block, blocks) for block in content or ()]


def _block(block: MessagePart | Result, at: int) -> dict[str, Any]:
    if isinstance(block, MessagePart):
        return block_of(block, at)
    inside = [block_of(part, i) for i, part in enumerate(block.parts)]
    return {"type": "tool_result", "tool_use_id": block.answers, "content": inside, "part": at}


def _left(raw: Mapping[str, Any], blocks: Sequence[MessagePart | Result]) -> RemainingBlock:
    at = raw.get("part")
    if at is None:
        return RemainingBlock(None, str(raw.get("text") or ""))
    block = blocks[at]
    if isinstance(block, MessagePart):
        return RemainingBlock(at, _said(raw, block))
    content = raw.get("content")
    inside = (
        [RemainingBlock(None, content)]
        if isinstance(content, str)
        else [_left(each, block.parts) for each in content or ()]
    )
    return (
        RemainingBlock(at)
        if inside == [RemainingBlock(i) for i in range(len(block.parts))]
        else RemainingBlock(at, None, tuple(inside))
    )


def _said(raw: Mapping[str, Any], part: MessagePart) -> str | None:
    """Return what a block says now; nothing where that is what it said."""
    if part.kind == "text":
        return None if raw.get("text") == part.text else str(raw.get("text") or "")
    if part.kind == "call":
        values = raw.get("input")
        return None if values == values_of(part.text) else json_of(values, "input")
    return None
