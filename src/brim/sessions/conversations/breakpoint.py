"""Adds a cache breakpoint at the end of the part that a cut leaves unchanged.

Anthropic stores a prompt where the client marks it, and looks it up at each mark and up to 20 blocks before. Clients
mark the newest message, so after a cut, only the system prompt would be found. brim marks the last message that the
cut before left as it was: the next cut leaves about as many, and finds them stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from brim.history.note import is_written
from brim.sessions.conversations.identity import bare
from brim.sessions.learning.request_input import RequestInput

_MARK = "cache_control"
_MOST = 4
"""Marks that a request may have."""
_MARKED = ("text", "tool_use", "tool_result", "image", "document")
"""Blocks that may have a mark; thinking may not."""


def breakpoint_at(
    request: RequestInput, messages: Sequence[Any], places: Sequence[int | None], settled: int
) -> tuple[int, Any] | None:
    """Return the index of the message to mark, and the message with its mark; `None` if no mark is due or allowed.

    Args:
        request: the request.
        messages: what is sent for it.
        places: their indexes among the messages of the request.
        settled: how many of them the cut before left unchanged.
    """
    if request.format != "anthropic":
        return None
    whole = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], enumerate(places)))
    at = max(settled, whole, 1) - 1
    # The engine's copy of a message has the mark of the request with which it came.
    sent = [raw if place is None else request.messages[place] for raw, place in zip(messages, places, strict=True)]
    after = [*_message_marks(sent[at + 1 :]), *_marks([request.fields])]
    before = [*_marks(request.tools), *_marks(request.system), *_message_marks(sent[:at])]
    if not after or len(before) + len(after) >= _MOST or any(_message_marks(sent[at : at + 1])):
        return None
    # With the lifetime of the next mark: longer lifetimes must come first.
    message = _with_mark(bare(messages[at]), after[0])
    return None if message is None else (at, message)


def _with_mark(message: Any, mark: Any) -> dict[str, Any] | None:
    """Return a copy of a message with a mark on its last block before a note, or `None` if none is allowed there."""
    content = message.get("content") if isinstance(message, Mapping) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _listed(content)
    end = len(blocks) - 1
    if end > 0 and is_written(_text(blocks[end])):  # The next cut writes another one.
        end -= 1
    last = blocks[end] if blocks else None
    if not isinstance(last, Mapping) or last.get("type") not in _MARKED or not _text(last):
        return None
    return {**message, "content": [*blocks[:end], {**last, _MARK: mark}, *blocks[end + 1 :]]}


def _message_marks(messages: Iterable[Any]) -> Iterator[Any]:
    """Yield the marks in the contents of messages, and in the results there."""
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        yield from _marks(content)
        if isinstance(content, list):
            results = (block for block in content if isinstance(block, Mapping) and "tool_use_id" in block)
            yield from _message_marks(results)


def _marks(blocks: Any) -> list[Any]:
    """Return the marks of blocks; a string has none."""
    return [block[_MARK] for block in _listed(blocks) if isinstance(block, Mapping) and block.get(_MARK)]


def _listed(blocks: Any) -> list[Any]:
    return [*blocks] if isinstance(blocks, list | tuple) else []


def _text(block: Any) -> str:
    """Return the text of a block; a placeholder if it has none."""
    text = block.get("text", "…") if isinstance(block, Mapping) else block
    return text if isinstance(text, str) else ""
