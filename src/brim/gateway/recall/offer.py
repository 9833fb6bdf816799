"""Which requests are offered the tool `brim_recall`, and where its definition stands in their bodies.

Offering it is safe only if every call of it can be answered before the client sees it. Two kinds of streams are passed
on as bytes: Amazon's binary frames, between which no comment may stand, and Gemini's JSON array. They are offered
nothing, nor are requests for several answers at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from brim.files.json_body import body_of
from brim.gateway.client.paths import is_stream_path
from brim.gateway.http.problem import BEDROCK, GEMINI
from brim.sessions.recall_tool import tool
from brim.wire import FORMATS
from brim.wire.base import MESSAGE_KEYS, place_of, value_at

_DECLARED = ("functionDeclarations",)
_ANSWERS = (("n",), ("generationConfig", "candidateCount"))
"""How many answers a request asks for."""
_PIECEMEAL = ("toolConfig", "functionCallingConfig", "streamFunctionCallArguments")
"""Whether the arguments of a call come in pieces, each without the name of the call."""


def is_offered(route: str, path: str, query: str, values: Mapping[str, Any]) -> bool:
    """Return whether the model of a request may be offered the tool."""
    if any((value_at(values, place) or 1) != 1 for place in _ANSWERS):
        return False
    if route == BEDROCK:
        return not is_stream_path(path)
    if route != GEMINI:
        return True
    if is_stream_path(path) and (("alt", "sse") not in parse_qsl(query) or value_at(values, _PIECEMEAL)):
        return False
    # Gemini refuses functions beside its own tools.
    tools = values.get("tools") or ()
    return not tools or any(isinstance(each, Mapping) and place_of(each, _DECLARED) for each in tools)


def offered(text: str, format: str) -> str:
    """Return the body of a request with the tool among its tools."""
    definition, body = tool(format), body_of(text, "the request", ("tools",))
    items = body.items or ()
    if format == "bedrock":
        return _inserted(text, FORMATS[format].tools_at, definition)
    for (start, stop), each in zip(body.spans, items, strict=True):
        place = place_of(each, _DECLARED) if format == "gemini" and isinstance(each, Mapping) else None
        if place is not None:  # Some of its servers take one list of functions only.
            (declared,) = definition[_DECLARED[0]]
            return text[:start] + _inserted(text[start:stop], place, declared) + text[stop:]
    return _inserted(text, ("tools",), definition)


def _inserted(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """Return the text of an object with a value at the start of the list at a path; the rest keeps its bytes."""
    key, *rest = map(str, path)
    body = body_of(text, "the request", MESSAGE_KEYS)
    at, found = body.starts.get(key), body.values.get(key)
    if at is None or found is None:
        made = json.dumps({rest[0]: [value]} if rest else [value])
        if at is not None:
            return text[:at] + made + text[at:].removeprefix("null")
        at = text.index("{") + 1
        return f'{text[:at]}"{key}":{made}{"," if body.values else ""}{text[at:]}'
    if rest:
        stop = json.JSONDecoder().raw_decode(text, at)[1]
        return text[:at] + _inserted(text[at:stop], tuple(rest), value) + text[stop:]
    return f"{text[: at + 1]}{json.dumps(value)}{',' if found else ''}{text[at + 1 :]}"
