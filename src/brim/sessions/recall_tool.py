"""Recalling texts that were dropped from a prompt: by handle, by a search, or by the model with a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brim.errors import StoreError, UnknownName
from brim.meter.base import BaseMeter
from brim.sessions.log.dropped_texts import DroppedTexts
from brim.sessions.settings import SessionSettings
from brim.store import SearchHit
from brim.truncate import shortened
from brim.wire import wire

NAME = "brim_recall"
_DESCRIPTION = (
    "Bring back earlier text of this conversation that is no longer in the prompt. Pass a handle such as b2:1f0c9a2e "
    "that is shown in a summary or in place of a result, or a query to search for."
)
_FIELDS = {
    "handle": "The handle of a text, or its start.",
    "query": "Words to search for in what was dropped from the prompt.",
}
_MOST_FOUND = 8
"""Texts that a search returns."""


def tool(format: str) -> dict[str, Any]:
    """Return the definition of the tool in a format.

    Raises:
        InvalidValue: there is no such format.
    """
    properties = {name: {"type": "string", "description": text} for name, text in _FIELDS.items()}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    named = {"name": NAME, "description": _DESCRIPTION}
    if wire(format).name == "anthropic":
        return {**named, "input_schema": schema}
    if format == "gemini":
        return {"functionDeclarations": [{**named, "parametersJsonSchema": schema}]}
    if format == "bedrock":
        return {"toolSpec": {**named, "inputSchema": {"json": schema}}}
    body = {**named, "parameters": schema}
    return {"type": "function", **body} if format == "responses" else {"type": "function", "function": body}


class Recall:
    """Recalls the dropped texts of a session."""

    dropped: DroppedTexts
    """The texts that were dropped from its prompts."""

    @property
    def settings(self) -> SessionSettings:
        """The settings by which it stays within its window."""
        raise NotImplementedError

    @property
    def meter(self) -> BaseMeter:
        """The meter."""
        raise NotImplementedError

    @property
    def format(self) -> str:
        """The format of its messages."""
        raise NotImplementedError

    def recall(self, handle: str) -> str:
        """Return a dropped text by its handle, or the start of it; for a turn, a transcript of its messages.

        Raises:
            UnknownName: no such text was dropped from this session.
        """
        return self.dropped.text(handle)

    def search(self, query: str, limit: int = 20) -> list[SearchHit]:
        """Return the dropped texts that share words with a query, the best first."""
        return self.dropped.search(query, limit)

    def recall_tool(self, format: str | None = None) -> dict[str, Any]:
        """Return the definition of the tool by which a model recalls dropped texts."""
        return tool(format or self.format)

    def answer_recall(self, arguments: Any, budget: int | None = None) -> str:
        """Return the result of a call of the recall tool, in at most `budget` tokens."""
        limit = (self.settings.longest_result or self.settings.budget) if budget is None else budget
        return answered(arguments, self.dropped, limit, self.meter)


def answered(arguments: object, texts: DroppedTexts, limit: int, meter: BaseMeter) -> str:
    """Return the result of a call, in at most `limit` tokens; for invalid arguments, it is an explanation."""
    try:
        found = _found(_read(arguments), texts)
    except UnknownName as error:
        found = [f"{error}."]
    except StoreError:
        found = ["Dropped texts cannot be read right now: call again."]
    while len(found) > 1 and meter.count("\n".join(found)) > limit:
        found.pop()
    text = "\n".join(found)
    return text if meter.count(text) <= limit else shortened(text, limit, meter, "shape")


def _found(given: Mapping[str, Any], texts: DroppedTexts) -> list[str]:
    """Return the text of a handle, or a line for each text that a query finds, the best first."""
    handle, query = given.get("handle"), given.get("query")
    if isinstance(handle, str) and handle.strip():
        return [texts.text(handle.strip())]
    if isinstance(query, str) and query.strip():
        found = [f"{each.handle}: {each.excerpt}" for each in texts.search(query, _MOST_FOUND)]
        return found or ["No dropped text contains these words."]
    return ['Give {"handle": "b2:..."} or {"query": "words"}.']


def _read(arguments: object) -> Mapping[str, Any]:
    """Return the arguments of a call from JSON text or values; empty if they are neither."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {}
    return arguments if isinstance(arguments, Mapping) else {}
