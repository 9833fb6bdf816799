"""What an entry says: the texts by whose hashes and words it is found.

Everything here follows from the body of the entry, so the index holds nothing that the log does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from brim.errors import BrimError
from brim.files.text_digest import text_digest
from brim.store.base import Body, LogEntry, SearchHit
from brim.store.words import excerpt, ranked, text_words
from brim.wire import format_of, wire

INDEXED = ("message", "turn", "text")
"""The kinds of entries that a search finds."""
DROPPED = "dropped"
"""The kind of entries that say what left the prompt: `{"turns": {handle: [numbers of its messages]}}`, and `results`,
the handles of messages with a result that was shortened when it came. Handles have `SHOWN` characters here."""
HANDLE = "b2:"
SHOWN = 11
"""Characters of a handle that are indexed; prompts show as many."""
SHORTEST = 8
"""Characters by which a handle is found."""


def handle_of(text: str) -> str:
    """Return the handle of a text: its hash."""
    return HANDLE + text_digest(text)


def turn_text(messages: Sequence[Any]) -> str:
    """Return the messages of a turn as the JSON whose hash a receipt names."""
    return json.dumps(messages, ensure_ascii=True, separators=(",", ":"), default=str)


def sent_message(body: Body) -> Any:
    """Return a message of the log as prompts have it: shorter than it came, if a result was over its limit."""
    return body.get("sent", body.get("message", body))


def said(kind: str, body: Body) -> str:
    """Return what an entry says, for a search and for people; empty if it says nothing."""
    if kind == "text":
        return str(body.get("text", ""))
    raws = [body.get("message", body)] if kind == "message" else body.get("messages", ()) if kind == "turn" else ()
    return "\n\n".join(texts[0] for texts in map(_message_texts, raws) if texts)


def entry_handle(kind: str, body: Body) -> str:
    """Return the handle by which an entry is recalled as a whole: a turn as the JSON of its messages."""
    return handle_of(turn_text(body.get("messages", ())) if kind == "turn" else said(kind, body))


def texts_of(kind: str, body: Body) -> Iterator[str]:
    """Yield the texts of an entry that have handles; those of dropped turns stand in other entries."""
    if kind == "text":
        yield str(body.get("text", ""))
    elif kind == "message":
        yield from _message_texts(body.get("message", body))
    elif kind == "turn":
        for raw in body.get("messages", ()):
            yield from _message_texts(raw)
        yield turn_text(body.get("messages", ()))


def handles_of(kind: str, body: Body) -> set[str]:
    """Return the handles by which an entry is found, as prompts show them."""
    if kind == DROPPED:
        return {name[:SHOWN] for name in body.get("turns", {}) if name.startswith(HANDLE)}
    return {handle_of(text)[:SHOWN] for text in texts_of(kind, body) if text}


def index_words(kind: str, body: Body) -> list[str]:
    """Return the handles and the words by which an entry is found; of too many, a database leaves out the last."""
    return [*sorted(handles_of(kind, body)), *text_words(said(kind, body))]


def best_hits(entries: Iterable[LogEntry], rarity: Mapping[str, float], limit: int) -> list[SearchHit]:
    """Return the entries that match words best; of several with the same text, the last. `rarity` weighs the words."""
    texts = [(entry, said(entry.kind, entry.body)) for entry in entries]
    ranks = ranked([text for _, text in texts], rarity)
    best = {
        name: (rank, name, entry, text)
        for (entry, text), rank in zip(texts, ranks, strict=True)
        if rank > 0 and (name := entry_handle(entry.kind, entry.body))
    }
    return [
        SearchHit(name, entry.session, entry.number, entry.kind, excerpt(text, [*rarity]), rank)
        for rank, name, entry, text in sorted(best.values(), key=lambda hit: (-hit[0], hit[1]))[:limit]
    ]


def _message_texts(raw: Any) -> list[str]:
    """Return what a message says as a whole, then the text of each of its results, and of each part of these."""
    try:
        message = wire(format_of([raw]) or "openai").read(raw, 0)
    except BrimError:  # Not a message that brim knows: whatever texts it has.
        return ["\n".join(_strings(raw))]
    outputs = message.outputs()
    parts = [text for texts in outputs if len(texts) > 1 for text in texts]
    return [message.text(), *("\n".join(texts) for texts in outputs), *parts]


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in JSON values."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += reversed([*value.values()])
        elif isinstance(value, list | tuple):
            waiting += reversed(value)
