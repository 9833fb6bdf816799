"""The sections that a rule adds to system prompts, under one budget with the messages and the tools.

`fit_request` chooses them; the messages are then cut to the remaining budget, so a conversation keeps its cut. The text
is appended to the client's system prompt, which is not changed otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from brim.errors import DoesNotFit, SourceError
from brim.files.json_body import body_of
from brim.gateway.http.problem import HttpProblem
from brim.meter.base import BaseMeter
from brim.receipts.receipt import Part
from brim.requests.fit import fit_request
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.recall_tool import tool
from brim.settings.spec import Spec, read_spec
from brim.wire import FORMATS, Wire
from brim.wire.base import MESSAGE_KEYS, place_of
from brim.wire.values import plain

_TAKEN = ("separator", "fill", "policy", "sections", "messages")
_PLACE = "the request"

Count = Callable[[RequestInput], int]
"""Returns the tokens of a request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedSections:
    """The sections of one prompt."""

    text: str
    """Their text; empty if all were dropped."""
    tokens: int
    """Tokens that they add to the request."""
    parts: tuple[Part, ...] = ()
    """The part of each section in the receipt; none if all are whole."""


def read_sections(path: str) -> Spec:
    """Return the sections of a file.

    Raises:
        SourceError: the file cannot be read, or has a key that a gateway does not support.
    """
    spec = read_spec(path)
    for key in spec.source.at():
        if key not in _TAKEN:
            raise spec.source.error(f"{key} is not supported in the sections of a gateway", key)
    for at, row in enumerate(spec.source.at("sections")):
        if row.get("page", "system") != "system":
            raise spec.source.error("a gateway adds sections only to the system prompt", "sections", at, "page")
    return spec


def whole(spec: Spec, given: RequestInput, count: Count) -> AddedSections:
    """Return all sections whole."""
    texts = [section.text for section in spec.sections() if section.enabled]
    text = spec.settings().value("prompt.separator").join([text for text in texts if text])
    return AddedSections(text=text, tokens=_tokens(text, given, count))


def shared(spec: Spec, given: RequestInput, budget: int, scale: BaseMeter, count: Count) -> AddedSections:
    """Return the sections that share a budget with the messages and the tools of a request.

    Raises:
        DoesNotFit: the parts that must stay are too long.
    """
    format = given.format or "openai"
    apart = count(given) - count(replace(given, system=None)) if given.system else 0
    sections = spec.sections()
    terms = {"budget": max(0, budget - apart), "meter": scale, "format": format}
    tools = [*(given.tools or ()), tool(format)] if given.recall else given.tools
    taken = (FORMATS[format].model_key, "model")
    fields = {key: value for key, value in (given.fields or {}).items() if key not in taken}
    try:
        made = fit_request(
            system=sections,
            messages=given.messages,
            tools=tools,
            fields=fields,
            **spec.settings().request_options(terms),
        )
    except DoesNotFit as error:
        error.needed, error.available = error.needed + apart, error.available + apart
        raise
    parts = tuple(made.receipt.parts[: len(sections)])
    return AddedSections(text=made.system, tokens=_tokens(made.system, given, count), parts=parts)


def recounted(added: AddedSections, given: RequestInput, count: Count) -> AddedSections:
    """Return the sections of an earlier request, counted again with the system prompt and tools of this one."""
    return replace(added, tokens=_tokens(added.text, given, count))


def inserted(text: str, format: str, added: str) -> str:
    """Return the body of a request with a text added to its system prompt; all other bytes stay the same.

    Raises:
        HttpProblem: the body can be read in two ways.
    """
    if not added:
        return text
    wire = FORMATS[format]
    try:
        body = body_of(text, _PLACE, MESSAGE_KEYS)
    except SourceError as error:
        raise HttpProblem(400, f"{error}; sections cannot be added to its body") from error
    if not wire.system_key:
        messages = _continued(wire, body.items or (), added)
        first = len(messages) - len(body.spans)
        return body.with_items([json.dumps(messages[0]), *body.spans[1 - first :]])
    place = place_of(body.values, (wire.system_key,))
    if place is None:
        at = text.index("{") + 1
        return f'{text[:at]}"{wire.system_key}":{json.dumps(_prompt(wire, None, added))},{text[at:]}'
    at = body.starts[str(place[0])]
    value, stop = json.JSONDecoder().raw_decode(text, at)
    return text[:at] + json.dumps(_prompt(wire, value, added)) + text[stop:]


def _tokens(text: str, given: RequestInput, count: Count) -> int:
    """Return the tokens that a text adds to a request; they depend only on the first message and the tools."""
    if not text:
        return 0
    wire = FORMATS[given.format or "openai"]
    bare = replace(given, messages=given.messages[:1], extra=0)
    if not wire.system_key:
        return count(replace(bare, messages=_continued(wire, bare.messages, text))) - count(bare)
    return count(replace(bare, system=_prompt(wire, given.system, text))) - count(bare)


def _continued(wire: Wire, messages: Sequence[Any], text: str) -> list[Any]:
    """Return messages in which a text is added to the system prompt, the first message."""
    first = plain(messages[0]) if messages else None
    if isinstance(first, dict) and first.get("role") in ("system", "developer"):
        return [wire.append(first, text), *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def _prompt(wire: Wire, system: Any, text: str) -> Any:
    """Return a separate system prompt with a text added at its end."""
    if not system:
        return wire.prompt(text)
    if isinstance(system, str):
        return f"{system}\n\n{text}"
    if isinstance(system, list):
        key = "parts" if wire.name == "gemini" else "content"
        return wire.append({"role": "user", key: system}, text)[key]
    return wire.append(system, text)


class HeldChoice(NamedTuple):
    """The sections of the newest prompt of a conversation."""

    added: AddedSections
    size: int
    """Tokens of the request as it was received."""
    used: int
    """Tokens of what was sent."""
    target: int
    """The budget to which it was cut."""

    def holds(self, size: int, target: int, fits: int) -> bool:
        """Return whether a later, longer request of the conversation fits with the same sections."""
        return self.target == target and self.size <= size <= self.size + fits - self.used
