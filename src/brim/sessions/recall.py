"""The tool by which a model brings back what left its prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brim.errors import DoesNotFit, UnknownName
from brim.meter.base import Scale
from brim.sessions.shelf import Shelf
from brim.truncate.text import cut
from brim.wire import wire

NAME = "brim_recall"
_TOLD = (
    "Bring back earlier text of this conversation that is no longer in the prompt. Give a handle such as b2:1f0c9a2e "
    "that stands in a summary or in the place of a result, or a query to search for."
)
_FIELDS = {
    "handle": "The handle of a text, or its start.",
    "query": "Words to search for in what left the prompt.",
}
_FOUND = 8
"""Texts that a search tells of."""


def tool(format: str) -> dict[str, Any]:
    """Return the definition of the tool in the shape of OpenAI chat, Responses or Anthropic.

    Raises:
        InvalidValue: there is no such shape.
    """
    properties = {name: {"type": "string", "description": told} for name, told in _FIELDS.items()}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    named = {"name": NAME, "description": _TOLD}
    if wire(format).name == "anthropic":
        return {**named, "input_schema": schema}
    body = {**named, "parameters": schema}
    return {"type": "function", **body} if format == "responses" else {"type": "function", "function": body}


def answered(arguments: object, shelf: Shelf, limit: int, meter: Scale) -> str:
    """Return what the tool answers, in at most `limit` units; what was asked wrongly is answered by a sentence."""
    asked = _read(arguments)
    handle, query = asked.get("handle"), asked.get("query")
    if isinstance(handle, str) and handle.strip():
        try:
            text = shelf.text(handle.strip())
        except UnknownName as error:
            text = f"{error}."
    elif isinstance(query, str) and query.strip():
        found = [f"{each.handle}: {each.excerpt}" for each in shelf.search(query, _FOUND)]
        text = "\n".join(found) or "Nothing that left the prompt has these words."
    else:
        text = 'Give {"handle": "b2:..."} or {"query": "words"}.'
    if meter.count(text) <= limit:
        return text
    try:
        return cut(text, limit, meter, keep="shape").text
    except DoesNotFit:
        return meter.head(text, limit)


def _read(arguments: object) -> Mapping[str, Any]:
    """Return the arguments of a call, as JSON text or as values; what is neither has none."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {}
    return arguments if isinstance(arguments, Mapping) else {}
