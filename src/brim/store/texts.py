"""The texts of a log entry; their hashes and words are indexed, so that the entry can be found.

They are all derived from the entry's body, so the index adds no information to the log.
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
"""The kind of entries that name dropped texts: `{"turns": {handle: [numbers of its messages]}}`, and `results`, the
handles of messages with a result that was shortened when it was added. Handles have `SHOWN` characters here."""
HANDLE = "b2:"
SHOWN = 11
"""Characters of a handle that are indexed, and shown in prompts."""
SHORTEST = 8
"""Characters of a handle that a lookup needs."""


def handle_of(text: str) -> str:
    """Return the handle of a text: its hash."""
    return HANDLE + text_digest(text)


def turn_text(messages: Sequence[Any]) -> str:
    """Return the messages of a turn as JSON; its hash is the handle in receipts."""
    return json.dumps(messages, ensure_ascii=True, separators=(",", ":"), default=str)


def sent_message(body: Body) -> Any:
    """Return a logged message as in prompts: shortened if a result was over the limit."""
    return body.get("sent", body.get("message", body))


def said(kind: str, body: Body) -> str:
    """Return the text of an entry for search and display; empty if it has none."""
    if kind == "text":
        return str(body.get("text", ""))
    raws = [body.get("message", body)] if kind == "message" else body.get("messages", ()) if kind == "turn" else ()
    return "\n\n".join(texts[0] for texts in map(_message_texts, raws) if texts)


def entry_handle(kind: str, body: Body) -> str:
    """Return the handle of a whole entry; a turn is the JSON of its messages."""
    return handle_of(turn_text(body.get("messages", ())) if kind == "turn" else said(kind, body))


def texts_of(kind: str, body: Body) -> Iterator[str]:
    """Yield the texts of an entry that have handles; the texts of dropped turns are in other entries."""
    if kind == "text":
        yield str(body.get("text", ""))
    elif kind == "message":
        yield from _message_texts(body.get("message", body))
    elif kind == "turn":
        for raw in body.get("messages", ()):
            yield from _message_texts(raw)
        yield turn_text(body.get("messages", ()))


def handles_of(kind: str, body: Body) -> set[str]:
    """Return the handles of an entry, as shown in prompts."""
    if kind == DROPPED:
        return {name[:SHOWN] for name in body.get("turns", {}) if name.startswith(HANDLE)}
    return {handle_of(text)[:SHOWN] for text in texts_of(kind, body) if text}


def index_words(kind: str, body: Body) -> list[str]:
    """Return the handles and words to index for an entry; a database may omit the last ones if there are too many."""
    return [*sorted(handles_of(kind, body)), *text_words(said(kind, body))]


def best_hits(entries: Iterable[LogEntry], rarity: Mapping[str, float], limit: int) -> list[SearchHit]:
    """Return the entries that match best, the last of those with the same text; `rarity` has the weights of words."""
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
    """Return the whole text of a message, then the text of each result, and of each part of a result."""
    try:
        message = wire(format_of([raw]) or "openai").read(raw, 0)
    except BrimError:  # An unknown format: take all strings.
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
