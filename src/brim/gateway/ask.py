"""What a request says, as far as the gateway has to know: its messages, its model, how long the answer may be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from brim.errors import SourceError
from brim.files.depth import MOST_DEPTH, is_deep
from brim.files.json_body import JsonBody, body_of
from brim.gateway.problems import CHAT, MESSAGES, RESPONSES, Problem
from brim.history.request_body import ANSWERS, LISTS, RequestBody, request_of
from brim.wire.held import is_held

FORMATS = {CHAT: "openai", RESPONSES: "responses", MESSAGES: "anthropic"}
"""The shape of the messages of each route."""
_PLACE = "the request"
_TEXTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


@dataclass(kw_only=True)
class ClientRequest:
    """One request."""

    route: str
    raw: bytes = field(repr=False)
    """The body as it came, decoded."""
    text: str = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    request: RequestBody | None = field(repr=False)
    """What it asks; nothing where that cannot be read, and so has to be left as it is."""
    problem: str = ""
    """Why it cannot be read."""

    @property
    def format(self) -> str:
        """The shape of its messages."""
        return FORMATS[self.route]

    @property
    def model(self) -> str:
        """The model that it names; nothing where it names none."""
        named = self.values.get("model")
        return named if isinstance(named, str) else ""

    @property
    def streams(self) -> bool:
        """Whether the answer is to come in pieces."""
        return self.values.get("stream") is True

    @property
    def answer(self) -> int | None:
        """Tokens that the answer may take; `None` where it does not say."""
        asked = [value for key in ANSWERS if type(value := self.values.get(key)) is int and value > 0]
        return max(asked, default=None)

    @property
    def partial(self) -> bool:
        """Whether some of the conversation is with the provider, where nobody else sees it."""
        return is_held(self.values)

    @cached_property
    def strict(self) -> RequestBody:
        """The request with the places of its messages.

        Raises:
            Problem: it can be read in two ways, so that it cannot be shortened.
        """
        try:
            return request_of(body_of(self.text, _PLACE, LISTS))
        except SourceError as error:
            raise Problem(
                400, f"{error}; a request that is too long has to be shortened, and this cannot be"
            ) from error


def read(route: str, raw: bytes, most_values: int) -> ClientRequest:
    """Return what a body says.

    Raises:
        Problem: it is no JSON object, is nested too deep, or has too many values.
    """
    _bounded(raw, most_values)
    try:
        text = raw.decode()
        values = json.loads(text)
        if raw.count(b"[") + raw.count(b"{") > MOST_DEPTH and is_deep(values):
            raise RecursionError
    except RecursionError:
        raise Problem(400, f"the body is nested more than {MOST_DEPTH} levels deep") from None
    except json.JSONDecodeError as error:
        raise Problem(400, f"the body is not JSON: {error.msg} at line {error.lineno}") from None
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8: byte {error.start:,} cannot be read") from None
    except ValueError as error:
        raise Problem(400, f"the body is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise Problem(400, "the body must be a JSON object")
    try:
        request = request_of(_light(text, values))
    except SourceError as error:
        return ClientRequest(route=route, raw=raw, text=text, values=values, request=None, problem=error.problem)
    return ClientRequest(route=route, raw=raw, text=text, values=values, request=request)


def _light(text: str, values: Mapping[str, Any]) -> JsonBody:
    """Return a body without the places of its messages, which are looked for only where something is changed."""
    items = next((value for key in LISTS if isinstance(value := values.get(key), list)), None)
    return JsonBody(path=_PLACE, text=text, values=values, items=items)


def _bounded(raw: bytes, most: int) -> None:
    """Pass if a body has at most so many values; what only looks like some is looked at again without its texts."""
    if len(raw) <= most or raw.count(b",") + raw.count(b"[") + raw.count(b"{") <= most:
        return
    quotes = raw.count(b'"') - raw.count(b'\\"')  # Fewer than there are, where a backslash stands before a quote's end.
    found = quotes // 4  # Each value with its key has four at the most.
    if found <= most:
        bare = _TEXTS.sub(b"", raw)
        found = bare.count(b",") + bare.count(b"[") + bare.count(b"{")
    if found > most:
        raise Problem(413, f"the body has {found:,} values, and {most:,} are taken at the most")
