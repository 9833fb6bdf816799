"""A client's request as far as the gateway reads it: messages, model, tools, the length of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from brim.errors import SourceError
from brim.files.depth import MOST_DEPTH
from brim.files.json_body import JsonBody, body_of
from brim.gateway.body import check_values, decoded
from brim.gateway.problem import BEDROCK, CHAT, GEMINI, MESSAGES, RESPONSES, HttpProblem
from brim.history.request_body import RequestBody, request_of
from brim.meter import BaseMeter
from brim.sessions.learning.request_input import RequestInput
from brim.wire.base import MESSAGE_KEYS, Format, answer_limits, is_stateful, lowered_limits, value_at

FORMATS: dict[str, Format] = {
    CHAT: "openai",
    RESPONSES: "responses",
    MESSAGES: "anthropic",
    GEMINI: "gemini",
    BEDROCK: "bedrock",
}
"""The format of the messages of each route."""
_PLACE = "the request"
_FILES = re.compile(
    r'"type"\s*:\s*"(?:input_)?(?:image|audio|video|file|document)(?:_url)?"'
    r'|"(?:inlineData|inline_data|fileData|file_data|image|audio|video|document)"\s*:\s*\{'
)
"""Parts of messages that take other tokens than those of their JSON."""
_EACH_VALUE = 400
"""Bytes that a value of an object takes in memory, beside its text: many short messages take more than a long one."""
_LONGEST_MODEL = 512
"""Characters of the name of a model, which is looked up and counted by; the longest in use has about 150."""


@dataclass(kw_only=True)
class ClientRequest:
    """One request."""

    route: str
    raw: bytes = field(repr=False)
    """The body as it came, decoded."""
    values: Mapping[str, Any] = field(repr=False)
    request: RequestBody | None = field(repr=False)
    """Its messages, tools and system prompt; `None` if they cannot be read, so the request is left as it is."""
    problem: str = ""
    """Why they cannot be read."""
    model: str = ""
    """The model that its path or its body names, or what stands for a name that may be a secret."""

    @cached_property
    def text(self) -> str:
        """The body as text."""
        return self.raw.decode()

    @property
    def format(self) -> Format:
        """The format of its messages."""
        return FORMATS[self.route]

    @cached_property
    def answer(self) -> int | None:
        """Tokens that the answer may take; `None` if it does not say."""
        limits = answer_limits(self.values).values()
        return max((value for value in limits if type(value) is int and value > 0), default=None)

    @property
    def partial(self) -> bool:
        """Whether the provider stores some of the conversation, which nobody else sees."""
        return is_stateful(self.values)

    def most_tokens(self, scale: BaseMeter) -> int | None:
        """Return an upper bound of its tokens that needs no message: those of its JSON as text.

        `None` if there is no such bound, since images and files take tokens that are not in the text.
        """
        return None if _FILES.search(self.text) else scale.upper(self.text)

    def input(self, *, pin: tuple[int, ...] = (), recall: bool = False) -> RequestInput:
        """Return the request as the engine takes it; without messages if they cannot be read."""
        request = self.request
        return RequestInput(
            messages=request.messages if request is not None else (),
            model=self.model,
            tools=request.tools if request is not None else None,
            system=request.system if request is not None and self.format != "openai" else None,
            fields=self._fields(request) if request is not None else None,
            format=self.format,
            answer=self.answer,
            pin=pin,
            recall=recall,
        )

    @property
    def size(self) -> int:
        """About the bytes that its values take in memory."""
        return len(self.raw) + _EACH_VALUE * (self.raw.count(b'":') - self.raw.count(b'\\":'))

    def _fields(self, request: RequestBody) -> dict[str, Any]:
        """Return the fields besides messages, system prompt and tools; Chat Completions has no field `system`."""
        apart = {"system": request.system} if self.format == "openai" and request.system is not None else {}
        return {**request.fields, **apart}

    @cached_property
    def strict(self) -> RequestBody:
        """The request with the positions of its messages in the body.

        Raises:
            HttpProblem: the body can be read in two ways, so it cannot be shortened.
        """
        try:
            return request_of(body_of(self.text, _PLACE, MESSAGE_KEYS))
        except SourceError as error:
            raise HttpProblem(400, f"{error}; the request is too long, and its body cannot be shortened") from error


def read(route: str, raw: bytes, most_values: int, model: str = "") -> ClientRequest:
    """Return the request of a body; `model` is the one that its path names.

    Raises:
        HttpProblem: the body is not a JSON object, is nested too deep, or has too many values.
    """
    try:
        check_values(raw, most_values)
        values = decoded(raw)
    except RecursionError:
        raise HttpProblem(400, f"the body is nested more than {MOST_DEPTH} levels deep") from None
    except json.JSONDecodeError as error:
        raise HttpProblem(400, f"the body is not JSON: {error.msg} at line {error.lineno}") from None
    except UnicodeDecodeError as error:
        raise HttpProblem(400, f"the body is not UTF-8: byte {error.start:,} cannot be read") from None
    except ValueError as error:
        raise HttpProblem(400, f"the body is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise HttpProblem(400, "the body must be a JSON object")
    named = model or values.get("model")
    model = named if isinstance(named, str) else ""
    if len(model) > _LONGEST_MODEL:
        raise HttpProblem(400, f"model has {len(model):,} characters; at most {_LONGEST_MODEL} are accepted")
    try:
        request: RequestBody | None = request_of(_light(values))
    except SourceError as error:
        request, problem = None, error.problem
    else:
        problem = ""
    return ClientRequest(route=route, raw=raw, values=values, request=request, problem=problem, model=model)


def unread(route: str, raw: bytes, problem: str) -> ClientRequest:
    """Return the request of a body that cannot be read, and of which nothing is known."""
    return ClientRequest(route=route, raw=raw, values={}, request=None, problem=problem)


def with_answer(text: str, tokens: int) -> str:
    """Return the body of a request that asks for an answer of at most so many tokens."""
    body = body_of(text, _PLACE, MESSAGE_KEYS)
    limits = lowered_limits(body.values, tokens)
    for place in sorted(limits, key=lambda place: body.starts[str(place[0])], reverse=True):
        at = body.starts[str(place[0])]
        # The value of the key, or that of a key inside its value.
        if len(place) > 1:
            at = text.index(":", text.index(f'"{place[1]}"', at))
        text = text[:at] + text[at:].replace(str(value_at(body.values, place)), str(limits[place]), 1)
    return text


def _light(values: Mapping[str, Any]) -> JsonBody:
    """Return a body without its text and the positions of its messages, which are needed only if it is cut."""
    lists = [value for key in MESSAGE_KEYS if type(value := values.get(key)) is list]
    return JsonBody(path=_PLACE, text="", values=values, items=lists[0] if lists else None)
