"""What the gateway reads from a client's request: messages, model, tools, the length of the answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import SourceError
from brim.files.depth import MOST_DEPTH
from brim.files.json_body import JsonBody
from brim.gateway.client.body import decoded
from brim.gateway.client.names import model_names
from brim.gateway.client.paths import model_path
from brim.gateway.http.admitted import Admitted
from brim.gateway.http.problem import BEDROCK, CHAT, GEMINI, MESSAGES, RESPONSES, HttpProblem
from brim.meter import BaseMeter
from brim.meter.catalogue import with_long_window
from brim.requests.request_body import RequestBody, request_of
from brim.sessions.learning.request_input import RequestInput
from brim.wire.base import MESSAGE_KEYS, Format, answer_limits, is_stateful

FORMATS: dict[str, Format] = {
    CHAT: "openai",
    RESPONSES: "responses",
    MESSAGES: "anthropic",
    GEMINI: "gemini",
    BEDROCK: "bedrock",
}
"""The format of the messages of each route."""
_PLACE = "request"
_SIGNS = (b",", b"[", b"{")
_MOST_SIGNS = 500_000
"""Commas and opening brackets in a body, also those in strings. They limit its values, which can take a hundred times
their bytes. A million tokens of code have about 200,000.
"""
_FILES = re.compile(
    r'"type"\s*:\s*"(?:input_)?(?:image|audio|video|file|document)(?:_url)?"'
    r'|"(?:inlineData|inline_data|fileData|file_data|image|audio|video|document)"\s*:\s*\{'
)
"""Parts of messages that are not counted as text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """A request whose body was read."""

    admitted: Admitted
    route: str
    body: bytes = field(repr=False)
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    request: RequestBody | None = field(default=None, repr=False)
    """Its messages, tools and system prompt; `None` if they cannot be read."""
    problem: str = ""
    """Why they cannot be read."""
    model: str = ""
    """The model in its path or its body; a fingerprint of a name that may be a secret."""
    label: str = ""
    """The name of the model that may be shown."""
    keys: Sequence[str] = field(default=(), repr=False)
    """Keys that must not be part of a name: the client's and the gateway's."""

    @property
    def format(self) -> Format:
        """The format of its messages."""
        return FORMATS[self.route]

    @property
    def answer(self) -> int | None:
        """The most tokens of the answer; `None` if the request does not limit it."""
        limits = answer_limits(self.values).values()
        return max((value for value in limits if type(value) is int and value > 0), default=None)

    @property
    def partial(self) -> bool:
        """Whether the provider stores a part of the conversation, which brim therefore cannot count."""
        return is_stateful(self.values, self.format)

    def most_tokens(self, scale: BaseMeter) -> int | None:
        """Return an upper bound of its tokens: its JSON counted as text, even if no message can be read.

        `None` if it has images or files, whose tokens are not in the text.
        """
        text = self.body.decode()
        return None if _FILES.search(text) else scale.upper(text)

    def input(self, *, pin: tuple[str, ...] = (), owner: tuple[str, ...] = ()) -> RequestInput:
        """Return the input of the engine; it has no messages if they cannot be read."""
        request, model = self.request, with_long_window(self.model, self.admitted.header("anthropic-beta") or "")
        if request is None:
            return RequestInput(messages=(), model=model, format=self.format, answer=self.answer, owner=owner)
        chat = self.format == "openai"
        # Chat Completions has no field `system`; there it is an unknown field.
        apart = {"system": request.system} if chat and request.system is not None else {}
        return RequestInput(
            messages=request.messages,
            model=model,
            tools=request.tools,
            system=None if chat else request.system,
            fields={**request.fields, **apart},
            format=self.format,
            answer=self.answer,
            pin=pin,
            owner=owner,
        )


def parse(admitted: Admitted, route: str, body: bytes, keys: Sequence[str] = ()) -> Parsed:
    """Return the request of a body; `keys` are those of the gateway.

    Raises:
        HttpProblem: the body is compressed, is not a JSON object, is nested too deep, or has too many values.
    """
    if (admitted.header("content-encoding") or "identity").strip().lower() != "identity":
        raise HttpProblem(415, "the body must not be compressed")
    values = _values(body)
    in_path = model_path(admitted.path)
    named = in_path[1] if in_path else values.get("model")
    keys = tuple(dict.fromkeys((*keys, *admitted.shown)))
    model, label = model_names(named if isinstance(named, str) else "", keys)
    try:
        request, problem = request_of(_light(values)), ""
    except SourceError as error:
        request, problem = None, error.problem
    return Parsed(
        admitted=admitted,
        route=route,
        body=body,
        values=values,
        request=request,
        problem=problem,
        model=model,
        label=label,
        keys=keys,
    )


def unread(admitted: Admitted, route: str, body: bytes) -> Parsed:
    """Return a request without reading its body."""
    return Parsed(admitted=admitted, route=route, body=body)


def _values(body: bytes) -> dict[str, Any]:
    if sum(map(body.count, _SIGNS)) > _MOST_SIGNS:
        raise HttpProblem(413, f"the body has more than {_MOST_SIGNS:,} commas and opening brackets")
    try:
        values = decoded(body, _unique)
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
    return values


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a request, whose keys must differ: servers disagree on which value counts."""
    made = dict(pairs)
    if len(made) < len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0][:100]
        problem = f"the key '{key}' is repeated; servers disagree on which value counts, so its size is undefined"
        raise HttpProblem(400, problem)
    return made


def _light(values: Mapping[str, Any]) -> JsonBody:
    """Return a body without its text and positions, which only errors about files need."""
    lists = [value for key in MESSAGE_KEYS if type(value := values.get(key)) is list]
    return JsonBody(path=_PLACE, text="", values=values, items=lists[0] if lists else None)
